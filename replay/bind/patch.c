// SPDX-License-Identifier: GPL-2.0
/*
 * More of what kernels do to their code when they boot: branches in
 * alternatives, returns (apply_returns()), static keys (jump_label_update()).
 */
#include <string.h>

#include "../userspace.h"
#include "bind.h"

/* As in cpufeatures.h: always, Xen, and REP STOSB for clear_pages(). */
#define ALWAYS		(3 * 32 + 21)
#define XENPV		(8 * 32 + 16)
#define ERMS		(9 * 32 + 9)

/* As in include/linux/jump_label.h */
struct jump_entry {
	int32_t code, target;			/* from the member itself */
	int64_t key;				/* and the branch, in bit 0 */
};

/* build.py gives the sections such names. */
extern struct jump_entry __start___jump_table[], __stop___jump_table[];
extern int32_t __start_return_sites[], __stop_return_sites[];

/* As on any CPU of the last ten years, without Xen; others are for what does not run here. */
static bool is_wanted(const struct alternative *a)
{
	if (a->missing)
		/* mov %rdi, %rax */
		return a->feature == XENPV && a->nr == 3;
	return a->feature == ALWAYS || (a->feature == ERMS && *a->code == 0xe8);
}

/* CALL or JMP @opcode from @code to @target */
static void make_branch(unsigned char *new, unsigned char opcode, const unsigned char *code,
			const unsigned char *target)
{
	int32_t far = target - (code + 5);

	new[0] = opcode;
	memcpy(new + 1, &far, 4);
}

static void replace_wanted(const struct alternative *a)
{
	unsigned char new[256];
	int32_t far;

	if (!is_wanted(a))
		return;
	memcpy(new, a->new, a->nr);
	if (a->direct_call) {
		unsigned char **target;

		/* call *pv_ops.X: by an absolute address, or one from here. */
		memcpy(&far, a->code + a->bytes - 4, 4);
		target = a->code[1] == 0x15 ? (void *)(a->code + a->bytes + far) :
					      (void *)(long)far;
		if (!*target)
			return;
		make_branch(new, 0xe8, a->code, *target);
	} else if (a->nr == 5 && (new[0] & 0xfe) == 0xe8) {
		memcpy(&far, new + 1, 4);
		make_branch(new, new[0], a->code, a->new + 5 + far);
	}
	replace_instruction(a, new, a->nr);
}

void patch_alternatives(void)
{
	find_alternatives(replace_wanted);
}

/* As srso_alias_return_thunk() and srso_alias_safe_ret() */
asm("	.pushsection .text\n"
	"safe_return: call 1f\n"
	"	ud2\n"
	"1:	lea 8(%rsp), %rsp\n"
	"	ret\n"
	"	int3\n"
	"	.popsection\n");
extern unsigned char safe_return[];

void write_returns(bool safe)
{
	for (int32_t *site = __start_return_sites; site < __stop_return_sites; site++) {
		unsigned char *code = (unsigned char *)site + *site;
		unsigned char new[] = { 0xc3, 0xcc, 0xcc, 0xcc, 0xcc };

		if (safe)
			make_branch(new, 0xe9, code, safe_return);
		write_code(code, new, sizeof(new));
	}
}

void set_key(const void *key, bool on)
{
	for (struct jump_entry *e = __start___jump_table; e < __stop___jump_table; e++) {
		unsigned char *code = (unsigned char *)&e->code + e->code, new[5];
		const unsigned char *target = (unsigned char *)&e->target + e->target;
		unsigned int nr = *code == 0xeb || *code == 0x66 ? 2 : 5;

		/* Bit 1 is of no use here. */
		if ((char *)&e->key + (e->key & ~3L) != key)
			continue;
		/* Bit 0: the code behind the jump is for a key that is on. */
		if ((e->key & 1) == on) {
			memcpy(new, nr == 2 ? "\x66\x90" : "\x0f\x1f\x44\0", nr);
		} else if (nr == 2) {
			new[0] = 0xeb;
			new[1] = target - (code + 2);
		} else {
			make_branch(new, 0xe9, code, target);
		}
		write_code(code, new, nr);
	}
}
