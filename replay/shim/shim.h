/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel's half of each program has. */
#ifndef REPLAY_SHIM_H
#define REPLAY_SHIM_H

#include <linux/sched.h>

extern struct task_struct task;		/* which runs */

/* A return of assembly that boot.c can write over, as those of the kernel */
#define RETURN								\
	"771:	ret\n	.skip 4, 0xcc\n"				\
	"	.pushsection .return_sites, \"a\"\n"			\
	"	.long 771b - .\n"					\
	"	.popsection\n"

#endif
