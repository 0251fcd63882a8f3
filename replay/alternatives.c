// SPDX-License-Identifier: GPL-2.0
/*
 * What kernels do to their code when they boot, here to that of all that
 * are linked: the loop of apply_alternatives().
 */
#ifdef __x86_64__
#include <string.h>
#include <sys/mman.h>

#include "userspace.h"

/* As in arch/x86/include/asm/alternative.h */
struct alt_instr {
	int32_t instr_offset, repl_offset;	/* from the member itself */
	uint16_t cpuid, flags;
	uint8_t instrlen, replacementlen;
} __attribute__((packed));

#define ALT_FLAG_NOT		1
#define ALT_FLAG_DIRECT_CALL	2

/* build.py gives the sections such names; a program may lack one. */
extern __attribute__((weak)) struct alt_instr __start_altinstructions[], __stop_altinstructions[];

void write_code(unsigned char *code, const unsigned char *new, unsigned int nr)
{
	mprotect((void *)((unsigned long)code & -4096UL), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(code, new, nr);
}

void replace_instruction(const struct alternative *a, const unsigned char *new, unsigned int nr)
{
	unsigned char all[256];

	memcpy(all, new, nr);
	/* One NOP, however long */
	memset(all + nr, 0x66, a->bytes - nr);
	if (nr < a->bytes)
		all[a->bytes - 1] = 0x90;
	write_code(a->code, all, a->bytes);
}

void find_alternatives(void (*found)(const struct alternative *a))
{
	for (struct alt_instr *i = __start_altinstructions; i < __stop_altinstructions; i++) {
		const struct alternative a = {
			.feature = i->cpuid,
			.missing = i->flags & ALT_FLAG_NOT,
			.direct_call = i->flags & ALT_FLAG_DIRECT_CALL,
			.code = (unsigned char *)&i->instr_offset + i->instr_offset,
			.bytes = i->instrlen,
			.new = (unsigned char *)&i->repl_offset + i->repl_offset,
			.nr = i->replacementlen,
		};

		found(&a);
	}
}
#endif
