// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernels' apply_alternatives() does when they boot, for a few features of
 * the CPU. Others stay as compiled: CLAC and STAC would trap here.
 */
#include <cpuid.h>
#include <string.h>
#include <sys/mman.h>

#include "../userspace.h"
#include "copy.h"

/* As in arch/x86/include/asm/alternative.h */
struct alt_instr {
	int32_t instr_offset, repl_offset;	/* from the member itself */
	uint16_t cpuid, flags;
	uint8_t instrlen, replacementlen;
} __attribute__((packed));

/* Those of all kernels; build.py gives the section this name. */
extern struct alt_instr __start_altinstructions[], __stop_altinstructions[];

/* As in cpufeatures.h: word 9 is EBX of CPUID leaf 7, word 18 is EDX. */
static const struct feature {
	const char *name;
	unsigned int word, bit;
} features[] = {
	{ "ERMS", 9, 9 }, { "CLFLUSHOPT", 9, 23 }, { "CLWB", 9, 24 }, { "FSRM", 18, 4 },
};

#define NR_FEATURES	(sizeof(features) / sizeof(*features))

static void replace_instruction(struct alt_instr *a)
{
	unsigned char *code = (unsigned char *)&a->instr_offset + a->instr_offset;
	unsigned char *new = (unsigned char *)&a->repl_offset + a->repl_offset;
	unsigned int padding = a->instrlen - a->replacementlen;

	/* CALL, JMP: their targets would move with them. */
	if (a->flags || (a->replacementlen && (*new & 0xfe) == 0xe8))
		die("an alternative at %p that is not plain: teach alternatives.c", code);
	mprotect((void *)((unsigned long)code & -4096UL), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(code, new, a->replacementlen);
	/* One NOP, however long */
	memset(code + a->replacementlen, 0x66, padding);
	if (padding)
		code[a->instrlen - 1] = 0x90;
}

const char *patch_kernels(void)
{
	unsigned int a, b = 0, c, d = 0;
	bool applied[NR_FEATURES] = { };
	static char names[64];

	__get_cpuid_count(7, 0, &a, &b, &c, &d);
	/* In the order of the kernel: where several fit, the last one stays. */
	for (struct alt_instr *alt = __start_altinstructions; alt < __stop_altinstructions; alt++)
		for (unsigned int i = 0; i < NR_FEATURES; i++) {
			const struct feature *f = &features[i];

			if (alt->cpuid != f->word * 32 + f->bit ||
			    !((f->word == 9 ? b : d) >> f->bit & 1))
				continue;
			replace_instruction(alt);
			applied[i] = true;
		}
	for (unsigned int i = 0; i < NR_FEATURES; i++)
		if (applied[i])
			sprintf(names + strlen(names), "%s%s", *names ? ", " : "",
				features[i].name);
	return names;
}
