// SPDX-License-Identifier: GPL-2.0
/* A case as text, "type=generic,order=9,...": what is printed can be replayed. */
#include <stdlib.h>
#include <string.h>

#include "userspace.h"

static const char *const early_names[] = { "none", "all", "odd" };
static const char *const poison_names[] = { "ones", "zero", "random" };

unsigned int type_value(const char *name)
{
	const char *const *types = kernels[0].side->types;

	for (unsigned int t = 1; types[t]; t++)
		if (!strcmp(types[t], name))
			return t;
	die("no pgmap type \"%s\"", name);
}

static unsigned int index_of(const char *name, const char *const *names, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (!strcmp(name, names[i]))
			return i;
	die("\"%s\" in a case is none of %s, %s, %s", name, names[0], names[1], names[2]);
}

void case_run(const struct replay_side *side, const struct replay_case *c)
{
	side->prepare(c);
	side->bind(c->start_pfn, c->nr_pages);
}

void case_write(const struct replay_case *c, char *text)
{
	int n = snprintf(text, CASE_SIZE,
			 "type=%s,order=%u,pfn=0x%lx,pages=0x%lx,early=%s,node=%u,poison=%s",
			 kernels[0].side->types[c->type], c->order, c->start_pfn, c->nr_pages,
			 early_names[c->early], c->node, poison_names[c->poison]);

	if (c->altmap)
		snprintf(text + n, CASE_SIZE - n, ",reserve=0x%lx,offset=0x%lx",
			 c->reserve, c->offset);
}

static unsigned long read_number(const char *key, const char *value)
{
	char *end;
	unsigned long n = strtoul(value, &end, 0);

	if (!*value || *end)
		die("%s=%s in a case is no number", key, value);
	return n;
}

struct replay_case case_read(const char *written)
{
	struct replay_case c = { .type = type_value("generic"), .start_pfn = 1 << 20 };
	char text[CASE_SIZE], *rest = text, *key, *value;

	if (snprintf(text, sizeof(text), "%s", written) >= (int)sizeof(text))
		die("a case has at most %d characters", CASE_SIZE - 1);
	while ((key = strsep(&rest, ","))) {
		value = strchr(key, '=');
		if (!value)
			die("a case is KEY=VALUE,... but \"%s\" has no =", key);
		*value++ = 0;
		if (!strcmp(key, "type"))
			c.type = type_value(value);
		else if (!strcmp(key, "order"))
			c.order = read_number(key, value);
		else if (!strcmp(key, "pfn"))
			c.start_pfn = read_number(key, value);
		else if (!strcmp(key, "pages"))
			c.nr_pages = read_number(key, value);
		else if (!strcmp(key, "early"))
			c.early = index_of(value, early_names, NR_EARLY);
		else if (!strcmp(key, "node"))
			c.node = read_number(key, value);
		else if (!strcmp(key, "poison"))
			c.poison = index_of(value, poison_names, NR_POISON);
		else if (!strcmp(key, "reserve"))
			c.altmap = 1, c.reserve = read_number(key, value);
		else if (!strcmp(key, "offset"))
			c.altmap = 1, c.offset = read_number(key, value);
		else
			die("a case has no \"%s\"", key);
	}
	if (c.order > layout->max_order)
		die("order %u is above %u, the largest of this kernel", c.order,
		    layout->max_order);
	return c;
}
