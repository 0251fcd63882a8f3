/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel side, x86-64: what a distribution's kernel calls all over. The thunks
 * are plain: a kernel that boots writes what its CPU needs against Spectre and
 * the like over each jump to one. So it does with these static calls, by nothing
 * where preemption is lazy.
 */
asm("	.pushsection .text\n"
	"	.globl __x86_return_thunk\n"
	"__x86_return_thunk: ret\n"
	"	.irp reg, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15\n"
	"	.globl __x86_indirect_thunk_\\reg\n"
	"__x86_indirect_thunk_\\reg: jmp *%\\reg\n"
	"	.endr\n"
	"	.globl __SCT__cond_resched, __SCT__might_resched, __SCT__preempt_schedule\n"
	"__SCT__cond_resched:\n"
	"__SCT__might_resched: xor %eax, %eax\n"
	"__SCT__preempt_schedule: ret\n"
	"	.popsection\n");
