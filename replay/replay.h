/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the two halves of a program tell each other.
 *
 * The kernel's half, in shim/, is compiled with the kernel's headers and flags, the host's half
 * with those of user space: only plain C types may cross this line.
 */
#ifndef REPLAY_H
#define REPLAY_H

/* Those that have thunks of indirect branches: shim/cpu.c makes these, boot.c overwrites them. */
#define REGISTERS "rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15"
#define NR_REGISTERS	15

/* @page: index in the compound; @size in bytes at @offset of that entry. */
struct replay_field {
	const char *name;
	unsigned int page;
	unsigned int offset;
	unsigned int size;
};

struct replay_layout {
	/* Up to one without a name; the first match names a byte. */
	const struct replay_field *fields;
	unsigned long pages_per_section;
	unsigned int page_struct_size;	/* bytes */
	unsigned int page_shift;
	unsigned int max_order;
	unsigned int dedup_pages;	/* entries per deduplicated compound page */
	unsigned int nr_nodes;
	unsigned int nr_cpus;		/* at most */
	unsigned int can_trace;		/* page_ref_set can be switched on */
	unsigned int can_check;		/* check_pages can be switched on */
	/* Whether compound_info holds a mask. */
	bool (*has_mask)(void);
	unsigned int marks_tables;	/* page tables that IOMMUs may walk are freed later */
	void *init_on_alloc;		/* its static key, where there is an allocator */
};

/* One kernel: the start of a struct of the program's own. */
struct replay_side {
	const struct replay_layout *layout;
	/* Where pfn 0's struct page would lie; a multiple of 1 GiB. */
	void (*place)(void *pfn0);
};

/* All below is called by the kernel's half and defined by the host's. */

/* The code under test called what it must not call here. */
void replay_unexpected(const char *name);

/*
 * A work item of the kernel: queued, so that a thread runs it, and cancelled. With
 * wait, no thread runs it on return.
 */
void replay_queue(void (*run)(void *work), void *work);
void replay_cancel(void *work, bool wait);

#endif
