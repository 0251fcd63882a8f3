// SPDX-License-Identifier: GPL-2.0
/* How long does it take to fill 256 MiB? Says "fill: N us", the median of nine. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIZE = 256 << 20, ROUNDS = 9 };

static int compare(const void *a, const void *b)
{
	return *(const long *)a < *(const long *)b ? -1 : 1;
}

int main(void)
{
	struct timespec from, to;
	long took[ROUNDS];
	char *memory = aligned_alloc(2 << 20, SIZE);

	if (!memory)
		return 1;
	memset(memory, 1, SIZE);
	for (int round = 0; round < ROUNDS; round++) {
		clock_gettime(CLOCK_MONOTONIC, &from);
		memset(memory, round, SIZE);
		asm volatile("" : : "r" (memory) : "memory");
		clock_gettime(CLOCK_MONOTONIC, &to);
		took[round] = (to.tv_sec - from.tv_sec) * 1000000 +
			      (to.tv_nsec - from.tv_nsec) / 1000;
	}
	qsort(took, ROUNDS, sizeof(*took), compare);
	printf("fill: %ld us\n", took[ROUNDS / 2]);
	return 0;
}
