// SPDX-License-Identifier: GPL-2.0
/* Random numbers that depend on their seed alone, by splitmix64, and memory filled with them. */
#include <string.h>

#include "userspace.h"

#define NOISE		(MIB + 8 * 7)		/* not in step with the entries */

uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

unsigned long below(uint64_t *state, unsigned long n)
{
	return next_random(state) % n;
}

void fill_random(unsigned char *start, unsigned long bytes, uint64_t seed)
{
	for (unsigned long i = 0; i < bytes; i += 8) {
		uint64_t r = next_random(&seed);

		memcpy(start + i, &r, bytes - i < 8 ? bytes - i : 8);
	}
}

void poison(unsigned char *start, unsigned long bytes, enum replay_poison how)
{
	static unsigned char noise[NOISE];

	if (how != POISON_RANDOM) {
		memset(start, how == POISON_ONES ? 0xff : 0, bytes);
		return;
	}
	if (!noise[0])
		fill_random(noise, NOISE, 0);
	for (unsigned long done = 0; done < bytes; done += NOISE)
		memcpy(start + done, noise, bytes - done < NOISE ? bytes - done : NOISE);
}
