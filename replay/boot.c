// SPDX-License-Identifier: GPL-2.0
/*
 * What a kernel does to its code when it boots, done to that of all that are linked: alternatives
 * (apply_alternatives()), returns (apply_returns()), thunks of indirect branches, static keys
 * (jump_label_update()). What the kernel of this CPU chooses is what the one that runs has chosen.
 * Where a hypervisor hides the CPU's bugs from it, family and model tell.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "host.h"

char boot_returns[16] = "plain", boot_reason[256], boot_features[64];

#ifdef __x86_64__
#define BUGS	"/sys/devices/system/cpu/vulnerabilities/"

/* What the kernel of this CPU does that is not imitated */
static const char *beyond;

/* As in arch/x86/include/asm/alternative.h */
struct alt_instr {
	int32_t instr_offset, repl_offset;	/* from the member itself */
	uint16_t feature, flags;
	uint8_t bytes, new_bytes;
} __attribute__((packed));

#define ALT_FLAG_NOT		1
#define ALT_FLAG_DIRECT_CALL	2

/* As in include/linux/jump_label.h */
struct jump_entry {
	int32_t code, target;			/* from the member itself */
	int64_t key;				/* and the branch, in bit 0 */
};

/* RENAMED in harness/link/program.py gives the sections such names; a program may lack one. */
#define SECTION(type, name)	extern __attribute__((weak)) type __start_##name[], __stop_##name[]
SECTION(struct alt_instr, altinstructions);
SECTION(struct jump_entry, __jump_table);
SECTION(int32_t, return_sites);
SECTION(int32_t, indirect_thunks);

/*
 * Word * 32 + bit of cpufeatures.h, and the register of CPUID that tells it: leaf and EBX, ECX or
 * EDX; 0: any CPU of the last ten years. Code for other features, such as SMAP, whose instructions
 * trap in user space, stays as compiled.
 */
static const struct feature {
	const char *name;
	unsigned int number, leaf, reg;
} features[] = {
	{ "", 3 * 32 + 21, 0, 0 },		/* ALWAYS */
	{ "", 3 * 32 + 16, 0, 0 },		/* REP_GOOD */
	{ "PREFETCHW", 6 * 32 + 8, 0x80000001, 2 },
	{ "ERMS", 9 * 32 + 9, 7, 1 },
	{ "CLFLUSHOPT", 9 * 32 + 23, 7, 1 },
	{ "CLWB", 9 * 32 + 24, 7, 1 },
	{ "FSRM", 18 * 32 + 4, 7, 3 },
};

#define XENPV	(8 * 32 + 16)

static bool has(const struct feature *f)
{
	unsigned int reg[4] = { 0 };

	return !f->leaf || (__get_cpuid_count(f->leaf, 0, &reg[0], &reg[1], &reg[2], &reg[3]) &&
			    reg[f->reg] >> f->number % 32 & 1);
}

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

static bool is_wanted(const struct alt_instr *i, const unsigned char *new)
{
	/* Without Xen. Of those, some are privileged: only mov %rdi, %rax. */
	if (i->flags & ALT_FLAG_NOT)
		return i->feature == XENPV && i->new_bytes == 3 && *new == 0x48;
	for (size_t n = 0; n < sizeof(features) / sizeof(*features); n++) {
		const struct feature *f = &features[n];

		if (f->number != i->feature)
			continue;
		if (has(f) && *f->name && !strstr(boot_features, f->name))
			sprintf(boot_features + strlen(boot_features), "%s%s",
				*boot_features ? ", " : "", f->name);
		return has(f);
	}
	return false;
}

/*
 * Branches out of @nr bytes that were made for @from, by 32 bits, still go there from @to. What
 * looks like one is taken for one: a constant hardly leads into the program's code. No list says
 * where they are. objtool lists returns and indirect branches, the compiler leaves relocations,
 * and the linker uses these up. A kernel has none, either, and decodes the instructions.
 */
static void move_branches(unsigned char *bytes, unsigned int nr, const unsigned char *from,
			  const unsigned char *to)
{
	extern const unsigned char __executable_start[], etext[];
	int32_t far;

	for (unsigned int i = 0; i + 5 <= nr; i++) {
		const unsigned char *target;

		/* CALL, JMP, or Jcc behind 0x0f */
		if ((bytes[i] & 0xfe) != 0xe8 && !(i && bytes[i - 1] == 0x0f && bytes[i] >> 4 == 8))
			continue;
		memcpy(&far, bytes + i + 1, 4);
		target = from + i + 5 + far;
		if (target < __executable_start || target >= etext ||
		    (target >= from && target <= from + nr))
			continue;
		far = target - (to + i + 5);
		memcpy(bytes + i + 1, &far, 4);
	}
}

static void apply_alternative(const struct alt_instr *i)
{
	unsigned char *code = (unsigned char *)&i->instr_offset + i->instr_offset;
	const unsigned char *new = (unsigned char *)&i->repl_offset + i->repl_offset;
	unsigned char bytes[256], **target;
	int32_t far;

	if (!is_wanted(i, new))
		return;
	/* The rest is one NOP, however long. */
	memset(bytes, 0x66, i->bytes);
	bytes[i->bytes - 1] = 0x90;
	memcpy(bytes, new, i->new_bytes);
	if (i->flags & ALT_FLAG_DIRECT_CALL) {
		/* call *pv_ops.X: by an absolute address, or one from here. */
		memcpy(&far, code + i->bytes - 4, 4);
		target = code[1] == 0x15 ? (void *)(code + i->bytes + far) : (void *)(long)far;
		if (!*target)
			return;
		make_branch(bytes, 0xe8, code, *target);
	} else {
		move_branches(bytes, i->new_bytes, new, code);
	}
	write_code(code, bytes, i->bytes);
}

