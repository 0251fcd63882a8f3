/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The program that replays memmap_init_zone_device(). Calls go one way:
 * main -> check, wall_clock -> race -> the shared half.
 */
#ifndef REPLAY_DEVICE_USERSPACE_H
#define REPLAY_DEVICE_USERSPACE_H

#include "../userspace.h"

/* With how many threads the kernels run: 1, or as the command line says. */
extern unsigned int nr_threads;

/* check.c: all but the base bind each case as two devices, by two threads at once. */
extern bool beside;
int check_random(int nr, char **words);

/* race.c: a device, its orders in turn */
#define MAX_ORDERS	32

extern struct raced_device {
	unsigned long mib;		/* of all devices, where there are many */
	unsigned int nr_orders;
	unsigned int orders[MAX_ORDERS];
	bool deduplicated[MAX_ORDERS];	/* without an altmap: tails share their memmap */
} device;
extern struct replay_case call;		/* of all devices */
/* Reads a list such as "0,9,9d". */
void read_orders(const char *text);
/* Opens the memmap of the device, and keeps to one CPU. */
void open_device(void);
/* The call for a row of the race, with its memory mapped as the kernel maps it. */
void start_device(unsigned int row);
/* Streams what the kernels write from page @start to @end. */
void fill_memmap(unsigned long start, unsigned long end);
int race_device(int nr, char **words);
/* Small devices, whose struct pages are all written to once more at once */
int race_touch(int nr, char **words);

/* wall_clock.c: one device by several threads, or many small ones, each by one thread */
int race_threads(int nr, char **words);
int race_devices(int nr, char **words);

#endif
