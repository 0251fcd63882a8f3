// SPDX-License-Identifier: GPL-2.0
/*
 * The features of the CPU for which the kernels' code is patched, as when they boot.
 * Others stay as compiled: CLAC and STAC would trap here.
 */
#include <cpuid.h>
#include <string.h>

#include "../userspace.h"
#include "copy.h"

/* As in cpufeatures.h: word 9 is EBX of CPUID leaf 7, word 18 is EDX. */
static struct feature {
	const char *name;
	unsigned int word, bit;
	bool present, applied;
} features[] = {
	{ .name = "ERMS", .word = 9, .bit = 9 },
	{ .name = "CLFLUSHOPT", .word = 9, .bit = 23 },
	{ .name = "CLWB", .word = 9, .bit = 24 },
	{ .name = "FSRM", .word = 18, .bit = 4 },
};

#define NR_FEATURES	(sizeof(features) / sizeof(*features))

/* In the order of the kernel: where several fit, the last one stays. */
static bool is_wanted(const struct alternative *a)
{
	for (unsigned int i = 0; i < NR_FEATURES; i++) {
		struct feature *f = &features[i];

		if (a->feature != f->word * 32 + f->bit || !f->present)
			continue;
		/* CALL, JMP: no routine here needs one. */
		if (a->missing || a->direct_call || (a->nr && (*a->new & 0xfe) == 0xe8))
			die("an alternative at %p that is not plain: teach features.c", a->code);
		f->applied = true;
		return true;
	}
	return false;
}

const char *patch_kernels(void)
{
	unsigned int a, b = 0, c, d = 0;
	static char names[64];

	__get_cpuid_count(7, 0, &a, &b, &c, &d);
	for (unsigned int i = 0; i < NR_FEATURES; i++)
		features[i].present = (features[i].word == 9 ? b : d) >> features[i].bit & 1;
	apply_alternatives(is_wanted);
	for (unsigned int i = 0; i < NR_FEATURES; i++)
		if (features[i].applied)
			sprintf(names + strlen(names), "%s%s", *names ? ", " : "",
				features[i].name);
	return names;
}
