# SPDX-License-Identifier: GPL-2.0

# An empty BUILD= is the default, here as in harness/core/options.py.
override BUILD := $(or $(BUILD),build)
VARIABLES = BUILD SIZE REBINDS BOOTS RUNS LINUX PEER CONFIG ARCH ACCEL JOBS KERNEL CELL DRYRUN
export $(VARIABLES)
GIVEN := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
UNKNOWN := $(filter-out $(VARIABLES) MAKE% -%,$(GIVEN))
$(if $(UNKNOWN),$(error there is no variable $(UNKNOWN): make help lists them))

# The shell takes the folder from the environment, so that no path is split.
PYTHON = "$$BUILD/venv/bin/python" -B
# For what needs no environment.
SYSTEM_PYTHON = @/usr/bin/python3 -B -m
UNIT_TESTS = $(PYTHON) -m pytest -q -n auto tests/unit
# At its end, a line for each cell, and the time of each that took a second.
MATRIX = $(PYTHON) -m pytest -v -s -rpsfE --no-fold-skipped --durations=0 --durations-min=1
# $(SETUP) WHAT: first make sure of what a target needs; harness/setup.py lists it.
SETUP = sh harness/setup.sh
REPLAYS = replay replay-boot replay-online replay-parallel replay-demotion replay-copy replay-bind
.PHONY: help packages setup tools tools-all requirements source tree kernels initramfs export bench shell config list probes \
	$(REPLAYS) record tables check test test-all review outbox clean
.NOTPARALLEL:

help:
	@echo 'make bench      measure base and series kernel in a VM: table, samples (default VM: three 100 GiB devices)'
	@echo 'make check      all that needs no kernel, in a minute: style, types, shell scripts, host tests'
	@echo 'make test       these, KUnit, the memmap compared, the series booted and checked in the VM: all that CI runs'
	@echo 'make test-all   these and the rest of the matrix: the base in the VM, sanitizers, architectures, arm64 in the VM, documentation'
	@echo 'make list       list the cells of the matrix, those that only make test-all runs apart'
	@echo 'make replay     run the object files of both kernels in user space: compare every byte, and race them natively'
	@echo 'make replay-boot  the same for the memmap of boot: deferred initialisation, with the page allocator behind it'
	@echo 'make replay-online  the same for memory blocks that come online'
	@echo 'make replay-parallel  the same for one device and several threads: compared with base, timed by wall clock'
	@echo 'make replay-demotion  the same for the copy of folios to a lower tier, and what it evicts from the caches'
	@echo 'make replay-copy  memcpy_nt() beside the other ways to copy, 64 bytes to 2 MiB'
	@echo 'make replay-bind  the same for all of a bind and an unbind: page tables, fill, and what is freed'
	@echo 'make record     run every replay, and write results/DATE-CPU/ with table, samples, picture and README.md: ready to commit'
	@echo 'make tables     write the tables of README and docs from results/; those of the patches: make export'
	@echo 'make review     what make test does not look at: each patch built and booted with KUnit, sparse, 7.3.y'
	@echo 'make outbox     write the patches as mails by you (git config user.name), signed off, addressed; nothing sends them'
	@echo 'make shell      a shell in the VM, with the devices of make bench and all programs; Ctrl-D ends it'
	@echo 'make config CELL=name  print the configuration of a test cell'\''s kernel; without CELL=, their names'
	@echo 'make probes     run the small programs behind claims about the CPU: that MOVNTI needs a drain, whether two CPUs are one core'
	@echo 'make export     write series/ anew: patches from the branch `series` in BUILD/source-*/series, tables from results/'
	@echo 'make clean      remove BUILD; refused while its branch `series` has work that was not exported'
	@echo
	@echo 'Single stages, each doing what it needs of those before it:'
	@echo 'make setup      install missing packages and the Python environment'
	@echo 'make tools      the same, and what only make test needs'
	@echo 'make tools-all  the same, and what only make test-all needs'
	@echo 'make requirements  pin the Python packages anew; needs the program uv'
	@echo 'make source     fetch the base kernel'
	@echo 'make tree       apply the series to it, on branch `series`'
	@echo 'make kernels    build both kernels'
	@echo 'make initramfs  build the selftest and the guest'
	@echo
	@echo 'SIZE=100G    size of each device, in GiB'
	@echo 'REBINDS=30   rebinds of each driver in a boot'
	@echo 'BOOTS=n      boots of each kernel (else 2 with KVM, or 1)'
	@echo 'RUNS=5       processes of each race of a replay; the tables show their medians and their range'
	@echo 'LINUX=path   a git clone of the kernel to take the base from (else Debian'\''s source package)'
	@echo 'PEER=name    another proposal for make replay to compare and race: a folder of patches, an mbox, or a commit of LINUX'
	@echo 'CONFIG=debian  the configuration of the kernels of a replay: Debian'\''s own, or default, that of the VM, or another that it has'
	@echo 'ARCH=x86_64  or arm64: what make bench and its stages measure; arm64 is cross-compiled and always emulated'
	@echo 'ACCEL=tcg    or kvm, or native (docs/native.md); if empty, KVM where a probe boot works, else TCG (make bench: native boots where only they work)'
	@echo 'KERNEL=series  or base: the kernel of make shell, and of DRYRUN='
	@echo 'DRYRUN=1     print the QEMU command of make bench or make shell; build and install nothing'
	@echo 'JOBS=n       parallel compilations (else one per processor)'
	@echo 'CELL=table/name  the cell of make config'
	@echo 'BUILD=build  where everything is made'

