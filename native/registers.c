// SPDX-License-Identifier: GPL-2.0
/*
 * Two processes hold a pattern in a vector register while they take turns on the CPU.
 * It says "registers: N lost" and fails if the kernel did not save them.
 */

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 2000 };

static int count_lost(int pattern)
{
	unsigned char in[32], out[32];
	int lost = 0;

	memset(in, pattern, sizeof(in));
	for (int round = 0; round < ROUNDS; round++) {
		asm volatile("vmovdqu %0, %%ymm12" : : "m" (in));
		for (volatile int i = 0; i < 200000; i++)
			;
		asm volatile("vmovdqu %%ymm12, %0" : "=m" (out));
		lost += memcmp(in, out, sizeof(in)) != 0;
	}
	return lost > 100 ? 100 : lost;
}

int main(void)
{
	int status, lost = 0;

	for (int child = 0; child < 2; child++)
		if (!fork())
			_exit(count_lost(0x11 * (child + 1)));
	while (wait(&status) > 0)
		lost += WEXITSTATUS(status);
	printf("registers: %d lost\n", lost);
	return lost != 0;
}
