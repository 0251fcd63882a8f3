/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel side: what kernel/padata.c needs, on x86-64. A shim includes this behind
 * shim.h. Spinlocks are the kernel's lock words, with no queue of waiters. Works
 * go to threads of user space.
 */
#include <linux/completion.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/padata.h>
#include <linux/sched/topology.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "replay.h"

struct cpumask __cpu_online_mask, __cpu_possible_mask;
/* Each CPU is a core, and all are of node 0. */
struct cpumask __cpu_primary_thread_mask = { { [0 ... BITS_TO_LONGS(NR_CPUS) - 1] = ~0UL } };
unsigned long __per_cpu_offset[NR_CPUS];
/* Jobs that name no CPUs are those of boot. */
enum system_states system_state;
/* Each node has the same CPUs. */
static struct cpumask node_mask;
#ifdef CONFIG_CPUMASK_OFFSTACK
cpumask_var_t node_to_cpumask_map[] = { [0 ... MAX_NUMNODES - 1] = &node_mask };
#else
cpumask_var_t node_to_cpumask_map[MAX_NUMNODES];
#endif
struct workqueue_struct *system_dfl_wq;
/* Per CPU: see shim.h. Callers are on CPU 0. */
int cpu_number;
/* Where mm/page_alloc.o is linked, it has one. */
int numa_node __weak;
unsigned int __num_possible_cpus = NR_CPUS;
#if NR_CPUS > BITS_PER_LONG
/* A kernel that is built for thousands of CPUs learns at boot how many there can be. */
unsigned int nr_cpu_ids = BITS_PER_LONG;
#endif

/* padata_init() allocates its works, once, and would like to hear of hotplug. */
void *__kmalloc_noprof(DECL_TOKEN_PARAMS(size, token), gfp_t flags)
{
	static u64 works[16 * NR_CPUS];

	return size <= sizeof(works) ? works : NULL;
}

int __cpuhp_setup_state(enum cpuhp_state state, const char *name, bool invoke,
			int (*startup)(unsigned int cpu),
			int (*teardown)(unsigned int cpu), bool multi_instance)
{
	return 0;
}

/* A shim can count the locks that are taken. */
#ifndef note_lock
#define note_lock()	do { } while (0)
#endif

void __lockfunc _raw_spin_lock(raw_spinlock_t *lock)
{
	note_lock();
	while (atomic_cmpxchg_acquire(&lock->raw_lock.val, 0, _Q_LOCKED_VAL))
		cpu_relax();
}

void __lockfunc _raw_spin_unlock(raw_spinlock_t *lock)
{
	/* As native_queued_spin_unlock(). */
	smp_store_release(&lock->raw_lock.locked, 0);
}

void __lockfunc _raw_spin_lock_bh(raw_spinlock_t *lock)
{
	_raw_spin_lock(lock);
}

void __lockfunc _raw_spin_unlock_bh(raw_spinlock_t *lock)
{
	_raw_spin_unlock(lock);
}

static void run_work(void *work)
{
	((struct work_struct *)work)->func(work);
}

/* Each four CPUs share a last-level cache. The caller is on CPU 0. */
bool cpus_share_cache(int this_cpu, int that_cpu)
{
	return this_cpu / 4 == that_cpu / 4;
}

/* Is there a cache for each helper beside that of the caller? Then each must get one. */
static bool spread;

bool queue_work_on(int cpu, struct workqueue_struct *wq, struct work_struct *work)
{
	if (spread && (cpu == WORK_CPU_UNBOUND || cpus_share_cache(cpu, 0)))
		__builtin_trap();
	replay_queue(run_work, work);
	return true;
}

/* Only the base waits for a completion, and only the series asks for what is behind it. */
void __init_swait_queue_head(struct swait_queue_head *q, const char *name,
			     struct lock_class_key *key)
{
}

void wait_for_completion(struct completion *x)
{
	/* After what the helpers stored: pairs with complete(). */
	while (!smp_load_acquire(&x->done))
		cpu_relax();
}

void complete(struct completion *x)
{
	/* Behind what the helpers stored: pairs with wait_for_completion(). */
	smp_store_release(&x->done, 1);
}

/* The series' workers may use all CPUs. */
bool workqueue_unbound_has_cpu(int cpu);
bool workqueue_unbound_has_cpu(int cpu)
{
	return true;
}

bool cancel_work(struct work_struct *work)
{
	replay_cancel(work, false);
	return true;
}

bool cancel_work_sync(struct work_struct *work)
{
	replay_cancel(work, true);
	return true;
}

/* Before a kernel's first job. */
static void start_padata(void)
{
	static DEFINE_RAW_SPINLOCK(lock);
	static bool initialised;

	/* Two threads may be here: one of them initialises. Pairs with the release. */
	if (smp_load_acquire(&initialised))
		return;
	_raw_spin_lock(&lock);
	if (!initialised)
		padata_init();
	/* After what padata_init() stored. */
	smp_store_release(&initialised, true);
	_raw_spin_unlock(&lock);
}

static void set_node_cpus(unsigned int nr)
{
	unsigned int i;

	cpumask_clear(&node_mask);
	for (i = 0; i < nr && i < NR_CPUS; i++)
		__cpumask_set_cpu(i, &node_mask);
#ifndef CONFIG_CPUMASK_OFFSTACK
	for (i = 0; i < MAX_NUMNODES; i++)
		cpumask_copy(node_to_cpumask_map[i], &node_mask);
#endif
}

static void set_online_cpus(unsigned int nr)
{
	unsigned int i;

	cpumask_clear(&__cpu_online_mask);
	for (i = 0; i < nr && i < NR_CPUS; i++)
		__cpumask_set_cpu(i, &__cpu_online_mask);
	task.cpus_ptr = &task.cpus_mask;
	cpumask_copy(&task.cpus_mask, &__cpu_online_mask);
	set_node_cpus(nr);
}
