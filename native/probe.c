// SPDX-License-Identifier: GPL-2.0
/*
 * How does KVM run a kernel? Prints the nanoseconds of an instruction at CPL 0, of a loop in
 * real mode: less than one where the CPU runs it, hundreds where KVM interprets it.
 */

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <linux/kvm.h>

#define TURNS 100000

int main(void)
{
	/* MOV ECX, TURNS; DEC ECX; JNZ; HLT */
	static const unsigned char code[] = { 0x66, 0xb9, TURNS & 255, TURNS >> 8 & 255,
					      TURNS >> 16, 0, 0x66, 0x49, 0x75, 0xfc, 0xf4 };
	struct kvm_userspace_memory_region region = { .memory_size = 4096 };
	struct kvm_regs regs = { .rflags = 2 };
	struct kvm_sregs sregs;
	struct timespec from, to;
	struct kvm_run *run;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC), vm, cpu;

	if (kvm < 0)
		err(1, "/dev/kvm");
	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	memcpy(page, code, sizeof(code));
	region.userspace_addr = (unsigned long)page;
	if (vm < 0 || ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region))
		err(1, "KVM makes no machine");
	cpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	run = mmap(NULL, ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), PROT_READ, MAP_SHARED, cpu, 0);
	if (cpu < 0 || run == MAP_FAILED || ioctl(cpu, KVM_GET_SREGS, &sregs))
		err(1, "KVM makes no CPU");
	sregs.cs.base = sregs.cs.selector = 0;
	if (ioctl(cpu, KVM_SET_SREGS, &sregs) || ioctl(cpu, KVM_SET_REGS, &regs))
		err(1, "KVM takes no registers");
	clock_gettime(CLOCK_MONOTONIC, &from);
	if (ioctl(cpu, KVM_RUN, 0) || run->exit_reason != KVM_EXIT_HLT)
		err(1, "KVM does not run a loop");
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%.1f\n", ((to.tv_sec - from.tv_sec) * 1e9 + to.tv_nsec - from.tv_nsec) / 2 / TURNS);
	return 0;
}
