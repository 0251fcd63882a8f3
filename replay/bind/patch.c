// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernels' apply_alternatives() does when they boot without Xen: calls
 * through pv_ops become direct ones, and most of these one instruction. And what
 * jump_label_init() does, for init_on_alloc.
 */
#include <string.h>
#include <sys/mman.h>

#include "userspace.h"

/* As in arch/x86/include/asm/alternative.h and cpufeatures.h */
struct alt_instr {
	int32_t instr_offset, repl_offset;	/* from the member itself */
	uint16_t cpuid, flags;
	uint8_t instrlen, replacementlen;
} __attribute__((packed));

#define ALT_FLAG_NOT		1
#define ALT_FLAG_DIRECT_CALL	2
#define ALWAYS			(3 * 32 + 21)
#define XENPV			(8 * 32 + 16)
#define ERMS			(9 * 32 + 9)

/* As in include/linux/jump_label.h; key: bit 1 is of no use here, bit 0 the branch. */
struct jump_entry {
	int32_t code, target;
	int64_t key;
};

extern struct alt_instr __start_altinstructions[], __stop_altinstructions[];
extern struct jump_entry __start___jump_table[], __stop___jump_table[];

static void write_code(unsigned char *code, const unsigned char *new, unsigned int nr)
{
	mprotect((void *)((unsigned long)code & -4096UL), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(code, new, nr);
}

/* One NOP, however long */
static void pad(unsigned char *code, unsigned int from, unsigned int to)
{
	if (from == to)
		return;
	memset(code + from, 0x66, to - from);
	code[to - 1] = 0x90;
}

static void replace_instruction(const struct alt_instr *a)
{
	unsigned char *code = (unsigned char *)&a->instr_offset + a->instr_offset;
	unsigned char *from = (unsigned char *)&a->repl_offset + a->repl_offset;
	unsigned int nr = a->replacementlen;
	unsigned char new[256];
	int32_t far;

	memcpy(new, from, nr);
	if (a->flags & ALT_FLAG_DIRECT_CALL) {
		/* call *pv_ops.X: by an absolute address, or one from here. */
		unsigned char **target;

		memcpy(&far, code + a->instrlen - 4, 4);
		target = code[1] == 0x15 ? (void *)(code + a->instrlen + far) : (void *)(long)far;
		if (!*target)
			return;
		far = *target - (code + 5);
		new[0] = 0xe8;
		memcpy(new + 1, &far, 4);
	} else if (nr == 5 && (new[0] & 0xfe) == 0xe8) {
		memcpy(&far, new + 1, 4);
		far += from - code;
		memcpy(new + 1, &far, 4);
	}
	pad(new, nr, a->instrlen);
	write_code(code, new, a->instrlen);
}

void patch_kernels(void)
{
	for (struct alt_instr *a = __start_altinstructions; a < __stop_altinstructions; a++) {
		unsigned char *from = (unsigned char *)&a->repl_offset + a->repl_offset;
		unsigned char *code = (unsigned char *)&a->instr_offset + a->instr_offset;

		/* clear_pages() by REP STOSB, as any CPU of the last ten years */
		if (!(a->flags & ALT_FLAG_NOT) &&
		    (a->cpuid == ALWAYS || (a->cpuid == ERMS && *code == 0xe8)))
			replace_instruction(a);
		/* mov %rdi, %rax; others are for what does not run here. */
		else if (a->cpuid == XENPV && a->flags & ALT_FLAG_NOT &&
			 a->replacementlen == 3 && !memcmp(from, "\x48\x89\xf8", 3))
			replace_instruction(a);
	}
}

void set_key(const void *key, bool on)
{
	for (struct jump_entry *e = __start___jump_table; e < __stop___jump_table; e++) {
		unsigned char *code = (unsigned char *)&e->code + e->code, new[5] = { 0xe9 };
		const unsigned char *target = (unsigned char *)&e->target + e->target;
		unsigned int nr = *code == 0xeb || *code == 0x66 ? 2 : 5;
		int32_t far = target - (code + nr);

		if ((char *)&e->key + (e->key & ~3L) != key)
			continue;
		/* Bit 0: the code behind the jump is for a key that is on. */
		if ((e->key & 1) == on) {
			memcpy(new, nr == 2 ? "\x66\x90" : "\x0f\x1f\x44\0", nr);
		} else if (nr == 2) {
			new[0] = 0xeb;
			new[1] = far;
		} else {
			memcpy(new + 1, &far, 4);
		}
		write_code(code, new, nr);
	}
}
