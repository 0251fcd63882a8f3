// SPDX-License-Identifier: GPL-2.0
/* The kernel's half: what its code meets in user space on x86-64, whatever is linked. */
#ifdef CONFIG_X86
#include <linux/mm.h>
#include <linux/sched.h>
#include <asm/processor.h>

#include "../replay.h"
#include "shim.h"

/* All zero: no feature bit set, four-level page tables. */
struct cpuinfo_x86 boot_cpu_data = { .x86_clflush_size = 64 };
unsigned long vmemmap_base, page_offset_base;
/* An ordinary task: padata gives others no helper. */
struct task_struct task = { .static_prio = DEFAULT_PRIO, .prio = DEFAULT_PRIO };
struct task_struct *task_pointer = &task;

/*
 * %gs is zero in user space: a per-CPU variable is the variable itself. Defined here, as a
 * compiler that knows of address spaces takes no definition in C. Callers are on CPU 0.
 */
asm("	.pushsection .bss\n"
	"	.globl __preempt_count, __ref_stack_chk_guard, current_task, const_current_task\n"
	"	.globl cpu_number, this_cpu_off\n"
	"	.weak numa_node\n"			/* mm/page_alloc.o has one, too. */
	"	.balign 8\n"
	"__preempt_count: .skip 8\n"
	"__ref_stack_chk_guard: .skip 8\n"
	"cpu_number: .skip 8\n"
	"this_cpu_off: .skip 8\n"
	"numa_node: .skip 8\n"
	"	.popsection\n"
	"	.set current_task, task_pointer\n"		/* clang */
	"	.set const_current_task, task_pointer\n");	/* gcc */

/*
 * What a distribution's kernel calls all over. Static calls are by nothing where preemption is
 * lazy; those of preemption keep all registers. boot.c makes retpolines of the thunks, if need be.
 */
asm("	.pushsection .text\n"
	"	.globl __x86_return_thunk, __SCT__cond_resched, __SCT__might_resched\n"
	"	.globl __SCT__preempt_schedule, preempt_schedule_thunk\n"
	"__SCT__cond_resched:\n"
	"__SCT__might_resched: xor %eax, %eax\n"
	"__SCT__preempt_schedule:\n"
	"preempt_schedule_thunk:\n"
	"__x86_return_thunk:\n"
	RETURN
	".irp reg, " REGISTERS "\n"
	"	.globl __x86_indirect_thunk_\\reg\n"
	"__x86_indirect_thunk_\\reg: jmp *%\\reg\n"
	"	.skip 4, 0xcc\n"
	"	.pushsection .indirect_thunks, \"a\"\n"
	"	.long __x86_indirect_thunk_\\reg - .\n"
	"	.popsection\n"
	".endr\n"
	"	.popsection\n");
#endif
