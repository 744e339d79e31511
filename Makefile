# SPDX-License-Identifier: GPL-2.0
# The front door: each target calls one script. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := all
MAKEFLAGS += --no-print-directory
# By the environment alone: KVM= and V= of the command line are other variables in kbuild
MAKEOVERRIDES =

override BUILD := $(or $(BUILD),$(CURDIR)/build)
given := CACHE PIN QUEUE KDIR GROUP JOB FRESH FORCE DISCARD SET V RFC SIGNOFF OUT LINUX_TARBALL LINUX_SHA256 JOBS KVM \
	SHORT FILE DEBIAN_MIRROR INSTALL LLVM HOSTCC KBUILD_BUILD_TIMESTAMP
ifneq ($(origin CC),default)
given += CC
endif
export BUILD
# An empty value means not given
$(foreach v,$(given),$(if $($(v)),$(eval export $(v)),$(eval unexport $(v))))

stage = tools/stage.sh
# First in each recipe that takes words: a wrong one ends it before anything is installed or built
usage = command -v python3 >/dev/null || exit 0; tools/run tools.usage

.PHONY: all help preflight tools base apply unapply status kernel kselftests boot shell \
	refresh rebase-report lint check model model-tables identity test test-full test-bare \
	bench results-add time time-compare docs export branch dist mail ktap clean distclean

all: ## Tools, base, push the series (GROUP=: one group), build with every option on, boot once
	@$(usage) all
	@$(stage) start make
	@$(stage) run preflight tools/preflight.sh
	@$(stage) run tools tools/install.sh
	@$(stage) run base tools/tree/base.sh
	@$(stage) run apply tools/run tools.tree.apply apply
	+@$(stage) run kernel tools/kernel.sh vm
	@$(stage) run boot tools/run tools.vm.boots --when make
	@$(stage) finish

help: ## This page
	@$(usage) help
	@tools/help.sh

preflight:
	@$(usage) preflight
	@tools/preflight.sh
tools: preflight ## Install what is missing: packages, pinned Python tools (INSTALL=0: only say it)
	@tools/install.sh
base: tools ## Find, verify, cache and unpack the base kernel (LINUX_TARBALL=file, KDIR=tree)
	@tools/tree/base.sh
apply: ## Push the series onto KDIR= (default build/linux); GROUP="name ..."; FORCE=1: any version
	@[ -n "$(KDIR)" ] || $(MAKE) base
	@tools/run tools.tree.apply apply
unapply: ## Take it off again; edits that are in no patch are kept (DISCARD=1 throws them away)
	@tools/run tools.tree.apply unapply
status: ## What KDIR= has: version, groups, edits, options (CONFIG=file, default KDIR/.config), switches
	@$(usage) status
	@tools/run tools.tree.status
kernel: apply ## Build the kernel for the virtual machine, every option on
	+@tools/kernel.sh vm
kselftests: ## Build and install the series' kselftests; KDIR=patched-tree [OUT=dir]: without a kernel
	@[ -n "$(KDIR)" ] || $(MAKE) apply
	+@tools/kselftests.sh
ktap: ## The last results of make test (GROUP=) as one KTAP stream
	@tools/run tools.ktap
boot: kernel ## Boot it once in QEMU and run its KUnit tests (KVM=1 to use KVM)
	@tools/run tools.vm.boots --when make
shell: kernel ## An interactive virtual machine on this kernel (virtme-ng; Ctrl-D ends it)
	@tools/shell.sh
refresh: ## After a change in a patch: bring the later ones to quilt's form, mark README's older figures
	@tools/run tools.tree.refresh
	@tools/run tools.figures pages
rebase-report: ## How the patches go onto another version's tree, KDIR=tree: apply, offset, fuzz, merge, fail
	@$(usage) rebase-report
	@KDIR= $(MAKE) KDIR= base
	@tools/run tools.tree.rebase
lint: base ## The fast checks of patches and scripts, no kernel build
	@tools/lint.sh
check: kernel ## All checks of the series: applies everywhere, each step builds without new warnings
	@tools/run pytest --part=check -m "not full" tools/checks
model: ## Count cache misses: ARGS="ring ..." (ARGS=--help)
	@$(usage) model $(ARGS)
ifeq ($(filter --help,$(ARGS)),)
	+@$(MAKE) $(if $(filter --kernel%,$(ARGS)),tools,kernel)
	+@tools/run --lock=model tools.model --build $(ARGS)
endif
model-tables: ## Count the published table of GROUP= again, on the kernels built for it
	@$(usage) model-tables
	@$(MAKE) GROUP= apply
	+@GROUP= tools/run --lock=model tools.model.published "$(GROUP)"
identity: apply ## With every option off, the gated patches change no instruction (FRESH=1)
	+@tools/run tools.identity.identity
test: ## All checks, or those of GROUP=; ends with the numbers passed, failed, skipped
	@$(usage) test
	+@tools/test.sh
test-full: ## make test plus the slow jobs (make help JOB=list), or JOB=name alone; resumes where it stopped
	@$(usage) test-full
	+@tools/test.sh $(if $(JOB),job,full)
test-bare: ## make and make test in a bare Debian root, nothing cached (as root)
	@tools/bare.sh run
bench: ## Time copies and walks in user space on an idle machine (GROUP= ROUNDS= SHORT=1: into a file)
	@$(usage) bench
	@$(MAKE) GROUP= apply
	@tools/bench.sh
results-add: ## Take FILE=, of make bench SHORT=1 on another machine, into the published tables
	@$(usage) results-add
	@$(MAKE) tools
	@tools/run tools.figures.bench --add "$(FILE)"
	@tools/run tools.figures pages
time: ## Time programs on the kernel that runs, patched or not (GROUP= ROUNDS= DIR=directory on a disk)
	@$(usage) time
	@tools/run tools.time
time-compare: ## Compare two files of make time: A= B=
	@$(usage) time-compare
	@tools/run tools.time --compare "$(A)" "$(B)"
docs: apply ## These pages as HTML in build/docs, the kernel's own in build/kernel-docs
	@tools/docs.sh
export: ## Copy the patches into another queue and its series: DIR=/tree/debian/patches/NAME [GROUP=]
	@tools/run tools.send.git export "$(DIR)"
dist: ## A tarball of the series for quilt alone, with its SHA-256, in build/dist
	@tools/send/dist.sh
mail: ## The mails of a set, nothing is sent: SET=name [KDIR=git-tree V=2 RFC=1 SIGNOFF=1 OUT=dir]
	@$(usage) mail
	@[ -n "$(KDIR)" ] || $(MAKE) GROUP= apply
	@tools/run tools.send.mail
branch: ## The series as commits on a new branch of the git tree KDIR= [GROUP=]
	@tools/run tools.send.git branch
clean: ## Remove builds and results; the kernel tree and its edits stay
	@tools/clean.sh
distclean: ## Remove build/ whole; refuses while the tree has edits that are in no patch (DISCARD=1)
	@tools/clean.sh all
