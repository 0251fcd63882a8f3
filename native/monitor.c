// SPDX-License-Identifier: GPL-2.0
/*
 * Boots a kernel natively where KVM runs a guest natively at CPL 3 only.
 *
 *	monitor VMLINUX INITRAMFS RAM_MIB PMEM_GIB[:FILE],... WORD...
 *
 * The whole guest, kernel and programs, runs at CPL 3. native/kernel.patch makes that
 * possible. An exception, an interrupt or a system call enters the stub, a page of code
 * at CPL 0 whose OUT leaves the guest. The monitor then does what the CPU would have done
 * for a kernel at CPL 0, and lets the stub return to CPL 3. docs/native.md says more.
 */

#include <cpuid.h>
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <asm/bootparam.h>
#include <linux/kvm.h>

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;

#define KERNEL_BASE	0xffffffff80000000ull
#define GIB		(1ull << 30)
#define LOW_RAM		(3 * GIB)	/* RAM beyond that lies above the devices */
#define FIRST_DEVICE	(4 * GIB)
#define PAGE_MASK	0x000ffffffffff000ull
#define XSAVED		0xe7u
#define RFLAGS_TF	0x100ull
#define RFLAGS_IF	0x200ull

/* Segments of the guest's GDT; the first two are what its kernel believes to run with. */
enum { KERNEL_CS = 0x10, KERNEL_DS = 0x18, USER_DS = 0x2b, USER_CS = 0x33, TSS = 0x40 };
enum { DB = 1, BP = 3, OF = 4, GP = 13, PF = 14, TIMER = 0x30 };

/* The stub: its entries, and in its data the TSS, the stack and the IDT. */
enum { STUB_RETURN = 0x400, STUB_HALT = 0x410, STUB_SYSCALL = 0x420 };
enum { STUB_TSS = 0, STUB_STACK = 0x1000, STUB_IDT = 0x1000 };

/* Ports that the patched kernel writes to where an instruction would not trap. */
enum { CALL_IRET = 0xf1, CALL_IRQ, CALL_WAIT, CALL_CPUID, CALL_WRITE, CALL_IDT, CALL_HALT };

static struct slot {
	u64 start, size;
	u8 *host;
} slots[20];
static int vm, vcpu, nr_slots;
static struct kvm_run *run;
static u8 *stub_memory;
static u64 stub, stub_data;		/* where the guest has the stub's code and data */

/* The virtual CPU as its kernel sees it, where that is not what KVM has. */
static struct {
	u64 rip, rsp, rflags, lstar, sfmask, idt;
	bool kernel;			/* whether it believes to be at CPL 0 */
} cpu = { .kernel = true };
static volatile u64 *irqs_on, *irq_waits;	/* variables of the kernel */
static u64 ticks;			/* interrupts of the timer that it has not had yet */

static u64 exits;
static struct timespec started;

#define REG(name) (run->s.regs.regs.name)

/* The guest did what the monitor does not know: say where, too. */
static void die_at(const char *what, u64 value)
{
	errx(1, "%s (%#lx) at rip %#lx, rsp %#lx, cr2 %#lx, in %s mode: the guest cannot go on",
	     what, value, cpu.rip, cpu.rsp, (u64)run->s.regs.sregs.cr2,
	     cpu.kernel ? "kernel" : "user");
}

/* The guest has ended by itself. */
static void end(void)
{
	unsigned long used = 0, waited = 0;	/* ns on a CPU, and waiting for one */
	FILE *file = fopen("/proc/self/schedstat", "r");
	struct timespec now;

	if (file && fscanf(file, "%lu %lu", &used, &waited) != 2)
		waited = 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("monitor: %.3f s, on a CPU %.3f s, waiting for one %.3f s; %lu exits\n",
	       now.tv_sec - started.tv_sec + (now.tv_nsec - started.tv_nsec) / 1e9, used / 1e9,
	       waited / 1e9, exits);
	exit(fflush(stdout) ? 1 : 0);
}

/* ---- Memory ---- */

