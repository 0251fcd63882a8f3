// SPDX-License-Identifier: GPL-2.0
/*
 * Pages to copy, and every byte of their copies: folios of each order to both tiers,
 * then with a page that cannot be read, then pages of which a part cannot be read. The
 * series streams PMD-sized folios to the lower tier and nothing else.
 *
 * A page without access is one that cannot be read. The kernel's exception tables are
 * honoured as its fault handler would.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "userspace.h"

#define MAX_ORDER	9		/* PMD-sized */
#define AREA		(1UL << MAX_ORDER)
#define FROM		AREA		/* aligned, with room on both sides */
#define TO		(3 * AREA)
#define AROUND		(5 * AREA)

const char usage[] =
"usage: demotion check                          compare every byte\n"
"       demotion publish [ROUNDS]               look at each copy from another thread\n"
"       demotion race [GIB [ROUNDS [JSON]]]     time folios in GIB GiB; samples go to JSON\n"
"       demotion info                           the kernels\n";

/* The kernel's format: distances from each field, and the type of the handler. */
struct exception {
	int32_t insn, fixup, data;
};

/* Of all kernels, one behind the other; the linker provides both. */
extern const struct exception __start___ex_table[], __stop___ex_table[];

static struct sigaction unexpected;

/* The page that a kernel reported last */
#define NOT_POISONED	(~0UL)
static unsigned long poisoned;

void demotion_poisoned(unsigned long pfn)
{
	poisoned = pfn;
}

unsigned char *data(unsigned long pfn)
{
	return (unsigned char *)DEMOTION_DATA + pfn * PAGE;
}

static void fault(int signal, siginfo_t *info, void *context)
{
	greg_t *ip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	const struct exception *e;

	for (e = __start___ex_table; e < __stop___ex_table; e++)
		if ((greg_t)&e->insn + e->insn == *ip) {
			*ip = (greg_t)&e->fixup + e->fixup;
			return;
		}
	unexpected.sa_sigaction(signal, info, context);
}

/* From here on, a fault in the kernels' code continues at its fixup. */
void prepare_kernels(void)
{
	struct sigaction action = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, &unexpected);
}

void memory_open(unsigned long pages)
{
	unsigned long bytes = pages * PAGE;

	/* The kernel maps its memory with huge pages; failing that, small ones. */
	madvise(map_at(DEMOTION_DATA, bytes), bytes, MADV_HUGEPAGE);
	window_open(pages * layout->page_struct_size);
	window_place(0);
}

static unsigned char *before;

/*
 * The source and the page behind it are random, the rest is another byte. @before is
 * what must be there at the end.
 */
static void fill(uint64_t seed)
{
	memset(data(0), 0xa5, AROUND * PAGE);
	fill_random(data(FROM), (AREA + 1) * PAGE, seed);
	memcpy(before, data(0), AROUND * PAGE);
}

static int tell(const struct demotion_case *c, const char *what)
{
	printf("DIFFERS order=%u from_lower=%u lower=%u: %s: %s\n", c->order, c->from_lower,
	       c->lower, crash_kernel, what);
	return 1;
}

static bool same(void)
{
	return !memcmp(data(0), before, AROUND * PAGE);
}

/* Only a PMD-sized folio is streamed. A page that cannot be read counts, too. */
static int check_streamed(const struct kernel *kernel, const struct demotion_case *c,
			  unsigned long streamed, unsigned long pages)
{
	if (kernel == &kernels[0] || c->order < MAX_ORDER || !c->lower || c->from_lower)
		return streamed ? tell(c, "streams what it must not") : 0;
	return streamed == pages ? 0 : tell(c, "does not stream to the lower tier");
}

/* Only the first @good pages can be read. */
static int check_folio(const struct kernel *kernel, const struct demotion_case *c,
		       unsigned long good)
{
	const struct demotion_side *side = demotion_side(kernel);
	unsigned long nr = 1UL << c->order, streamed = *side->streamed;
	bool bad = good < nr;
	int done;

	fill(c->order + 1);
	side->prepare(c);
	memcpy(before + TO * PAGE, before + FROM * PAGE, good * PAGE);
	poisoned = NOT_POISONED;
	mprotect(data(FROM + good), bad * PAGE, PROT_NONE);
	done = side->run(c);
	mprotect(data(FROM + good), bad * PAGE, PROT_READ | PROT_WRITE);
	if (done != (bad ? -EHWPOISON : 0))
		return tell(c, bad ? "a page that cannot be read is not told" : "fails");
	if (poisoned != (bad ? FROM + good : NOT_POISONED))
		return tell(c, bad ? "the wrong page is reported" : "reports a page");
	if (!same())
		return tell(c, bad ? "wrong bytes around a page that cannot be read" :
			       "wrong bytes");
	return check_streamed(kernel, c, *side->streamed - streamed, good + bad);
}

/* The last @left bytes of the page cannot be read. */
static int check_part(const struct kernel *kernel, unsigned long left)
{
	struct demotion_case c = { .lower = 1 };
	unsigned long told;

	fill(left + 1);
	memcpy(before + TO * PAGE, before + FROM * PAGE + left, PAGE - left);
	mprotect(data(FROM + 1), PAGE, PROT_NONE);
	told = demotion_side(kernel)->copy_page(data(TO), data(FROM) + left);
	mprotect(data(FROM + 1), PAGE, PROT_READ | PROT_WRITE);
	if (told != left)
		return tell(&c, "the wrong number of bytes is left");
	return same() ? 0 : tell(&c, "wrong bytes in part of a page");
}

/* All cases, with one kernel; adds their number to @cases. */
static int check_kernel(const struct kernel *kernel, unsigned long *cases)
{
	int bad = 0;

	crash_kernel = kernel->name;
	for (unsigned int order = 0; order <= MAX_ORDER; order++)
		for (unsigned int nodes = 0; nodes < 4; nodes++) {
			struct demotion_case c = { FROM, TO, order, nodes & 1, nodes / 2 };

			bad |= check_folio(kernel, &c, 1UL << order);
			bad |= check_folio(kernel, &c, 0);
			bad |= check_folio(kernel, &c, (1UL << order) - 1);
			bad |= check_folio(kernel, &c, (1UL << order) / 2);
			*cases += 4;
		}
	for (unsigned long left = 0; left <= PAGE; left += 64, ++*cases)
		bad |= check_part(kernel, left);
	return bad;
}

static int check_copies(int nr, char **words)
{
	unsigned long cases = 0;
	int bad = 0;

	memory_open(AROUND + AREA);
	before = map_at(0, AROUND * PAGE);
	crash_context = "check";
	for (unsigned int i = 0; i < nr_kernels; i++)
		bad |= check_kernel(&kernels[i], &cases);
	printf("%lu copies: ", cases);
	puts(bad ? "some differ" : "every byte as it must be");
	return bad;
}

const struct command commands[] = {
	{ "check", 0, check_copies },
	{ "publish", 1, publish_copies },
	{ "race", 3, race_copies },
	{ }
};
