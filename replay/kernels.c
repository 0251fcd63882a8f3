// SPDX-License-Identifier: GPL-2.0
/*
 * The kernels that are linked, and how the program gives up. Faults become messages: a store
 * outside of the memmap, a symbol that nobody provides (each has a page of its own that cannot be
 * accessed), a BUG().
 */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host.h"

#define UNEXPECTED_SIZE	4096

struct kernel kernels[MAX_KERNELS];
unsigned int nr_kernels;
const struct replay_layout *layout;
const char *crash_context = "", *crash_kernel = NO_KERNEL;

/* Generated when the program is linked: a page for each symbol that nobody provides. */
extern char unexpected_start[], unexpected_end[];
extern const char *const unexpected_names[];
/* Of the kernels that are linked: each the start of a struct of the program's own. */
extern __attribute__((weak)) const struct replay_side base_side, series_side, fallback_side,
	peer_side;

void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "replay: ");
	vfprintf(stderr, format, arguments);
	fprintf(stderr, "\n");
	exit(2);
}

void find_kernels(void)
{
	static const struct kernel all[] = {
		{ "base", &base_side, false },
		{ "series", &series_side, false },
		{ "fallback", &fallback_side, false },
		{ "peer", &peer_side, true },
	};

	layout = base_side.layout;
	for (unsigned int i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const struct kernel *k = &all[i];
		unsigned int size;

		if (!k->side)
			continue;
		kernels[nr_kernels++] = *k;
		size = k->side->layout->page_struct_size;
		if (size != layout->page_struct_size)
			die("struct page has %u bytes in %s, %u in base: keep its size, "
			    "or leave %s out", size, k->name, layout->page_struct_size, k->name);
	}
}

static void __attribute__((noreturn)) report_crash(const char *format, ...)
{
	char message[192], text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	snprintf(text, sizeof(text), "replay: %s: the code of %s %s\n", crash_context,
		 crash_kernel, message);
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		_exit(2);
	_exit(3);
}

KERNEL_CALLS
void replay_unexpected(const char *name)
{
	report_crash("used an unexpected symbol, %s; provide it in shim/", name);
}

static void crash(int signal, siginfo_t *info, void *context)
{
	char *address = info->si_addr;

	if (address >= unexpected_start && address < unexpected_end)
		replay_unexpected(unexpected_names[(address - unexpected_start) / UNEXPECTED_SIZE]);
	report_crash("%s at %p", signal == SIGSEGV || signal == SIGBUS ?
		     "touched memory outside of the memmap" : signal == SIGFPE ?
		     "hit a division by zero" : "hit BUG() or an illegal instruction",
		     (void *)address);
}

void catch_crashes(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE };
	struct sigaction action = { .sa_sigaction = crash, .sa_flags = SA_SIGINFO };

	mprotect(unexpected_start, unexpected_end - unexpected_start, PROT_NONE);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
}