/* Without a file to keep it in, memory is the monitor's own. */
static void add_memory(u64 start, u64 size, const char *path)
{
	struct kvm_userspace_memory_region region = {
		.slot = nr_slots, .guest_phys_addr = start, .memory_size = size,
	};
	int fd = path ? open(path, O_RDWR | O_CREAT, 0644) : -1;
	u8 *host = mmap(NULL, size + (2 << 20), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (host == MAP_FAILED)
		errx(1, "cannot map %lu MiB: set a smaller SIZE=", size >> 20);
	host = (u8 *)(((u64)host + (2 << 20) - 1) & -(2ull << 20));
	if (path && (ftruncate(fd, size) || mmap(host, size, PROT_READ | PROT_WRITE,
						 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED))
		err(1, "%s", path);
	madvise(host, size, MADV_HUGEPAGE);
	region.userspace_addr = (u64)host;
	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region))
		err(1, "KVM takes no memory of %lu MiB", size >> 20);
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
	u64 entry = run->s.regs.sregs.cr3, *table;

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

/* ---- What the kernel finds ---- */

/* The size of what XSAVE saves: x87, SSE, AVX and AVX-512, as far as the CPU has them. */
static u32 find_xsave_size(void)
{
	u32 size = 0, parts, a, b, c, d;

	__cpuid_count(0xd, 0, parts, b, c, d);
	for (int part = 2; part < 8; part++) {
		__cpuid_count(0xd, part, a, b, c, d);
		if (parts & XSAVED & 1 << part && a + b > size)
			size = a + b;
	}
	return size;
}

/*
 * Of what this CPU has, what works at CPL 3. Programs ask the CPU itself, without a trap: what
 * they find there, the kernel must save. So XSAVE is not to be missing here.
 */
static void do_cpuid(void)
{
	u32 leaf = REG(rax), sub = REG(rcx), a, b, c, d;

	__cpuid_count(leaf, sub, a, b, c, d);
	switch (leaf) {
	case 0:			/* the last leaf */
		a = 0xd;
		break;
	case 1:			/* no APIC; SSE4, AVX, XSAVE, RDRAND */
		b &= 0xff00;
		c &= 0xf6d83203;
		d &= 0x0789a17d;
		break;
	case 7:			/* BMI, AVX2, AVX-512, ERMS, ADX, CLFLUSHOPT, CLWB, SHA, FSRM */
		a = c = 0;
		b &= sub ? 0 : 0xe18f0328;
		d &= sub ? 0 : 0x10;
		break;
	case 0xd:		/* XSAVE and XSAVEOPT */
		a &= sub == 0 ? XSAVED : sub == 1 ? 1 : ~0u;
		if (sub < 2)
			b = c = find_xsave_size();
		d = 0;
		break;
	case 0x80000000:	/* the last leaf */
		a = 0x80000008;
		break;
	case 0x80000001:	/* SYSCALL, NX, long mode; LAHF, LZCNT, SSE4A, PREFETCHW */
		c &= 0x161;
		d &= 0x2191a97d;
		break;
	case 0x80000007:	/* the TSC does not stop */
		a = b = c = 0;
		d = 0x100;
		break;
	case 0x80000008:	/* bits of addresses */
		a = 0x3030;
		b = c = d = 0;
		break;
	case 2: case 4: case 0x80000002 ... 0x80000006:
		break;
	default:
		a = b = c = d = 0;
	}
	REG(rax) = a, REG(rbx) = b, REG(rcx) = c, REG(rdx) = d;
}

/* ---- Exceptions and interrupts ---- */

static u64 find_tss(void)
{
	u8 entry[16];

	read_guest(run->s.regs.sregs.gdt.base + TSS, entry, 16);
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

/* ---- In and out of the guest ---- */

/* Go on at an entry of the stub, which is at CPL 0. */
static void enter_stub(u64 entry, u64 *stack)
{
	REG(rip) = stub + entry;
	REG(rsp) = stub_data + ((u8 *)stack - stub_memory);
	REG(rflags) = 2;
	run->kvm_dirty_regs = KVM_SYNC_X86_REGS;
}

/* Go on at cpu.rip at CPL 3. */
static void resume(void)
{
	u64 *frame = (u64 *)(stub_memory + STUB_STACK) - 5;

	/* If the kernel has interrupts off, it asks when it enables them. */
	if (ticks && (!cpu.kernel || *irqs_on)) {
		ticks--;
		deliver(TIMER, -1);
	}
	*irq_waits = ticks;
	frame[0] = cpu.rip;
	frame[1] = USER_CS;
	frame[2] = cpu.rflags | RFLAGS_IF | 2;
	frame[3] = cpu.rsp;
	frame[4] = USER_DS;
	enter_stub(STUB_RETURN, frame);
}

/* Let KVM execute one instruction of the kernel at CPL 0; a #DB follows. */
static void step(void)
{
	REG(rip) = cpu.rip;
	REG(rsp) = cpu.rsp;
	REG(rflags) = (cpu.rflags & ~RFLAGS_IF) | RFLAGS_TF | 2;
	run->kvm_dirty_regs = KVM_SYNC_X86_REGS;
}

static void wait_for_interrupt(void)
{
	if (ticks)
		resume();
	else
		enter_stub(STUB_HALT, (u64 *)(stub_memory + STUB_STACK));
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

static void write_console(void)
{
	char text[1024];

	for (u64 at = REG(rsi), left = REG(rcx), size; left; at += size, left -= size) {
		size = left < sizeof(text) ? left : sizeof(text);
		read_guest(at, text, size);
		if (fwrite(text, 1, size, stdout) != size || fflush(stdout))
			err(1, "cannot write the console");
	}
}

/* What the patched kernel asks for. */
static void do_call(u8 call)
{
	switch (call) {
	case CALL_HALT:
		if (!*irqs_on)
			end();	/* off, or halted after a panic */
		return wait_for_interrupt();
	case CALL_WAIT:
		*irqs_on = RFLAGS_IF;
		return wait_for_interrupt();
	case CALL_CPUID:
		do_cpuid();
		break;
	case CALL_IRET:
		do_iret();
		break;
	case CALL_WRITE:
		write_console();
		break;
	case CALL_IDT:		/* behind its limit, of 16 bits */
		read_guest(REG(rsi) + 2, &cpu.idt, 8);
		break;
	case CALL_IRQ:		/* resume() delivers what waits */
		break;
	}
	resume();
}

/*
 * A #GP of the kernel. Mostly it is a privileged instruction, and KVM does what that is for.
 * If it is a real one, it comes again from CPL 0.
 */
static void do_privileged(void)
{
	u8 code[4] = {}, *op = code;
	u64 index = REG(rcx) - 0xc0000082;	/* of an MSR */

	copy_guest(cpu.rip, code, sizeof(code), false);
	if (code[0] == 0xe6 && code[1] >= CALL_IRET && code[1] <= CALL_HALT) {
		cpu.rip += 2;
		return do_call(code[1]);
	}
	op += (*op & 0xf0) == 0x40;	/* REX */
	if (*op == 0xfa || *op == 0xfb) {		/* CLI, STI */
		*irqs_on = *op == 0xfb ? RFLAGS_IF : 0;
		cpu.rip++;
	} else if (!memcmp(op, "\x0f\x07", 2)) {	/* SYSRET */
		cpu.rip = REG(rcx);
		cpu.rflags = REG(r11) & 0x250dd5;
		cpu.kernel = false;
	} else if (!memcmp(op, "\x0f\x30", 2) && index - -1ull < 4) {	/* WRMSR: of SYSCALL */
		if (index == 0)
			cpu.lstar = (u32)REG(rax) | REG(rdx) << 32;
		else if (index == 2)
			cpu.sfmask = REG(rax);
		cpu.rip += 2;
	} else {
		return step();
	}
	resume();
}

static bool has_error(int vector)
{
	return vector == 8 || (vector >= 10 && vector <= 14) || vector == 17 || vector == 21;
}

static void enter_syscall(u64 rsp)
{
	cpu.rip = cpu.lstar;
	cpu.rsp = rsp;
	cpu.rflags = REG(r11) & ~cpu.sfmask;
	REG(r11) |= RFLAGS_IF;
	cpu.kernel = true;
	*irqs_on = 0;
	resume();
}

/* The stub has left the guest with an OUT to the port that is the vector. */
static void handle_exception(int vector)
{
	u64 *frame = (u64 *)(stub_memory + STUB_STACK) - 5;
	u64 error = has_error(vector) ? frame[-1] : 0;
	bool stepped = frame[1] == KERNEL_CS;

	ticks += vector == TIMER;
	if (frame[0] == stub + STUB_SYSCALL && !stepped)
		return enter_syscall(frame[3]);		/* KVM did not change to CPL 0 */
	if (frame[0] - stub >= 4096) {
		cpu.rip = frame[0];
		cpu.rflags = frame[2] & ~(stepped ? RFLAGS_TF : 0);
		cpu.rsp = frame[3];
	}
	if (vector == GP && cpu.kernel && !stepped)
		return do_privileged();
	if (vector == PF && cpu.kernel)
		error &= ~4ull;		/* of the user's */
	if (vector < 32 && (vector != DB || !stepped))
		deliver(vector, has_error(vector) ? (int64_t)error : -1);
	resume();
}

/* ---- Devices: KVM's PIC and timer, and the reset of a keyboard controller ---- */

static void handle_port(void)
{
	u8 *data = (u8 *)run + run->io.data_offset;

	if (run->io.direction == KVM_EXIT_IO_IN) {
		memset(data, 0, run->io.size * run->io.count);
		return;		/* KVM then finishes the step */
	}
	if (run->io.port == 0x64 && *data == 0xfe)
		end();		/* after a panic */
	cpu.rip = REG(rip);
	cpu.rsp = REG(rsp);
	resume();
}

static void run_guest(void)
{
	for (;; exits++) {
		if (ioctl(vcpu, KVM_RUN, 0)) {
			if (errno != EINTR && errno != EAGAIN)
				err(1, "KVM_RUN");
		} else if (run->exit_reason == KVM_EXIT_MMIO) {
			memset(run->mmio.data, 0xff, sizeof(run->mmio.data));
		} else if (run->exit_reason != KVM_EXIT_IO) {
			die_at("KVM gives up, exit reason", run->exit_reason);
		} else if (REG(rip) - stub >= 4096) {
			handle_port();
		} else if (run->io.size == 4) {
			enter_syscall(REG(rsp));
		} else {
			handle_exception(run->io.port);
		}
	}
}

/* ---- Set-up ---- */

static void *map_file(const char *path, u64 *size)
{
	int fd = open(path, O_RDONLY);
	struct stat status;
	void *file;

	if (fd < 0 || fstat(fd, &status))
		err(1, "%s", path);
	file = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		err(1, "%s", path);
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
	errx(1, "the kernel has no symbol %s: build it with native/kernel.patch", name);
}

static void make_stub(void)
{
	u8 *code = at_physical(stub - KERNEL_BASE), *tss = stub_memory + STUB_TSS;
	u64 *idt = (u64 *)(stub_memory + STUB_IDT);

	for (int vector = 0; vector < 256; vector++) {
		u64 address = stub + 4 * vector;
		u64 level = vector == BP || vector == OF ? 3 : 0;
		u8 leave[4] = { 0xe6, vector };	/* OUT */

		memcpy(code + 4 * vector, leave, 4);
		/* An interrupt gate with the first stack of the TSS. */
		idt[2 * vector] = (address & 0xffff) | KERNEL_CS << 16 | 1ull << 32 |
				  (0x8e | level << 5) << 40 | (address >> 16 & 0xffff) << 48;
		idt[2 * vector + 1] = address >> 32;
	}
	memcpy(code + STUB_RETURN, "\x48\xcf", 2);		/* IRETQ */
	memcpy(code + STUB_HALT, "\xfb\xf4\xeb\xfd", 4);	/* STI, HLT, and again */
	memcpy(code + STUB_SYSCALL, "\xe7\xff", 2);		/* OUT of 32 bits */
	*(u64 *)(tss + 4) = stub_data + STUB_STACK;	/* from CPL 3 */
	*(u64 *)(tss + 0x24) = stub_data + STUB_STACK;	/* the first one */
	*(u16 *)(tss + 0x66) = 0x68;			/* no ports */
}

/* Returns where the kernel has its first GDT. */
static u64 load_kernel(const char *path)
{
	u64 size;
	u8 *elf = map_file(path, &size);
	Elf64_Ehdr *head = (void *)elf;
	Elf64_Phdr *part = (void *)(elf + head->e_phoff);

	if (memcmp(elf, ELFMAG, SELFMAG))
		errx(1, "%s is not a vmlinux", path);
	for (int i = 0; i < head->e_phnum; i++, part++)
		if (part->p_type == PT_LOAD)
			memcpy(at_physical(part->p_paddr), elf + part->p_offset, part->p_filesz);
	stub = find_symbol(elf, "native_stub");
	stub_data = find_symbol(elf, "native_stub_data");
	stub_memory = at_physical(stub_data - KERNEL_BASE);
	irqs_on = at_physical(find_symbol(elf, "native_irqs_on") - KERNEL_BASE);
	irq_waits = at_physical(find_symbol(elf, "native_irq_waits") - KERNEL_BASE);
	cpu.rip = find_symbol(elf, "startup_64") - KERNEL_BASE;
	return find_symbol(elf, "gdt_page") - KERNEL_BASE;
}

static void make_boot_params(const char *initramfs, bool high, char **words)
{
	struct boot_params *params = at_physical(0x90000);
	char *line = at_physical(0x91000);
	u64 size, at, *table = at_physical(0x1000);
	u8 *file = map_file(initramfs, &size);
	int n;

	at = (slots[0].size - size - (16 << 20)) & -(2ull << 20);
	memcpy(at_physical(at), file, size);
	params->hdr = (struct setup_header) {
		.boot_flag = 0xaa55, .header = 0x53726448, .version = 0x20f, .type_of_loader = 0xff,
		.loadflags = 1, .cmd_line_ptr = 0x91000, .cmdline_size = 2047,
		.ramdisk_image = at, .ramdisk_size = size,
	};
	n = sprintf(line, "native acpi=off nolapic noapic io_delay=none nohz=off highres=off "
		    "tsc=reliable tsc_early_khz=%d", ioctl(vcpu, KVM_GET_TSC_KHZ, 0));
	for (; *words && n < 2000; words++)
		n += snprintf(line + n, 2047 - n, " %s", *words);
	/* RAM, but for the hole below 1 MiB, then the devices, then RAM again. */
	params->e820_table[0] = (struct boot_e820_entry){ 0, 0x9f000, 1 };
	params->e820_table[1] = (struct boot_e820_entry){ 1 << 20, slots[0].size - (1 << 20), 1 };
	for (n = 1; n < nr_slots; n++)
		params->e820_table[n + 1] = (struct boot_e820_entry){
			slots[n].start, slots[n].size, high && n == nr_slots - 1 ? 1 : 12 };
	params->e820_entries = n + 1;
	/* Page tables: the first 4 GiB, there and at the kernel's base. */
	table[0] = 0x2007;
	table[511] = 0x3007;
	for (u64 i = 0; i < 4; i++)
		table[512 + i] = 0x4007 + (i << 12);
	table[1024 + 510] = 0x4007;
	table[1024 + 511] = 0x5007;
	for (u64 i = 0; i < 2048; i++)
		table[1536 + i] = i << 21 | 0xe7;
}

static void set_registers(u64 gdt)
{
	struct kvm_segment code = { .selector = KERNEL_CS, .limit = ~0u, .type = 11, .present = 1,
				    .s = 1, .l = 1, .g = 1 };
	struct kvm_segment data = { .selector = KERNEL_DS, .limit = ~0u, .type = 3, .present = 1,
				    .s = 1, .db = 1, .g = 1 };
	struct kvm_segment tss = { .selector = TSS, .base = stub_data + STUB_TSS, .limit = 0x67,
				   .type = 11, .present = 1 };
	struct {
		struct kvm_msrs head;
		struct kvm_msr_entry entries[3];
	} msrs = { { .nmsrs = 3 }, {
		{ .index = 0xc0000081, .data = (u64)KERNEL_CS << 32 | 0x23ull << 48 },
		{ .index = 0xc0000082, .data = stub + STUB_SYSCALL },
		{ .index = 0xc0000084, .data = RFLAGS_IF | RFLAGS_TF },
	} };
	struct kvm_sregs *s = &run->s.regs.sregs;

	if (ioctl(vcpu, KVM_GET_SREGS, s))
		err(1, "KVM_GET_SREGS");
	s->cr0 = 0x80050033;
	s->cr3 = 0x1000;
	s->cr4 = 0x406b0;
	s->efer = 0xd01;
	s->cs = code;
	s->ds = s->es = s->fs = s->gs = s->ss = data;
	s->tr = tss;
	s->gdt.base = gdt;
	s->gdt.limit = 0x7f;
	s->idt.base = stub_data + STUB_IDT;
	s->idt.limit = 0xfff;
	if (ioctl(vcpu, KVM_SET_SREGS, s))
		err(1, "KVM_SET_SREGS");
	if (ioctl(vcpu, KVM_SET_MSRS, &msrs) != 3)
		errx(1, "KVM does not take the MSRs: use ACCEL=tcg");
	memset(&run->s.regs.regs, 0, sizeof(run->s.regs.regs));
	REG(rsi) = 0x90000;
	cpu.rsp = 0x8f000;
	run->kvm_valid_regs = KVM_SYNC_X86_REGS | KVM_SYNC_X86_SREGS;
}

int main(int argc, char **argv)
{
	static struct {
		struct kvm_cpuid2 head;
		struct kvm_cpuid_entry2 entries[256];
	} cpuid = { .head.nent = 256 };
	struct kvm_pit_config pit = {};
	u64 gdt, ram, at = FIRST_DEVICE;
	char *path;
	int kvm;

	clock_gettime(CLOCK_MONOTONIC, &started);
	if (argc < 5)
		errx(1, "usage: monitor VMLINUX INITRAMFS RAM_MIB PMEM_GIB[:FILE],... WORD...");
	kvm = open("/dev/kvm", O_RDWR);
	if (kvm < 0)
		errx(1, "/dev/kvm: %s: use ACCEL=tcg", strerror(errno));
	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	if (vm < 0)
		errx(1, "KVM_CREATE_VM: %s: use ACCEL=tcg", strerror(errno));
	if (ioctl(vm, KVM_CREATE_IRQCHIP) || ioctl(vm, KVM_CREATE_PIT2, &pit))
		err(1, "KVM has no PIC or timer");
	ram = strtoull(argv[3], NULL, 10) << 20;
	add_memory(0, ram < LOW_RAM ? ram : LOW_RAM, NULL);
	/* A hole between devices, or the kernel joins them. */
	for (char *size = strtok(argv[4], ","); size; size = strtok(NULL, ",")) {
		if (!atoi(size))
			continue;
		path = strchr(size, ':');
		add_memory(at, atoi(size) * GIB, path ? path + 1 : NULL);
		at += (atoi(size) + 1) * GIB;
	}
	if (ram > LOW_RAM)
		add_memory(at, ram - LOW_RAM, NULL);
	vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	run = mmap(NULL, ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), PROT_READ | PROT_WRITE, MAP_SHARED,
		   vcpu, 0);
	if (vcpu < 0 || run == MAP_FAILED)
		err(1, "KVM_CREATE_VCPU");
	if (ioctl(kvm, KVM_GET_SUPPORTED_CPUID, &cpuid) || ioctl(vcpu, KVM_SET_CPUID2, &cpuid))
		err(1, "KVM_SET_CPUID2");
	gdt = load_kernel(argv[1]);
	make_stub();
	make_boot_params(argv[2], ram > LOW_RAM, argv + 5);
	set_registers(gdt);
	resume();
	run_guest();
}
