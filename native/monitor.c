// SPDX-License-Identifier: GPL-2.0
/*
 * Boots a kernel natively where KVM runs a guest natively at CPL 3 only.
 *
 *	monitor VMLINUX INITRAMFS RAM_MIB PMEM_GIB,... WORD...
 *
 * The whole guest, kernel and programs, runs at CPL 3. native/kernel.patch makes that
 * possible. An exception or a system call enters the stub, a page of code at CPL 0 whose
 * OUT leaves the guest. The monitor then does what the CPU would have done for a kernel
 * at CPL 0, and lets the stub return to CPL 3. docs/native.md says more.
 */

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/kvm.h>

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;

#define KERNEL_BASE	0xffffffff80000000ull
#define GIB		(1ull << 30)
#define LOW_RAM		(2 * GIB)	/* RAM beyond that lies above the devices */
#define FIRST_DEVICE	(4 * GIB)
#define BIT(n)		(1u << (n))
#define PAGE_MASK	0x000ffffffffff000ull
#define RFLAGS_IF	0x200ull

/* The guest's segments; the first two are what its kernel believes to run with. */
enum { KERNEL_CS = 0x10, KERNEL_DS = 0x18, USER_DS = 0x2b, USER_CS = 0x33, TSS = 0x40 };
enum { BP = 3, OF = 4, GP = 13, PF = 14, TIMER = 0x30, CPUNODE = 15 };

/* Entries of the stub, and the end of the stack that an exception finds. */
enum { STUB_RETURN = 0x400, STUB_CR3 = 0x410, STUB_INVLPG = 0x420, STUB_SYSCALL = 0x430 };
enum { STUB_STACK = 0x1000, STUB_IDT = 0x1000 };

/* What the patched kernel writes to instead of executing a privileged instruction. */
enum { CALL_IRET = 0xf1, CALL_IRQ, CALL_WAIT, CALL_CPUID, CALL_WRITE, CALL_HALT = 0xf7 };

static struct slot {
	u64 start, size;
	u8 *host;
} slots[20];
static int vm, vcpu, nr_slots;
static struct kvm_run *run;
static u32 xcr0, xsave_size;

/* The virtual CPU as its kernel sees it; all else is in run->s.regs.regs. */
static struct {
	u64 rip, rsp, rflags;
	u64 cr0, cr2, cr3, cr4, efer, star, lstar, sfmask, fs_base, gs_base, kernel_gs_base, pat;
	u64 gdt, idt, tr;
	bool kernel;		/* whether it believes to be at CPL 0 */
} cpu = { .cr0 = 0x80050033, .cr4 = 0x20, .efer = 0xd01, .pat = 0x0007040600070406, .kernel = 1 };
static volatile u64 *irqs_on, *irq_waits;	/* variables of the kernel */
static u64 stub, stub_data;
static u8 *stub_memory;
static bool load_cr3;
static u64 invlpg;

static u64 exits, syscalls, faults, interrupts;
static struct timespec started;

#define REG(name) (run->s.regs.regs.name)

