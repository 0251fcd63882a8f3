/* SPDX-License-Identifier: GPL-2.0 */
/* The host's half of `copy`: main.c has the routines, demotion.c folios. */
#ifndef REPLAY_COPY_PROGRAM_H
#define REPLAY_COPY_PROGRAM_H

#include "../host.h"
#include "copy.h"

static inline const struct copy_side *side_of(unsigned int kernel)
{
	return (const struct copy_side *)kernels[kernel].side;
}

int check_folios(int nr, char **words);
int race_folios(int nr, char **words);

#endif
