// SPDX-License-Identifier: GPL-2.0
/*
 * What kernels on x86-64 do to their code when they boot, here to that of all that
 * are linked: apply_alternatives(), apply_returns() and, for a static key,
 * jump_label_update().
 */
#ifdef __x86_64__
#include <string.h>
#include <sys/mman.h>

#include "userspace.h"

/* As in arch/x86/include/asm/alternative.h and include/linux/jump_label.h */
struct alt_instr {
	int32_t instr_offset, repl_offset;	/* from the member itself */
	uint16_t cpuid, flags;
	uint8_t instrlen, replacementlen;
} __attribute__((packed));

#define ALT_FLAG_NOT		1
#define ALT_FLAG_DIRECT_CALL	2

struct jump_entry {
	int32_t code, target;			/* from the member itself */
	int64_t key;				/* and the branch, in bit 0 */
};

/* build.py gives the sections such names; a program may lack one. */
#define WEAK __attribute__((weak))
extern struct alt_instr __start_altinstructions[] WEAK, __stop_altinstructions[] WEAK;
extern struct jump_entry __start___jump_table[] WEAK, __stop___jump_table[] WEAK;
extern int32_t __start_return_sites[] WEAK, __stop_return_sites[] WEAK;

static void write_code(unsigned char *code, const unsigned char *new, unsigned int nr)
{
	mprotect((void *)((unsigned long)code & -4096UL), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(code, new, nr);
}

/* CALL or JMP @opcode from @code to @target */
static void make_branch(unsigned char *new, unsigned char opcode, const unsigned char *code,
			const unsigned char *target)
{
	int32_t far = target - (code + 5);

	new[0] = opcode;
	memcpy(new + 1, &far, 4);
}

static void replace_instruction(const struct alternative *a, unsigned char *code, unsigned int all)
{
	unsigned char new[256];
	unsigned int nr = a->nr;
	int32_t far;

	memcpy(new, a->new, nr);
	if (a->direct_call) {
		unsigned char **target;

		/* call *pv_ops.X: by an absolute address, or one from here. */
		memcpy(&far, code + all - 4, 4);
		target = code[1] == 0x15 ? (void *)(code + all + far) : (void *)(long)far;
		if (!*target)
			return;
		make_branch(new, 0xe8, code, *target);
	} else if (nr == 5 && (new[0] & 0xfe) == 0xe8) {
		memcpy(&far, new + 1, 4);
		make_branch(new, new[0], code, a->new + 5 + far);
	}
	/* One NOP, however long */
	memset(new + nr, 0x66, all - nr);
	if (nr < all)
		new[all - 1] = 0x90;
	write_code(code, new, all);
}

void apply_alternatives(bool (*wanted)(const struct alternative *a))
{
	for (struct alt_instr *i = __start_altinstructions; i < __stop_altinstructions; i++) {
		unsigned char *code = (unsigned char *)&i->instr_offset + i->instr_offset;
		const struct alternative a = {
			.feature = i->cpuid,
			.missing = i->flags & ALT_FLAG_NOT,
			.direct_call = i->flags & ALT_FLAG_DIRECT_CALL,
			.code = code,
			.new = (unsigned char *)&i->repl_offset + i->repl_offset,
			.nr = i->replacementlen,
		};

		if (wanted(&a))
			replace_instruction(&a, code, i->instrlen);
	}
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
#endif