static void die(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("monitor: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

/* The guest did what the monitor does not know: say where, too. */
static void die_at(const char *what, u64 value)
{
	die("%s (%#lx) at rip %#lx, rsp %#lx, cr2 %#lx, in %s mode: the guest cannot go on", what,
	    value, cpu.rip, cpu.rsp, cpu.cr2, cpu.kernel ? "kernel" : "user");
}

/* The guest has ended by itself. */
static void end(void)
{
	struct timespec now, used;

	clock_gettime(CLOCK_MONOTONIC, &now);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	printf("monitor: %.3f s, of which %.3f s on a CPU; ",
	       now.tv_sec - started.tv_sec + (now.tv_nsec - started.tv_nsec) / 1e9,
	       used.tv_sec + used.tv_nsec / 1e9);
	printf("%lu exits: %lu system calls, %lu page faults, %lu interrupts\n", exits, syscalls,
	       faults, interrupts);
	exit(fflush(stdout) ? 1 : 0);
}

/* ---- Memory ---- */

static void add_memory(u64 start, u64 size)
{
	struct kvm_userspace_memory_region region = {
		.slot = nr_slots, .guest_phys_addr = start, .memory_size = size,
	};
	u8 *host = mmap(NULL, size + (2 << 20), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (host == MAP_FAILED)
		die("cannot map %lu MiB: set a smaller SIZE=", size >> 20);
	host = (u8 *)(((u64)host + (2 << 20) - 1) & -(2ull << 20));
	madvise(host, size, MADV_HUGEPAGE);
	region.userspace_addr = (u64)host;
	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region))
		die("KVM takes no memory of %lu MiB: %s", size >> 20, strerror(errno));
	slots[nr_slots++] = (struct slot){ start, size, host };
}

static void *at_physical(u64 address)
{
	for (int i = 0; i < nr_slots; i++)
		if (address - slots[i].start < slots[i].size)
			return slots[i].host + (address - slots[i].start);
	return NULL;
}

/* Walk the guest's page tables. */
static void *at_virtual(u64 address)
{
	u64 entry = cpu.cr3, *table;

	for (int shift = 39; shift >= 12; shift -= 9) {
		table = at_physical(entry & PAGE_MASK);
		if (!table)
			return NULL;
		entry = table[address >> shift & 511];
		if (!(entry & 1))
			return NULL;
		if (shift == 12 || (shift < 39 && entry & 0x80)) {
			u64 offset = (1ull << shift) - 1;

			return at_physical((entry & PAGE_MASK & ~offset) | (address & offset));
		}
	}
	return NULL;
}

/* Copy between the guest and the monitor; returns how many bytes are not mapped. */
static size_t copy_guest(u64 address, void *buffer, size_t size, bool write)
{
	while (size) {
		size_t chunk = 4096 - (address & 4095);
		u8 *guest = at_virtual(address);

		if (!guest)
			break;
		if (chunk > size)
			chunk = size;
		memcpy(write ? (void *)guest : buffer, write ? buffer : (void *)guest, chunk);
		address += chunk;
		buffer = (u8 *)buffer + chunk;
		size -= chunk;
	}
	return size;
}

static void read_guest(u64 address, void *buffer, size_t size)
{
	if (copy_guest(address, buffer, size, false))
		die_at("an address that is not mapped is read", address);
}

static void write_guest(u64 address, void *buffer, size_t size)
{
	if (copy_guest(address, buffer, size, true))
		die_at("an address that is not mapped is written", address);
}

/* ---- What the CPU has ---- */

/* Of what this CPU has, what works at CPL 3. Programs ask the CPU itself, without a trap. */
static void do_cpuid(void)
{
	u32 leaf = REG(rax), sub = REG(rcx), a, b, c, d;

	__cpuid_count(leaf, sub, a, b, c, d);
	switch (leaf) {
	case 0:
		a = 0xd;
		break;
	case 1:		/* one CPU, no APIC; SSE4, AVX, XSAVE, RDRAND; a hypervisor */
		b = (b & 0xff00) | 0x10000;
		c = (c & 0x76d83203) | BIT(31) | (cpu.cr4 & BIT(18) ? BIT(27) : 0);
		d &= 0x0789a17d;
		break;
	case 2: case 4:
		break;
	case 7:		/* BMI, AVX2, AVX-512, ERMS, RDSEED, ADX, CLFLUSHOPT, CLWB, SHA, FSRM */
		a = 0, c = 0;
		b = sub ? 0 : b & 0xe18f0328;
		d = sub ? 0 : d & BIT(4);
		break;
	case 0xd:	/* XSAVE: what programs find without a trap, the kernel must save */
		a &= sub == 0 ? xcr0 : sub == 1 ? 1 : ~0u;
		if (sub < 2)
			b = xsave_size, c = xsave_size;
		d = 0;
		break;
	case 0x80000000:
		a = 0x80000008;
		break;
	case 0x80000001:	/* SYSCALL, NX, RDTSCP, long mode; LAHF, LZCNT, SSE4A, PREFETCHW */
		c &= 0x161;
		d = (d & 0x0181a17d) | BIT(11) | BIT(20) | BIT(27) | BIT(29);
		break;
	case 0x80000002 ... 0x80000006:
		break;
	case 0x80000007:	/* the TSC does not stop */
		a = 0, b = 0, c = 0;
		d = BIT(8);
		break;
	case 0x80000008:
		a = 0x3030;
		b = 0, c = 0, d = 0;
		break;
	default:
		a = 0, b = 0, c = 0, d = 0;
	}
	REG(rax) = a, REG(rbx) = b, REG(rcx) = c, REG(rdx) = d;
}

static void set_msr(u32 index, u64 value)
{
	struct {
		struct kvm_msrs head;
		struct kvm_msr_entry entry;
	} msrs = { .head.nmsrs = 1, .entry = { .index = index, .data = value } };

	if (ioctl(vcpu, KVM_SET_MSRS, &msrs) != 1)
		die("KVM does not take %#lx for MSR %#x", value, index);
}

/* An MSR that matters; all others read as 0, and what is written there is dropped. */
static u64 *find_msr(u32 index)
{
	switch (index) {
	case 0x277: return &cpu.pat;
	case 0xc0000080: return &cpu.efer;
	case 0xc0000081: return &cpu.star;
	case 0xc0000082: return &cpu.lstar;
	case 0xc0000084: return &cpu.sfmask;
	case 0xc0000100: return &cpu.fs_base;
	case 0xc0000101: return &cpu.gs_base;
	case 0xc0000102: return &cpu.kernel_gs_base;
	}
	return NULL;
}

static void do_wrmsr(u32 index, u64 value)
{
	u64 *msr = find_msr(index);

	if (msr)
		*msr = value;
	if (index == 0xc0000100 || index == 0xc0000101)
		set_msr(index, value);
}

/* ---- Interrupts: a PIC and a PIT with one line, the timer's ---- */

static timer_t timer;
static volatile sig_atomic_t ticks;	/* that the guest has not had yet */
static struct { u8 mask; int init; } pic[2] = { { 0xff, 0 }, { 0xff, 0 } };
static struct { u8 mode, low; bool high; } pit;

static void count_tick(int signal)
{
	(void)signal;
	/* A guest that was not run has missed some; more than a second of them is no use. */
	if (ticks < 1000)
		ticks += 1 + timer_getoverrun(timer);
	run->immediate_exit = 1;
}

static void set_timer(u32 count)
{
	u64 ns = (count ?: 65536) * 1000000000ull / 1193182;
	struct itimerspec spec = { .it_value.tv_nsec = ns };

	if (pit.mode == 2 || pit.mode == 3)
		spec.it_interval = spec.it_value;
	timer_settime(timer, 0, &spec, NULL);
}

static void write_port(u16 port, u8 value)
{
	bool second = port & 0x80;

	switch (port) {
	case 0x20: case 0xa0:
		if (value & 0x10)
			pic[second].init = 3;
		break;
	case 0x21: case 0xa1:
		if (pic[second].init)
			pic[second].init--;
		else
			pic[second].mask = value;
		break;
	case 0x40:
		if (pit.high)
			set_timer(pit.low | value << 8);
		pit.low = value;
		pit.high = !pit.high;
		break;
	case 0x43:
		if (!(value & 0xc0)) {
			pit.mode = value >> 1 & 7;
			pit.high = false;
		}
		break;
	case 0x64:
		if (value == 0xfe)
			end();	/* reset: after a panic */
	}
}

static u32 read_port(u16 port)
{
	switch (port) {
	case 0x20: case 0xa0: case 0x40: case 0x71: return 0;
	case 0x21: case 0xa1: return pic[port == 0xa1].mask;
	case 0x61: return 0x20;
	}
	return ~0u;
}

static u64 find_tss(void)
{
	u8 entry[16];

	read_guest(cpu.gdt + cpu.tr, entry, 16);
	return entry[2] | entry[3] << 8 | entry[4] << 16 | (u64)entry[7] << 24 |
	       (u64)*(u32 *)(entry + 8) << 32;
}

/* Enter the guest's handler as the CPU would; error is below 0 where there is none. */
static void deliver(int vector, int64_t error)
{
	u64 frame[6] = { error, cpu.rip, cpu.kernel ? KERNEL_CS : USER_CS, cpu.rflags & ~RFLAGS_IF,
			 cpu.rsp, cpu.kernel ? KERNEL_DS : USER_DS };
	u64 stack = cpu.rsp;
	u8 gate[16];
	int none = error < 0;

	if (!cpu.idt)
		die_at("an exception before there is an IDT", vector);
	read_guest(cpu.idt + 16 * vector, gate, 16);
	if (!(gate[5] & 0x80))
		die_at("an exception without a handler", vector);
	if (gate[4] & 7)	/* a stack of its own */
		read_guest(find_tss() + 0x24 + 8 * ((gate[4] & 7) - 1), &stack, 8);
	else if (!cpu.kernel)
		read_guest(find_tss() + 4, &stack, 8);
	if (!cpu.kernel || *irqs_on)
		frame[3] |= RFLAGS_IF;
	cpu.rsp = (stack & ~15ull) - 8 * (6 - none);
	write_guest(cpu.rsp, frame + none, 8 * (6 - none));
	cpu.rip = *(u16 *)gate | (u64)*(u16 *)(gate + 6) << 16 | (u64)*(u32 *)(gate + 8) << 32;
	cpu.rflags &= ~0x10100ull;	/* RF, TF */
	cpu.kernel = true;
	*irqs_on = 0;	/* all gates of Linux are interrupt gates */
}

static bool timer_waits(void)
{
	return ticks && !(pic[0].mask & 1);
}

/* Deliver the timer's interrupt if one waits; else the kernel asks again when it enables them. */
static void check_timer(void)
{
	bool now = timer_waits() && (!cpu.kernel || *irqs_on);

	*irq_waits = timer_waits() && !now;
	if (now) {
		ticks--;
		interrupts++;
		deliver(TIMER, -1);
	}
}

static void wait_for_timer(void)
{
	sigset_t usr1, old;

	fflush(stdout);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, &old);
	while (!timer_waits())
		sigsuspend(&old);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

/* ---- Instructions that trap at CPL 3 ---- */

struct instruction {
	u8 bytes[24];
	u8 *next;
	int rex, segment;
	bool word;
};

static u64 *find_register(int number)
{
	u64 *registers[] = {
		(u64 *)&REG(rax), (u64 *)&REG(rcx), (u64 *)&REG(rdx), (u64 *)&REG(rbx), &cpu.rsp,
		(u64 *)&REG(rbp), (u64 *)&REG(rsi), (u64 *)&REG(rdi), (u64 *)&REG(r8),
		(u64 *)&REG(r9), (u64 *)&REG(r10), (u64 *)&REG(r11), (u64 *)&REG(r12),
		(u64 *)&REG(r13), (u64 *)&REG(r14), (u64 *)&REG(r15),
	};

	return registers[number];
}

static int64_t take(struct instruction *in, int size)
{
	int64_t value = size == 1 ? (int8_t)*in->next : *(int32_t *)in->next;

	in->next += size;
	return value;
}

/* Decode the ModRM byte's memory operand. */
static u64 take_address(struct instruction *in)
{
	u8 modrm = *in->next++, mode = modrm >> 6, base = modrm & 7, sib = 0;
	bool indexed = base == 4, relative = base == 5 && !mode;
	u64 address = 0;

	if (indexed) {
		sib = *in->next++;
		base = sib & 7;
		if ((sib >> 3 & 7) != 4 || in->rex & 2)
			address = *find_register((sib >> 3 & 7) | (in->rex & 2) << 2) << (sib >> 6);
	}
	if (base == 5 && !mode)
		address += take(in, 4);
	else
		address += *find_register(base | (in->rex & 1) << 3);
	if (relative)
		address += cpu.rip + (in->next - in->bytes);
	if (mode)
		address += take(in, mode == 1 ? 1 : 4);
	if (in->segment)
		address += in->segment == 0x65 ? cpu.gs_base : cpu.fs_base;
	return address;
}

static void do_iret(void)
{
	u64 frame[5];

	read_guest(cpu.rsp, frame, sizeof(frame));
	cpu.rip = frame[0];
	cpu.kernel = !(frame[1] & 3);
	*irqs_on = frame[2] & RFLAGS_IF;
	cpu.rflags = frame[2] & 0x250dd5;
	cpu.rsp = frame[3];
}

/* What the patched kernel asks for; false if it is an ordinary port. */
static bool do_call(u8 call)
{
	char text[1024];

	switch (call) {
	case CALL_IRET:
		do_iret();
		return true;
	case CALL_IRQ:		/* on the way back to the guest, check_timer() delivers it */
		return true;
	case CALL_WAIT:
		*irqs_on = RFLAGS_IF;
		wait_for_timer();
		return true;
	case CALL_HALT:
		if (!*irqs_on)
			end();	/* off, or halted after a panic */
		wait_for_timer();
		return true;
	case CALL_CPUID:
		do_cpuid();
		return true;
	case CALL_WRITE:
		for (u64 at = REG(rsi), left = REG(rcx), size; left; at += size, left -= size) {
			size = left < sizeof(text) ? left : sizeof(text);
			read_guest(at, text, size);
			if (fwrite(text, 1, size, stdout) != size || fflush(stdout))
				die("cannot write the console: %s", strerror(errno));
		}
		return true;
	}
	return false;
}

/* MOV to and from control registers. */
static bool move_cr(struct instruction *in, bool write)
{
	u8 modrm = *in->next++;
	u64 *reg = find_register((modrm & 7) | (in->rex & 1) << 3);
	u64 *crs[16] = { &cpu.cr0, NULL, &cpu.cr2, &cpu.cr3, &cpu.cr4 };
	int number = (modrm >> 3 & 7) | (in->rex & 4) << 1;

	if (!crs[number])
		return false;
	if (write)
		*crs[number] = *reg;
	else
		*reg = *crs[number];
	if (write && number == 3)
		cpu.cr3 &= ~(1ull << 63);
	load_cr3 |= write && number >= 3;	/* CR4 is written to flush the TLB */
	return true;
}

/* 0f 01: descriptor tables, INVLPG, SWAPGS, XSETBV. */
static bool do_group7(struct instruction *in)
{
	u8 modrm = *in->next, table[10];
	u64 address;

	switch (modrm) {
	case 0xd1:
		in->next++;
		return true;
	case 0xf8:
		address = cpu.gs_base;
		cpu.gs_base = cpu.kernel_gs_base;
		cpu.kernel_gs_base = address;
		set_msr(0xc0000101, cpu.gs_base);
		in->next++;
		return true;
	}
	if (modrm >> 6 == 3)
		return false;
	address = take_address(in);
	switch (modrm >> 3 & 7) {
	case 2: case 3:
		read_guest(address, table, sizeof(table));
		*(modrm & 8 ? &cpu.idt : &cpu.gdt) = *(u64 *)(table + 2);
		return true;
	case 7:
		invlpg = address;
		return true;
	}
	return false;
}

/* Do what a #GP of the kernel was for; false if it is a real one. */
static bool emulate(void)
{
	struct instruction in = { .next = in.bytes };
	u64 old_rip = cpu.rip, value;
	bool done = true;
	u8 op;

	copy_guest(cpu.rip, in.bytes, 15, false);
	for (;; in.next++) {
		if (*in.next == 0x64 || *in.next == 0x65)
			in.segment = *in.next;
		else if (*in.next == 0x66)
			in.word = true;
		else if (!memchr("\x2e\x3e\xf2\xf3", *in.next, 4))
			break;
	}
	if ((*in.next & 0xf0) == 0x40)
		in.rex = *in.next++ & 15;
	op = *in.next++;
	switch (op) {
	case 0xfa: case 0xfb:	/* CLI, STI */
		*irqs_on = op == 0xfb ? RFLAGS_IF : 0;
		break;
	case 0xcb:		/* LRET to the kernel's code segment */
		read_guest(cpu.rsp, &cpu.rip, 8);
		cpu.rsp += 16;
		return true;
	case 0x8e:		/* MOV of the kernel's data segment */
		if (*in.next >> 6 == 3)
			in.next++;
		else
			take_address(&in);
		break;
	case 0xe4: case 0xe5: case 0xec: case 0xed:	/* IN */
		value = read_port(op < 0xe8 ? *in.next++ : (u16)REG(rdx));
		if (op & 1 && !in.word)
			REG(rax) = (u32)value;
		else
			memcpy(&REG(rax), &value, op & 1 ? 2 : 1);
		break;
	case 0xe6: case 0xe7: case 0xee: case 0xef:	/* OUT */
		value = op < 0xe8 ? *in.next++ : (u16)REG(rdx);
		cpu.rip += in.next - in.bytes;
		if (op != 0xe6 || !do_call(value))
			write_port(value, REG(rax));
		return true;
	case 0x0f:
		op = *in.next++;
		switch (op) {
		case 0x00:	/* LTR, LLDT */
			if (*in.next >> 6 != 3)
				return false;
			if ((*in.next >> 3 & 7) == 3)
				cpu.tr = 0xfff8 &
					 *find_register((*in.next & 7) | (in.rex & 1) << 3);
			in.next++;
			break;
		case 0x01:
			done = do_group7(&in);
			break;
		case 0x06: case 0x08: case 0x09:	/* CLTS, INVD, WBINVD */
			break;
		case 0x07:	/* SYSRET */
			cpu.rip = REG(rcx);
			cpu.rflags = REG(r11) & 0x250dd5;
			cpu.kernel = false;
			return true;
		case 0x20: case 0x22:
			done = move_cr(&in, op == 0x22);
			break;
		case 0x21:	/* MOV from a debug register: none is set */
			value = *in.next >> 3 & 7;
			*find_register((*in.next++ & 7) | (in.rex & 1) << 3) =
				value == 6 ? 0xffff0ff0 : value == 7 ? 0x400 : 0;
			break;
		case 0x23:
			in.next++;
			break;
		case 0x30:	/* WRMSR */
			do_wrmsr(REG(rcx), (u32)REG(rax) | REG(rdx) << 32);
			break;
		case 0x32:	/* RDMSR */
			value = find_msr(REG(rcx)) ? *find_msr(REG(rcx)) : 0;
			REG(rax) = (u32)value;
			REG(rdx) = value >> 32;
			break;
		default:
			return false;
		}
		break;
	default:
		return false;
	}
	cpu.rip = old_rip + (in.next - in.bytes);
	return done;
}

/* ---- In and out of the guest ---- */

/* Go on at cpu.rip at CPL 3, by way of the stub. */
static void resume(void)
{
	u64 *frame = (u64 *)(stub_memory + STUB_STACK) - 5, entry = STUB_RETURN;

	check_timer();
	frame[0] = cpu.rip;
	frame[1] = USER_CS;
	frame[2] = cpu.rflags | RFLAGS_IF | 2;
	frame[3] = cpu.rsp;
	frame[4] = USER_DS;
	if (load_cr3 || invlpg) {
		*--frame = REG(rax);
		REG(rax) = load_cr3 ? cpu.cr3 : invlpg;
		entry = load_cr3 ? STUB_CR3 : STUB_INVLPG;
	}
	load_cr3 = false;
	invlpg = 0;
	REG(rsp) = stub_data + ((u8 *)frame - stub_memory);
	REG(rip) = stub + entry;
	REG(rflags) = 2;
	run->kvm_dirty_regs = KVM_SYNC_X86_REGS;
}

static bool has_error(int vector)
{
	return vector == 8 || (vector >= 10 && vector <= 14) || vector == 17 || vector == 21;
}

static void enter_syscall(void)
{
	syscalls++;
	cpu.rip = cpu.lstar;
	cpu.rflags = REG(r11) & ~cpu.sfmask;
	REG(r11) |= RFLAGS_IF;
	cpu.kernel = true;
	*irqs_on = 0;
}

/* The stub has left the guest with an OUT to the port that is the vector. */
static void handle_exception(int vector)
{
	u64 *frame = (u64 *)(stub_memory + STUB_STACK) - 5;
	u64 error = has_error(vector) ? frame[-1] : 0;
	struct kvm_sregs sregs;

	cpu.rip = frame[0];
	cpu.rflags = frame[2];
	cpu.rsp = frame[3];
	if (vector == PF) {
		faults++;
		if (ioctl(vcpu, KVM_GET_SREGS, &sregs))
			die("KVM does not tell CR2: %s", strerror(errno));
		cpu.cr2 = sregs.cr2;
		deliver(PF, cpu.kernel ? error & ~4ull : error);
	} else if (vector == GP && cpu.rip == stub + STUB_SYSCALL && !cpu.kernel) {
		enter_syscall();	/* KVM did not change to CPL 0 */
	} else if (vector != GP || !cpu.kernel || !emulate()) {
		deliver(vector, has_error(vector) ? (int64_t)error : -1);
	}
}

/* A signal has ended KVM_RUN; an interrupt waits, if nothing else is under way. */
static void handle_signal(void)
{
	struct kvm_vcpu_events events;
	u64 rip = REG(rip);

	if (rip - stub < 4096 || ioctl(vcpu, KVM_GET_VCPU_EVENTS, &events) ||
	    events.exception.injected || events.exception.pending || events.interrupt.injected)
		return;
	cpu.rip = rip;
	cpu.rsp = REG(rsp);
	cpu.rflags = REG(rflags);
	check_timer();
	if (cpu.rip == rip)
		return;
	REG(rip) = cpu.rip;
	REG(rsp) = cpu.rsp;
	REG(rflags) = cpu.rflags | RFLAGS_IF | 2;
	run->kvm_dirty_regs = KVM_SYNC_X86_REGS;
}

static void run_guest(void)
{
	for (;;) {
		int ended = ioctl(vcpu, KVM_RUN, 0);

		run->immediate_exit = 0;
		exits++;
		if (ended) {
			if (errno != EINTR && errno != EAGAIN)
				die("KVM_RUN: %s", strerror(errno));
			handle_signal();
			continue;
		}
		if (run->exit_reason == KVM_EXIT_MMIO) {
			if (!run->mmio.is_write)
				memset(run->mmio.data, 0xff, 8);
			continue;
		}
		if (run->exit_reason != KVM_EXIT_IO)
			die_at("KVM gives up, exit reason", run->exit_reason);
		if (run->io.size == 4) {
			cpu.rsp = REG(rsp);
			enter_syscall();
		} else {
			handle_exception(run->io.port);
		}
		resume();
	}
}

/* ---- Set-up ---- */

static void *map_file(const char *path, u64 *size)
{
	int fd = open(path, O_RDONLY);
	struct stat status;
	void *file;

	if (fd < 0 || fstat(fd, &status))
		die("%s: %s", path, strerror(errno));
	file = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		die("%s: %s", path, strerror(errno));
	close(fd);
	*size = status.st_size;
	return file;
}

static u64 find_symbol(u8 *elf, const char *name)
{
	Elf64_Ehdr *head = (void *)elf;
	Elf64_Shdr *sections = (void *)(elf + head->e_shoff);

	for (int i = 0; i < head->e_shnum; i++) {
		Elf64_Sym *symbol = (void *)(elf + sections[i].sh_offset);
		const char *names = (char *)elf + sections[sections[i].sh_link].sh_offset;

		for (u64 k = 0; sections[i].sh_type == SHT_SYMTAB &&
		     k < sections[i].sh_size / sizeof(*symbol); k++)
			if (!strcmp(names + symbol[k].st_name, name))
				return symbol[k].st_value;
	}
	die("the kernel has no symbol %s: build it with native/kernel.patch", name);
	return 0;
}

static void make_stub(void)
{
	u8 *code = at_physical(stub - KERNEL_BASE);
	u64 *gdt = (u64 *)stub_memory, *idt = (u64 *)(stub_memory + STUB_IDT);
	u64 tss = stub_data + 0x100;

	for (int vector = 0; vector < 256; vector++) {
		u64 address = stub + 4 * vector;
		u64 level = vector == BP || vector == OF ? 3 : 0;
		u8 leave[4] = { 0xe6, vector, 0x48, 0xcf };	/* OUT, IRETQ */

		memcpy(code + 4 * vector, leave, 4);
		idt[2 * vector] = (address & 0xffff) | KERNEL_CS << 16 |
				  (0x8e | level << 5) << 40 | (address >> 16 & 0xffff) << 48;
		idt[2 * vector + 1] = address >> 32;
	}
	memcpy(code + STUB_RETURN, "\x48\xcf", 2);
	memcpy(code + STUB_CR3, "\x0f\x22\xd8\x58\x48\xcf", 6);	/* MOV, POP, IRETQ */
	memcpy(code + STUB_INVLPG, "\x0f\x01\x38\x58\x48\xcf", 6);
	memcpy(code + STUB_SYSCALL, "\xe7\xff", 2);
	memset(gdt, 0, 0x1000);
	gdt[KERNEL_CS / 8] = 0x00af9b000000ffff;
	gdt[KERNEL_DS / 8] = 0x00cf93000000ffff;
	gdt[USER_DS / 8] = 0x00cff3000000ffff;
	gdt[USER_CS / 8] = 0x00affb000000ffff;
	gdt[TSS / 8] = 0x67 | (tss & 0xffffff) << 16 | 0x8bull << 40 | (tss >> 24 & 0xff) << 56;
	gdt[TSS / 8 + 1] = tss >> 32;
	gdt[CPUNODE] = 0x0040f50000000000;	/* the vDSO's getcpu(): CPU 0, node 0 */
	*(u64 *)(stub_memory + 0x104) = stub_data + STUB_STACK;
	*(u16 *)(stub_memory + 0x166) = 0x68;
}

static void load_kernel(const char *path)
{
	u64 size;
	u8 *elf = map_file(path, &size);
	Elf64_Ehdr *head = (void *)elf;
	Elf64_Phdr *part = (void *)(elf + head->e_phoff);

	if (memcmp(elf, ELFMAG, SELFMAG))
		die("%s is not a vmlinux", path);
	for (int i = 0; i < head->e_phnum; i++, part++)
		if (part->p_type == PT_LOAD)
			memcpy(at_physical(part->p_paddr), elf + part->p_offset, part->p_filesz);
	stub = find_symbol(elf, "native_stub");
	stub_data = find_symbol(elf, "native_stub_data");
	stub_memory = at_physical(stub_data - KERNEL_BASE);
	irqs_on = at_physical(find_symbol(elf, "native_irqs_on") - KERNEL_BASE);
	irq_waits = at_physical(find_symbol(elf, "native_irq_waits") - KERNEL_BASE);
	cpu.rip = find_symbol(elf, "startup_64") - KERNEL_BASE;
}

static void make_boot_params(const char *initramfs, u64 ram, char **words)
{
	struct __attribute__((packed)) { u64 start, size; u32 type; } *e820;
	u8 *zero = at_physical(0x90000), *file;
	char *line = at_physical(0x91000);
	u64 size, low = slots[0].size, at, *table = at_physical(0x1000);
	int n = 0;

	*(u16 *)(zero + 0x1fe) = 0xaa55;
	memcpy(zero + 0x202, "HdrS", 4);
	*(u16 *)(zero + 0x206) = 0x20f;
	zero[0x210] = 0xff;
	zero[0x211] = 1;
	*(u32 *)(zero + 0x228) = 0x91000;
	*(u32 *)(zero + 0x238) = 2047;
	n = sprintf(line, "native acpi=off nolapic noapic io_delay=none nohz=off highres=off ");
	n += sprintf(line + n, "tsc=reliable tsc_early_khz=%d", ioctl(vcpu, KVM_GET_TSC_KHZ, 0));
	for (; *words && n < 2000; words++)
		n += snprintf(line + n, 2047 - n, " %s", *words);
	file = map_file(initramfs, &size);
	at = (low - size - (16 << 20)) & -(2ull << 20);
	memcpy(at_physical(at), file, size);
	*(u32 *)(zero + 0x218) = at;
	*(u32 *)(zero + 0x21c) = size;
	e820 = (void *)(zero + 0x2d0);
	e820[0].size = 0x9f000;
	e820[0].type = 1;
	for (n = 1; n <= nr_slots; n++) {
		e820[n].start = n == 1 ? 0x100000 : slots[n - 1].start;
		e820[n].size = slots[n - 1].size - (n == 1 ? 0x100000 : 0);
		e820[n].type = n == 1 || (ram > low && n == nr_slots) ? 1 : 12;
	}
	zero[0x1e8] = n;
	/* Page tables: the first 4 GiB, there and at the kernel's base. */
	table[0] = 0x2007;
	table[511] = 0x3007;
	for (u64 i = 0; i < 4; i++)
		table[512 + i] = 0x4007 + (i << 12);
	table[1024 + 510] = 0x4007;
	table[1024 + 511] = 0x5007;
	for (u64 i = 0; i < 2048; i++)
		table[1536 + i] = i << 21 | 0xe7;
	cpu.cr3 = 0x1000;
	cpu.rsp = 0x8f000;
}

static void make_vcpu(void)
{
	struct kvm_segment code = { .selector = KERNEL_CS, .limit = ~0u, .type = 11, .present = 1,
				    .s = 1, .l = 1, .g = 1 };
	struct kvm_segment data = { .selector = KERNEL_DS, .limit = ~0u, .type = 3, .present = 1,
				    .s = 1, .db = 1, .g = 1 };
	struct kvm_segment tss = { .selector = TSS, .base = stub_data + 0x100, .limit = 0x67,
				   .type = 11, .present = 1 };
	struct kvm_xcrs xcrs = { .nr_xcrs = 1 };
	struct kvm_sregs s;
	u32 a, b, c, d;

	if (ioctl(vcpu, KVM_GET_SREGS, &s))
		die("KVM_GET_SREGS: %s", strerror(errno));
	s.cr0 = cpu.cr0;
	s.cr3 = cpu.cr3;
	s.cr4 = 0x406b0;
	s.efer = cpu.efer;
	s.cs = code;
	s.ds = data;
	s.es = data;
	s.fs = data;
	s.gs = data;
	s.ss = data;
	s.tr = tss;
	s.gdt.base = stub_data;
	s.gdt.limit = 8 * CPUNODE + 7;
	s.idt.base = stub_data + STUB_IDT;
	s.idt.limit = 0xfff;
	if (ioctl(vcpu, KVM_SET_SREGS, &s))
		die("KVM does not take the registers: %s", strerror(errno));
	__cpuid_count(0xd, 0, a, b, c, d);
	xcr0 = a & 0xe7;	/* x87, SSE, AVX, AVX-512 */
	xcrs.xcrs[0].value = xcr0;
	for (int part = 2; part < 8; part++)
		if (xcr0 & BIT(part)) {
			__cpuid_count(0xd, part, a, b, c, d);
			xsave_size = a + b > xsave_size ? a + b : xsave_size;
		}
	if (ioctl(vcpu, KVM_SET_XCRS, &xcrs))
		die("KVM does not take %#x for XCR0: %s", xcr0, strerror(errno));
	set_msr(0xc0000081, (u64)KERNEL_CS << 32 | 0x23ull << 48);
	set_msr(0xc0000082, stub + STUB_SYSCALL);
	set_msr(0xc0000084, 0);
}

static void make_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
	struct sigaction action = { .sa_handler = count_tick };

	event._sigev_un._tid = syscall(SYS_gettid);
	sigaction(SIGUSR1, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		die("timer_create: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	static u8 cpuid_space[sizeof(struct kvm_cpuid2) + 256 * sizeof(struct kvm_cpuid_entry2)];
	struct kvm_cpuid2 *cpuid = (void *)cpuid_space;
	u64 ram, at = FIRST_DEVICE;
	int kvm;

	clock_gettime(CLOCK_MONOTONIC, &started);
	if (argc < 5)
		die("usage: monitor VMLINUX INITRAMFS RAM_MIB PMEM_GIB,... WORD...");
	kvm = open("/dev/kvm", O_RDWR);
	if (kvm < 0)
		die("/dev/kvm: %s: use ACCEL=tcg", strerror(errno));
	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	if (vm < 0)
		die("KVM_CREATE_VM: %s: use ACCEL=tcg", strerror(errno));
	ioctl(vm, KVM_SET_TSS_ADDR, 0xfffbd000);
	ram = strtoull(argv[3], NULL, 10) << 20;
	add_memory(0, ram < LOW_RAM ? ram : LOW_RAM);
	/* A hole between devices, or the kernel joins them. */
	for (char *size = strtok(argv[4], ","); size; size = strtok(NULL, ",")) {
		if (!atoi(size))
			continue;
		add_memory(at, atoi(size) * GIB);
		at += (atoi(size) + 1) * GIB;
	}
	if (ram > LOW_RAM)
		add_memory(at, ram - LOW_RAM);
	vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	run = mmap(NULL, ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), PROT_READ | PROT_WRITE, MAP_SHARED,
		   vcpu, 0);
	if (vcpu < 0 || run == MAP_FAILED)
		die("KVM_CREATE_VCPU: %s", strerror(errno));
	cpuid->nent = 256;
	if (ioctl(kvm, KVM_GET_SUPPORTED_CPUID, cpuid) || ioctl(vcpu, KVM_SET_CPUID2, cpuid))
		die("KVM_SET_CPUID2: %s", strerror(errno));
	load_kernel(argv[1]);
	make_stub();
	make_boot_params(argv[2], ram, argv + 5);
	make_vcpu();
	make_timer();
	memset(&run->s.regs.regs, 0, sizeof(run->s.regs.regs));
	REG(rsi) = 0x90000;
	run->kvm_valid_regs = KVM_SYNC_X86_REGS;
	resume();
	run_guest();
}