/* As srso_alias_return_thunk() and srso_alias_safe_ret(), and as the other thunks */
asm("	.pushsection .text\n"
	"safe_return: call 1f\n"
	"	ud2\n"
	"1:	lea 8(%rsp), %rsp\n"
	"jumped_return: ret\n"
	"	int3\n"
	"	.popsection\n");
extern unsigned char safe_return[], jumped_return[];

static void write_returns(void)
{
	for (int32_t *site = __start_return_sites; site < __stop_return_sites; site++) {
		unsigned char *code = (unsigned char *)site + *site;
		unsigned char new[] = { 0xc3, 0xcc, 0xcc, 0xcc, 0xcc };

		if (*boot_returns != 'p')
			make_branch(new, 0xe9, code, *boot_returns == 's' ? safe_return :
								jumped_return);
		write_code(code, new, sizeof(new));
	}
}

/* As for the thunks of shim/cpu.c, which are plain jumps, and in their order */
asm("	.pushsection .text\n"
	"	.balign 16\n"
	"retpolines:\n"
	".irp reg, " REGISTERS "\n"
	"	call 1f\n"
	"	int3\n"
	"1:	mov %\\reg, (%rsp)\n"
	"	ret\n"
	"	.balign 16\n"
	".endr\n"
	"	.popsection\n");
extern unsigned char retpolines[][16];

static void write_retpolines(void)
{
	for (int i = 0; __start_indirect_thunks + i < __stop_indirect_thunks; i++) {
		int32_t *site = __start_indirect_thunks + i;
		unsigned char *code = (unsigned char *)site + *site, new[5];

		make_branch(new, 0xe9, code, retpolines[i % NR_REGISTERS]);
		write_code(code, new, sizeof(new));
	}
}

void set_key(void *key, bool on)
{
	/* Its count, which is read where there are no jump labels. */
	*(int *)key = on;
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

static void choose(const char *returns, const char *why, const char *detail)
{
	snprintf(boot_returns, sizeof(boot_returns), "%s", returns);
	snprintf(boot_reason, sizeof(boot_reason), "%s%s", why, detail);
}

/* A bug that @of begins, in words that the kernel says of it, and what returns are then */
static const struct mitigation {
	const char *bug, *says, *returns;
} mitigations[] = {
	{ "spec_rstack_overflow", "Safe RET", "safe" },
	{ "retbleed", "Stuffing", "stuffed" },
	{ "retbleed", "untrained return thunk", "jump" },
	{ "indirect_target_selection", "Aligned branch/return thunks", "jump" },
};

static void choose_returns(void)
{
	char path[128], text[128], vendor[64], family[64], flags[4096];
	bool readable = false, amd;
	unsigned long number;

	for (size_t i = 0; i < sizeof(mitigations) / sizeof(*mitigations); i++) {
		const struct mitigation *m = &mitigations[i];

		snprintf(path, sizeof(path), BUGS "%s", m->bug);
		read_value(path, "", text, sizeof(text));
		readable |= !!*text;
		if (strstr(text, m->says)) {
			snprintf(path, sizeof(path), "%s: ", m->bug);
			choose(m->returns, path, text);
			return;
		}
	}
	read_value("/proc/cpuinfo", "vendor_id\t: ", vendor, sizeof(vendor));
	read_value("/proc/cpuinfo", "cpu family\t: ", family, sizeof(family));
	read_value("/proc/cpuinfo", "flags\t\t: ", flags, sizeof(flags));
	read_value(BUGS "spec_rstack_overflow", "", text, sizeof(text));
	number = strtoul(family, NULL, 10);
	amd = !strcmp(vendor, "AuthenticAMD") || !strcmp(vendor, "HygonGenuine");
	/* On Zen 3 and 4, it is never "Not affected", unless a hypervisor says so. */
	if (amd && number == 25 && (!readable || !strcmp(text, "Not affected")))
		choose("safe", "Zen 3 or 4, whatever a hypervisor says of spec_rstack_overflow: ",
		       *text ? text : "nothing");
	else if (readable)
		choose("plain", "no bug asks for more; spec_rstack_overflow: ",
		       *text ? text : "unknown to this kernel");
	else if (amd && number == 26)
		choose("plain", "Zen 5", "");
	else
		beyond = "cannot read " BUGS ": say what this CPU's kernel does, returns=plain, "
			 "returns=jump or returns=safe";
}

void boot_kernels(void)
{
	const char *wanted = find_setting("returns");
	char text[128];

	if (wanted) {
		if (strcmp(wanted, "plain") && strcmp(wanted, "jump") && strcmp(wanted, "safe"))
			die("returns=%s must be plain, jump (to a thunk) or safe (Safe RET)",
			    wanted);
		choose(wanted, "the command line", "");
	} else {
		choose_returns();
	}
	if (!strcmp(boot_returns, "stuffed"))
		beyond = "this CPU's kernel tracks the depth of calls (retbleed: Stuffing), which "
			 "is not imitated: say returns=jump for a kernel without it";
	write_returns();
	for (struct alt_instr *i = __start_altinstructions; i < __stop_altinstructions; i++)
		apply_alternative(i);
	read_value(BUGS "spectre_v2", "", text, sizeof(text));
	if (strstr(text, "Retpolines") && (!wanted || strcmp(wanted, "plain")))
		write_retpolines();
}

void need_imitation(void)
{
	if (beyond)
		die("%s", beyond);
}
#else
void boot_kernels(void)
{
}

void need_imitation(void)
{
}

void set_key(void *key, bool on)
{
}
#endif
