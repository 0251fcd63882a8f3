// SPDX-License-Identifier: GPL-2.0
/* Spinlocks are the kernel's lock words, with no queue of waiters; interrupts stay as they are. */
#include <linux/spinlock.h>

#include "../kernel.h"

void __lockfunc _raw_spin_lock(raw_spinlock_t *lock)
{
	counts.locks++;
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

void (*before_lock)(raw_spinlock_t *lock);

/* With one CPU, nobody else takes a lock: to find it taken is a fault. */
unsigned long __lockfunc _raw_spin_lock_irqsave(raw_spinlock_t *lock)
{
	if (before_lock)
		before_lock(lock);
	if (cpumask_weight(&__cpu_online_mask) <= 1 && raw_spin_is_locked(lock))
		warn_trap();
	else
		_raw_spin_lock(lock);
	return 0;
}

void __lockfunc _raw_spin_unlock_irqrestore(raw_spinlock_t *lock, unsigned long flags)
{
	_raw_spin_unlock(lock);
}

int __lockfunc _raw_spin_trylock(raw_spinlock_t *lock)
{
	return !atomic_cmpxchg_acquire(&lock->raw_lock.val, 0, _Q_LOCKED_VAL);
}

STUB(mutex_lock, HOTPLUG);
STUB(mutex_unlock, HOTPLUG);