packages:
	@$(SETUP) bench

setup:
	@$(SETUP) replay

tools:
	@$(SETUP) test

tools-all:
	@$(SETUP) test-all

requirements:
	@cd harness/requirements && for list in build packages; do \
		{ echo '# SPDX-License-Identifier: GPL-2.0' && echo "# Made from $$list.in by make requirements, which needs uv." && \
		uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 \
			--generate-hashes --no-header --no-annotate $$list.in; } >$$list.tmp && mv $$list.tmp $$list.txt || exit 1; \
	done

ifneq ($(DRYRUN),)
$(if $(filter-out bench shell,$(MAKECMDGOALS)),$(error DRYRUN= is for make bench and make shell: leave it out))
bench shell:
	$(SYSTEM_PYTHON) harness.vm.dryrun $@
else
bench: packages
	$(SYSTEM_PYTHON) harness.bench.measure

shell: packages
	$(SYSTEM_PYTHON) harness.vm.shell
endif

source tree: packages
	$(SYSTEM_PYTHON) harness.kernel.$@

kernels: packages
	$(SYSTEM_PYTHON) harness.kernel.images

initramfs: packages
	$(SYSTEM_PYTHON) harness.vm.initramfs

export: packages
	$(SYSTEM_PYTHON) harness.kernel.export
	$(SYSTEM_PYTHON) harness.replay.tables series

$(REPLAYS): setup
	@$(PYTHON) -m harness.replay $(@:replay-%=%)

record tables: setup
	@$(PYTHON) -m harness.replay.$@

review:
	@$(SETUP) review
	@$(MATRIX) tests/patches

outbox:
	@$(SETUP) outbox
	@$(PYTHON) -m review.outbox

probes: setup
	@mkdir -p "$$BUILD/probes"
	@gcc -O2 -Wall -pthread -o "$$BUILD/probes/undrained" probes/undrained.c
	@"$$BUILD/probes/undrained"
	@gcc -O2 -Wall -Wextra -pthread -o "$$BUILD/probes/sharing" probes/sharing.c
	@"$$BUILD/probes/sharing"

check:
	@$(SETUP) check
	@$(UNIT_TESTS)

test: tools
	@$(UNIT_TESTS)
	@$(MATRIX) -m "not full" tests/matrix

test-all: tools-all
	@$(UNIT_TESTS)
	@$(MATRIX) tests/matrix

list:
	$(SYSTEM_PYTHON) tests.list_cells

config: export PYTHONPATH = tests
config:
	$(SYSTEM_PYTHON) cells.configs

clean:
	$(SYSTEM_PYTHON) harness.clean
