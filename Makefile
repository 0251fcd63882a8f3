# SPDX-License-Identifier: GPL-2.0

# An empty BUILD= is the default, here as in harness/core/options.py.
override BUILD := $(or $(BUILD),build)
VARIABLES = BUILD SIZE REBINDS RUNS LINUX PEER CONFIG FROM ARCH ACCEL JOBS KERNEL
# Who builds kernels may have these in the environment, for something else.
$(foreach name,ARCH CONFIG JOBS KERNEL,$(if $(filter environment,$(origin $(name))),$(eval $(name) :=)))
export $(VARIABLES)
GIVEN := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
UNKNOWN := $(filter-out $(VARIABLES) MAKE% -%,$(GIVEN))
$(if $(UNKNOWN),$(error there is no variable $(UNKNOWN): make help lists them))
# What each target reads of them; all read BUILD.
TREE = LINUX JOBS
$(foreach target,tree export outbox,$(eval READ_$(target) = $(TREE)))
$(foreach target,review test test-all,$(eval READ_$(target) = $(TREE) ACCEL SIZE))
$(foreach target,setup tools tools-all,$(eval READ_$(target) = ARCH))
READ_first = $(TREE) CONFIG
READ_bench = $(TREE) CONFIG SIZE REBINDS ARCH ACCEL
READ_shell = $(TREE) SIZE ARCH ACCEL KERNEL
READ_memmap = $(TREE) RUNS CONFIG PEER
READ_copy = $(TREE) RUNS CONFIG
READ_record = $(TREE) RUNS CONFIG FROM
READ := BUILD MAKE% -% $(foreach target,$(MAKECMDGOALS),$(READ_$(target)))
$(if $(filter-out $(READ),$(GIVEN)),$(error make $(MAKECMDGOALS) has no $(filter-out $(READ),$(GIVEN))=: leave it out))

# The shell takes the folder from the environment, so that no path is split.
PYTHON = "$$BUILD/venv/bin/python" -B
# For what needs no environment.
SYSTEM_PYTHON = @/usr/bin/python3 -B -m
UNIT_TESTS = $(PYTHON) -m pytest -q -n auto tests/unit
# At its end, a line for each cell, and the time of each that took a second.
MATRIX = $(PYTHON) -m pytest -v -s -rpsfE --no-fold-skipped --durations=0 --durations-min=1
# $(SETUP) WHAT: first make sure of what a target needs; harness/setup.py lists it.
SETUP = sh harness/setup.sh
RACES = memmap copy
.PHONY: help first setup tools tools-all requirements tree export bench shell list probes $(RACES) \
	record tables check test test-all review outbox clean
.NOTPARALLEL:

help:
	@echo 'make bench      seconds per TiB on this CPU, in minutes; then boot the series in a VM with three 100 GiB devices, by KVM the base, too'
	@echo 'make check      all that needs no kernel, in a minute: style, types, shell scripts, host tests'
	@echo 'make test       these, KUnit, the memmap compared, the series booted and checked in the VM: all that CI runs'
	@echo 'make test-all   these and the rest of the matrix: the base in the VM, sanitizers, architectures, arm64 in the VM, documentation'
	@echo 'make list       list the cells of the matrix, and which of them make test runs'
	@echo 'make memmap     run the objects of both kernels here: compare every byte, and race binds, onlining, boot by size'
	@echo 'make copy       the same for memcpy_nt() beside other copies, and for folios that are demoted'
	@echo 'make record     both, into results/DATE-CPU/ with tables, samples and README.md: ready to commit'
	@echo 'make tables     write the tables of README and docs from results/; those of the patches: make export'
	@echo 'make review     what make test does not look at: each patch built and booted with KUnit, W=1, sparse'
	@echo 'make outbox     write the patches as mails by you (git config user.name), signed off, addressed; nothing sends them'
	@echo 'make shell      a shell in the VM, with the devices of make bench and all programs; Ctrl-D ends it'
	@echo 'make probes     run the small program behind a claim about the CPU: that MOVNTI needs a drain'
	@echo 'make export     write series/ anew: patches from the branch `series` in BUILD/source-*/series, tables from results/'
	@echo 'make clean      remove BUILD; refused while its branch `series` has work that was not exported'
	@echo
	@echo 'Single stages, each doing what it needs of those before it:'
	@echo 'make setup      install what make bench needs'
	@echo 'make tools      install what make test needs, and the Python environment'
	@echo 'make tools-all  the same, and what only make test-all needs'
	@echo 'make requirements  pin the Python packages anew; needs the program uv'
	@echo 'make tree       fetch the base kernel, and apply the series on branch `series`'
	@echo 'make first      the first table of make bench'
	@echo
	@echo 'SIZE=100G    size of each device, in GiB'
	@echo 'REBINDS=30   rebinds of each driver in a boot'
	@echo 'RUNS=5       processes of each race; the tables show their medians and their range'
	@echo 'LINUX=path   a git clone of the kernel to take the base from (else Debian'\''s source package)'
	@echo 'PEER=name    another proposal to compare and race: a folder of patches, an mbox, or a commit of LINUX'
	@echo 'CONFIG=debian  the configuration of the objects: Debian'\''s own, or default, that of the VM, or another that they have'
	@echo 'FROM=file    for make record: what the program memmap wrote on another machine'
	@echo 'ARCH=x86_64  or arm64: what make bench and its stages measure; arm64 is cross-compiled and always emulated'
	@echo 'ACCEL=tcg    or kvm; if empty, KVM where a probe boot works, else TCG'
	@echo 'KERNEL=series  or base: the kernel of make shell'
	@echo 'JOBS=n       parallel compilations (else one per processor)'
	@echo 'BUILD=build  where everything is made'

setup:
	@$(SETUP) bench

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

bench: $(if $(filter arm64,$(ARCH)),,first)
	@$(SETUP) bench
	$(SYSTEM_PYTHON) harness.bench.measure

shell:
	@$(SETUP) bench
	$(SYSTEM_PYTHON) harness.vm.shell

first:
	@$(SETUP) objects
	$(SYSTEM_PYTHON) harness.link.first

tree:
	@$(SETUP) objects
	$(SYSTEM_PYTHON) harness.kernel.tree

export:
	@$(SETUP) objects
	$(SYSTEM_PYTHON) review.mails

$(RACES):
	@$(SETUP) objects
	$(SYSTEM_PYTHON) harness.link.race $@

record:
	@$(SETUP) objects
	$(SYSTEM_PYTHON) harness.link.record

tables:
	@$(SETUP) tables
	@$(PYTHON) -m report.tables

review:
	@$(SETUP) review
	@$(MATRIX) tests/patches

outbox:
	@$(SETUP) outbox
	@$(PYTHON) -m review.outbox

probes:
	@$(SETUP) objects
	@mkdir -p "$$BUILD/probes"
	@gcc -O2 -Wall -pthread -o "$$BUILD/probes/undrained" probes/undrained.c
	@"$$BUILD/probes/undrained"

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
	@$(SETUP) list
	$(SYSTEM_PYTHON) harness.cells.listing

clean:
	@$(SETUP) clean
	$(SYSTEM_PYTHON) harness.clean
