/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel side, x86-64: what a distribution's kernel calls all over. When a kernel
 * boots, it writes what its CPU needs over each jump to the return thunk. Here,
 * only assembly has such jumps, unless the objects list them in .return_sites. So
 * it does with these static calls, by nothing where preemption is lazy. Those of
 * preemption keep all registers.
 */
/* Assembly that write_returns() of user space can write over, too. */
#define RETURN								\
	"771:	ret\n	.skip 4, 0xcc\n"				\
	"	.pushsection .return_sites, \"a\"\n"			\
	"	.long 771b - .\n"					\
	"	.popsection\n"

asm("	.pushsection .text\n"
	"	.globl __x86_return_thunk, __SCT__cond_resched, __SCT__might_resched\n"
	"	.globl __SCT__preempt_schedule, preempt_schedule_thunk\n"
	"__SCT__cond_resched:\n"
	"__SCT__might_resched: xor %eax, %eax\n"
	"__SCT__preempt_schedule:\n"
	"preempt_schedule_thunk:\n"
	"__x86_return_thunk:\n"
	RETURN
	"	.popsection\n");
