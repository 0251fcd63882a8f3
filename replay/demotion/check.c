// SPDX-License-Identifier: GPL-2.0
/*
 * Every byte: folios of each order to both tiers, then with a page that cannot be
 * read, then pages of which a part cannot be read. The series streams large folios
 * to the lower tier and nothing else.
 */
#include <string.h>
#include <sys/mman.h>

#include "userspace.h"

#define MAX_ORDER	9
#define AREA		(1UL << MAX_ORDER)
#define FROM		AREA		/* aligned, with room on both sides */
#define TO		(3 * AREA)
#define AROUND		(5 * AREA)

static unsigned char *before;

/* The source is random, the rest another byte; @before is what must be there at the end. */
static void fill(uint64_t seed)
{
	memset(data(0), 0xa5, AROUND * PAGE);
	fill_random(data(FROM), AREA * PAGE, seed);
	memcpy(before, data(0), AROUND * PAGE);
}

static int tell(const char *name, const struct demotion_case *c, const char *what)
{
	printf("DIFFERS order=%u from_lower=%u lower=%u: %s: %s\n", c->order, c->from_lower,
	       c->lower, name, what);
	return 1;
}

static bool same(void)
{
	return !memcmp(data(0), before, AROUND * PAGE);
}

static int run(const struct kernel *kernel, const struct demotion_case *c, unsigned long *pages)
{
	unsigned long before = *demotion_side(kernel)->streamed;
	int done = demotion_side(kernel)->run(c);

	*pages = *demotion_side(kernel)->streamed - before;
	return done;
}

/* Only a large folio is streamed. A page that cannot be read counts, too. */
static int check_streamed(const struct kernel *kernel, const struct demotion_case *c,
			  unsigned long streamed, unsigned long pages)
{
	if (kernel == &kernels[0] || !c->order || !c->lower || c->from_lower)
		return streamed ? tell(kernel->name, c, "streams what it must not") : 0;
	return streamed == pages ? 0 : tell(kernel->name, c, "does not stream to the lower tier");
}

static int check_folio(const struct kernel *kernel, const struct demotion_case *c)
{
	unsigned long streamed;

	fill(c->order + 1);
	demotion_side(kernel)->prepare(c);
	memcpy(before + TO * PAGE, before + FROM * PAGE, PAGE << c->order);
	poisoned = NOT_POISONED;
	if (run(kernel, c, &streamed))
		return tell(kernel->name, c, "fails");
	if (poisoned != NOT_POISONED)
		return tell(kernel->name, c, "reports a page");
	if (!same())
		return tell(kernel->name, c, "wrong bytes");
	return check_streamed(kernel, c, streamed, 1UL << c->order);
}

static int check_poison(const struct kernel *kernel, const struct demotion_case *c,
			unsigned long bad)
{
	unsigned long streamed;
	int done;

	fill(c->order + 1);
	demotion_side(kernel)->prepare(c);
	memcpy(before + TO * PAGE, before + FROM * PAGE, bad * PAGE);
	poisoned = NOT_POISONED;
	mprotect(data(FROM + bad), PAGE, PROT_NONE);
	done = run(kernel, c, &streamed);
	mprotect(data(FROM + bad), PAGE, PROT_READ | PROT_WRITE);
	if (done != demotion_side(kernel)->failed)
		return tell(kernel->name, c, "a page that cannot be read is not told");
	if (poisoned != FROM + bad)
		return tell(kernel->name, c, "the wrong page is reported");
	if (!same())
		return tell(kernel->name, c, "wrong bytes around a page that cannot be read");
	return check_streamed(kernel, c, streamed, bad + 1);
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
		return tell(kernel->name, &c, "the wrong number of bytes is left");
	return same() ? 0 : tell(kernel->name, &c, "wrong bytes in part of a page");
}

/* All cases, with one kernel; adds their number to @cases. */
static int check_kernel(const struct kernel *kernel, unsigned long *cases)
{
	int bad = 0;

	crash_kernel = kernel->name;
	for (unsigned int order = 0; order <= MAX_ORDER; order++)
		for (unsigned int nodes = 0; nodes < 4; nodes++) {
			struct demotion_case c = { FROM, TO, order, nodes & 1, nodes / 2 };

			bad |= check_folio(kernel, &c);
			bad |= check_poison(kernel, &c, 0);
			bad |= check_poison(kernel, &c, (1UL << order) - 1);
			bad |= check_poison(kernel, &c, (1UL << order) / 2);
			*cases += 4;
		}
	for (unsigned long left = 0; left <= PAGE; left += 64, ++*cases)
		bad |= check_part(kernel, left);
	return bad;
}

int check_copies(int nr, char **words)
{
	unsigned long cases = 0;
	int bad = 0;

	memory_open(AROUND + AREA);
	memory_catch();
	before = map_at(0, AROUND * PAGE);
	crash_context = "check";
	for (unsigned int i = 0; i < nr_kernels; i++)
		bad |= check_kernel(&kernels[i], &cases);
	printf("%lu copies: ", cases);
	puts(bad ? "some differ" : "every byte as it must be");
	return bad;
}
