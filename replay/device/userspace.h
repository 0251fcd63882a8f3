/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The program that replays memmap_init_zone_device(). Calls go one way:
 * main -> check, race, parallel -> case -> the shared half.
 */
#ifndef REPLAY_DEVICE_USERSPACE_H
#define REPLAY_DEVICE_USERSPACE_H

#include "../userspace.h"

/* With how many threads the kernels run: 1, or as the command line says. */
extern unsigned int nr_threads;

/* case.c: a case as text */
#define CASE_SIZE	256
void case_write(const struct replay_case *c, char *text);
struct replay_case case_read(const char *text);
/* Lets a kernel run it, as one device. */
void case_run(const struct replay_side *side, const struct replay_case *c);
/* The enum memory_type of that name. */
unsigned int type_value(const char *name);

/* check.c: all but the base bind each case as two devices, by two threads at once. */
extern bool beside;
int check_matrix(int nr, char **words);
int check_random(int nr, char **words);
int check_one(int nr, char **words);

/* race.c: a device of @pages, its orders in turn; d stands for a deduplicated memmap */
#define MAX_ORDERS	32

struct device {
	unsigned long mib;		/* of all devices, where there are many */
	unsigned int nr_orders;
	unsigned int orders[MAX_ORDERS];
	bool deduplicated[MAX_ORDERS];	/* without an altmap: tails share their memmap */
};

extern struct device device;
/* Reads "0-18" or "0,9,9d". */
void read_orders(const char *text);
/* Opens the memmap of the device, and keeps to one CPU. */
void open_device(void);
/* The call for a row of the race, with its memory mapped as the kernel maps it. */
struct replay_case start_device(unsigned int row);
/* Fill what the kernels write from page @start to @end: all, or the first of each compound page. */
void fill_memmap(const struct replay_case *c, unsigned long start, unsigned long end);
int race_device(int nr, char **words);

/* parallel.c: one device by several threads, or many small ones, each by one thread */
int race_threads(int nr, char **words);
int race_devices(int nr, char **words);

#endif
