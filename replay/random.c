// SPDX-License-Identifier: GPL-2.0
/* Random numbers that depend on their seed alone: splitmix64. */
#include "userspace.h"

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
