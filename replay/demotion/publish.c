// SPDX-License-Identifier: GPL-2.0
/*
 * Order: one thread copies a folio and then publishes a number by a plain store. The
 * other waits for the number and looks at the copy. Non-temporal stores that are
 * not drained show as old words there.
 */
#include <sched.h>

#include "userspace.h"

#define ORDER	9		/* PMD-sized */
#define PAGES	(1UL << ORDER)
#define WORDS	(PAGES * PAGE / sizeof(uint64_t))

/* Each in a cache line of its own. */
static struct {
	unsigned long round __attribute__((aligned(64)));
	unsigned long seen __attribute__((aligned(64)));
	unsigned long stale __attribute__((aligned(64)));
} told;

static const struct demotion_case folio = {
	.from = PAGES, .to = 2 * PAGES, .order = ORDER, .lower = 1
};

/* Wait until the other thread writes to @number. If it waits for this CPU, give way. */
static unsigned long wait_for(const unsigned long *number, unsigned long old)
{
	unsigned long spins = 0, new;

	while ((new = __atomic_load_n(number, __ATOMIC_ACQUIRE)) == old)
		if (++spins % 10000 == 0)
			sched_yield();
	return new;
}

static void look(void *unused)
{
	const volatile uint64_t *words = (const uint64_t *)data(folio.to);
	unsigned long last = 0;

	for (;;) {
		unsigned long round = wait_for(&told.round, last), i = WORDS;

		/* What was copied last comes first: it is the latest to be seen. */
		while (i && words[i - 1] == round)
			i--;
		told.stale += i > 0;
		last = round;
		__atomic_store_n(&told.seen, round, __ATOMIC_RELEASE);
	}
}

static int publish(const struct kernel *kernel, unsigned long rounds)
{
	uint64_t *words = (uint64_t *)data(folio.from);

	crash_kernel = kernel->name;
	demotion_side(kernel)->prepare(&folio);
	told.stale = 0;
	for (unsigned long i = 0; i < rounds; i++) {
		unsigned long round = told.round + 1, seen = told.seen;

		for (unsigned long i = 0; i < WORDS; i++)
			words[i] = round;
		demotion_side(kernel)->run(&folio);
		__atomic_store_n(&told.round, round, __ATOMIC_RELEASE);
		wait_for(&told.seen, seen);
	}
	printf("%s: %lu of %lu copies had old words\n", kernel->name, told.stale, rounds);
	return told.stale > 0;
}

int publish_copies(int nr, char **words)
{
	unsigned long rounds = read_word(nr, words, 0, 2000);
	int bad = 0;

	if (threads_start_all() < 2)
		die("needs two CPUs");
	memory_open(3 * PAGES);
	replay_queue(look, &told);
	crash_context = "publish";
	for (unsigned int i = 0; i < nr_kernels; i++)
		bad |= publish(&kernels[i], rounds);
	return bad;
}
