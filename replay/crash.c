// SPDX-License-Identifier: GPL-2.0
/*
 * Faults become messages: a store outside of the memmap, a symbol that nobody
 * provides (each has a page of its own that cannot be accessed), a BUG().
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "userspace.h"

#define UNEXPECTED_SIZE	4096

const char *crash_context = "", *crash_kernel = NO_KERNEL;

static void crash(int signal, siginfo_t *info, void *context)
{
	char *address = info->si_addr, text[512], what[128];

	if (address >= unexpected_start && address < unexpected_end)
		snprintf(what, sizeof(what), "used an unexpected symbol, %s; provide it in shim.c",
			 unexpected_names[(address - unexpected_start) / UNEXPECTED_SIZE]);
	else
		snprintf(what, sizeof(what), "%s at %p", signal == SIGSEGV || signal == SIGBUS ?
			 "touched memory outside of the memmap" : signal == SIGFPE ?
			 "hit a division by zero" :
			 "hit BUG() or an illegal instruction", (void *)address);
	snprintf(text, sizeof(text), "replay: %s: the code of %s %s\n", crash_context,
		 crash_kernel, what);
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		_exit(2);
	_exit(3);
}

void crash_catch(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE };
	struct sigaction action = { .sa_sigaction = crash, .sa_flags = SA_SIGINFO };

	mprotect(unexpected_start, unexpected_end - unexpected_start, PROT_NONE);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
}
