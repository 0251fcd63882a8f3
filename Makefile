# SPDX-License-Identifier: GPL-2.0

BUILD ?= build
export BUILD SIZE REBINDS BOOTS LINUX ACCEL JOBS

PYTHON = $(BUILD)/venv/bin/python -B
STAGES = source tree kernels initramfs samples export

.PHONY: help setup tools bench replay probes test report clean $(STAGES)
.NOTPARALLEL:

help:
	@echo 'make bench      measure base and series kernel in a VM: table, plot, samples (default VM: two 100 GiB devices)'
	@echo 'make test       host tests, then both kernels built, booted and checked in the VM'
	@echo 'make replay     run the object files of both kernels in user space: compare every byte, and race them natively'
	@echo 'make probes     run the two small programs behind claims about the CPU'
	@echo 'make report     show the last measurement again'
	@echo 'make export     write series/ anew from the branch `series` in $(BUILD)/source-*/series'
	@echo 'make clean      remove $(BUILD), work in it that was not exported included'
	@echo
	@echo 'Single stages, each doing what it needs of those before it:'
	@echo 'make setup      install missing packages and the Python environment'
	@echo 'make tools      the same, and the compilers that only make test needs'
	@echo 'make source     fetch the base kernel'
	@echo 'make tree       apply the series to it, on branch `series`'
	@echo 'make kernels    build both kernels'
	@echo 'make initramfs  build the selftest and the guest'
	@echo 'make samples    measure, without table and plot'
	@echo
	@echo 'SIZE=100G    size of each of the two devices, in GiB'
	@echo 'REBINDS=30   rebinds of each driver in a boot'
	@echo 'BOOTS=2      boots of each kernel'
	@echo 'LINUX=path   a git clone of the kernel to take the base from (else Debian'\''s source package)'
	@echo 'ACCEL=tcg    tcg or kvm (else KVM if a probe boot works, or TCG)'
	@echo 'JOBS=n       parallel compilations (else one per processor)'
	@echo 'BUILD=build  where everything is made'

setup:
	@sh harness/setup.sh $(BUILD)

tools:
	@sh harness/setup.sh $(BUILD) clang-19 lld-19 llvm-19 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user codespell

bench replay $(STAGES): setup
	@$(PYTHON) -m harness.$@

report: setup
	@$(PYTHON) -m harness.report
	@$(PYTHON) -m harness.plot

probes: setup
	@mkdir -p $(BUILD)/probes
	@for probe in undrained touched; do \
		gcc -O2 -Wall -pthread -o $(BUILD)/probes/$$probe probes/$$probe.c && $(BUILD)/probes/$$probe || exit 1; \
	done

test: tools
	@$(PYTHON) -m pytest -v -s -p no:cacheprovider tests

clean:
	rm -rf $(BUILD)
