// SPDX-License-Identifier: GPL-2.0
/* What kernel/padata.c needs, and its CPUs. Works go to threads of user space. */
#include <linux/completion.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/padata.h>
#include <linux/sched/isolation.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../kernel.h"

struct cpumask __cpu_online_mask, __cpu_possible_mask;
/* Each node has the same CPUs. */
static struct cpumask node_mask;
#ifdef CONFIG_CPUMASK_OFFSTACK
cpumask_var_t node_to_cpumask_map[] = { [0 ... MAX_NUMNODES - 1] = &node_mask };
#else
cpumask_var_t node_to_cpumask_map[MAX_NUMNODES];
#endif
unsigned long __per_cpu_offset[NR_CPUS];
atomic_t __num_online_cpus = ATOMIC_INIT(1);
enum system_states system_state;
/* Only their addresses count. */
static char boot_wq, own_wq;
struct workqueue_struct *system_dfl_wq = (void *)&boot_wq;
int helpers_node;
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

/* What padata_init() makes for jobs after boot. */
struct workqueue_attrs *alloc_workqueue_attrs_noprof(void)
{
	static struct workqueue_attrs attrs;
#ifdef CONFIG_CPUMASK_OFFSTACK
	static struct cpumask mask;

	attrs.cpumask = &mask;
#endif
	return &attrs;
}

struct workqueue_struct *alloc_workqueue_noprof(const char *fmt, unsigned int flags,
						int max_active, ...)
{
	return (void *)&own_wq;
}

#ifdef CONFIG_CPU_ISOLATION
const struct cpumask *housekeeping_cpumask(enum hk_type type)
{
	return &__cpu_online_mask;
}
#endif

int apply_workqueue_attrs(struct workqueue_struct *wq, const struct workqueue_attrs *attrs)
{
	return 0;
}

void workqueue_set_min_active(struct workqueue_struct *wq, int min_active)
{
}

void free_workqueue_attrs(struct workqueue_attrs *attrs)
{
}

static void run_work(void *work)
{
	((struct work_struct *)work)->func(work);
}

/* Of the base. */
bool queue_work_on(int cpu, struct workqueue_struct *wq, struct work_struct *work)
{
	replay_queue(run_work, work);
	return true;
}

bool queue_work_node(int node, struct workqueue_struct *wq, struct work_struct *work)
{
	if (helpers_node != NUMA_NO_NODE && (wq != (void *)&own_wq || node != helpers_node))
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

void start_padata(void)
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

static unsigned long min_chunk;

void set_cpus(unsigned int nr, unsigned long new_min_chunk)
{
	unsigned int i;

	min_chunk = new_min_chunk;
	cpumask_clear(&__cpu_online_mask);
	for (i = 0; i < nr && i < NR_CPUS; i++)
		__cpumask_set_cpu(i, &__cpu_online_mask);
	cpumask_copy(&node_mask, &__cpu_online_mask);
#ifndef CONFIG_CPUMASK_OFFSTACK
	for (i = 0; i < MAX_NUMNODES; i++)
		cpumask_copy(node_to_cpumask_map[i], &node_mask);
#endif
}

/* padata_init() makes so many. */
void set_works(unsigned int nr)
{
	__num_possible_cpus = nr;
}

void replay_do_multithreaded(struct padata_mt_job *job)
{
	start_padata();
	if (current_what == WHAT_FILL) {
		if (min_chunk)
			job->min_chunk = min_chunk;
		/* The series wants at most 4, one with an altmap: here, all CPUs that there are. */
		job->max_threads = cpumask_weight(&__cpu_online_mask);
	}
	padata_do_multithreaded(job);
}
