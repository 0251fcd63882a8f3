// SPDX-License-Identifier: GPL-2.0
/* What /proc says about the machine: its CPU's name, free memory, huge pages and stolen time. */
#include <string.h>

#include "userspace.h"

void proc_value(const char *path, const char *key, char *value, size_t size)
{
	char line[256];
	FILE *file = fopen(path, "r");

	*value = 0;
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key))) {
			char *text = line + strlen(key);

			text += strspn(text, " \t:");
			text[strcspn(text, "\n")] = 0;
			snprintf(value, size, "%s", text);
			break;
		}
	if (file)
		fclose(file);
}

void cpu_name(char *name, size_t size)
{
	proc_value("/proc/cpuinfo", "model name", name, size);
	if (!*name)
		snprintf(name, size, "unknown CPU");
}
