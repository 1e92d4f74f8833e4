# SPDX-License-Identifier: Apache-2.0
#
# make check   the fast part: format, vet, lint, unit tests, -race, fuzz seeds
# make test    everything; the tests that need KVM run inside the nested lab, on
#              each of its hosts, and here too where there is /dev/kvm
# make test-all  everything in test, and 5 minutes of torture
# make torture   the torture of gpc's guards; TORTURE=1h for longer
# make guest   build the embedded guests again from source
# make bench   vmm bench, all of it (under 10 minutes on 2 CPUs), into docs/bench;
#              BENCH_FLAGS='--duration 100ms --rounds 1 --repeat 2' for a taste

GO    ?= go
TOOL  := $(GO) tool -modfile=tools/go.mod
BIN   := bin

# Tests that need KVM are named TestKVM..., and run where KVM is.
KVM_RUN      := ^TestKVM
KVM_PACKAGES := $(addprefix ./,$(sort $(dir $(shell git grep -l '^func TestKVM' -- '*_test.go'))))
KVM_HERE     ?= $(shell test -w /dev/kvm && echo yes)

.PHONY: all build check fmt vet lint quick unit race torture test-all guest test kvm kvm-race lab nested linux grub bench packages clean

all: build

build:
	CGO_ENABLED=0 $(GO) build -o $(BIN)/vmm ./cmd/vmm

check: fmt vet lint quick race

fmt:
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "not formatted (run gofmt -w):"; echo "$$out"; exit 1; }

vet:
	$(GO) vet ./...

lint:
	$(TOOL) staticcheck ./...

# Fuzz targets run their seeds here as ordinary tests. -short leaves out what
# compiles mutants or tortures for long; make test has it. Tests that need KVM
# are make kvm's and make nested's.
quick:
	$(GO) test -short -skip '$(KVM_RUN)' ./...
unit:
	$(GO) test -skip '$(KVM_RUN)' ./...

# The packages in which threads meet. The race detector does not see guest
# memory: the torture tests with unmapped pages do that part.
race:
	$(GO) test -race -short -skip '$(KVM_RUN)' ./gpc/... ./vmm/... ./xenshim/...

# Readers that are interrupted, stopped and descheduled in the middle of their
# sections, against memory that is really taken away: docs/testing.md. All times
# together are TORTURE. A child takes at most 90 s longer than it should.
TORTURE ?= 20s
torture:
	XENVMM_TORTURE=$(TORTURE) $(GO) test -count=1 -timeout 0 -v -run '^TestTortureUnderStalls$$' ./gpc

guest:
	$(GO) generate ./guest

# Debian packages that make test needs; installed if this is root on Debian.
PACKAGES := qemu-system-x86 grub-xen-bin grub-common acpica-tools
packages:
	@missing=""; for p in $(PACKAGES); do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
	test -z "$$missing" && exit 0; \
	if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
	  echo "installing$$missing"; apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	else echo "make test needs the Debian packages$$missing: install them, or run as root"; exit 1; fi

# GRUB for Xen PVH as one file: a guest that nobody here wrote.
grub: tests/e2e/testdata/grub.elf
tests/e2e/testdata/grub.elf: tests/e2e/testdata/grub.cfg | packages
	grub-mkstandalone -O i386-xen_pvh --locales= --fonts= --themes= -o $@ "boot/grub/grub.cfg=$<"

$(BIN)/labexec: $(shell git ls-files 'tests/lab/*.go' 'vmm/boot/*.go')
	CGO_ENABLED=0 $(GO) build -o $@ ./tests/lab/labexec

lab: packages $(BIN)/labexec
	XENVMM_LAB=1 $(GO) test ./tests/lab/...

# Each test that needs KVM on every host the lab has: docs/testing.md.
# NESTED_HOSTS=debian-6.1,... for some of them.
NESTED_HOSTS ?=
nested: packages grub
	XENVMM_LAB=1 XENVMM_NESTED_HOSTS=$(NESTED_HOSTS) $(GO) test -v -count=1 -timeout 60m ./tests/nested

# Distribution kernels as guests, on lab hosts with and without Xen support in
# KVM: a few combinations, or all of them with XENVMM_LINUX_ALL=1.
linux: packages
	XENVMM_LAB=1 $(GO) test -v -count=1 -timeout 90m ./tests/linux

ifeq ($(KVM_HERE),yes)
kvm: grub
	XENVMM_REQUIRE_KVM=1 $(GO) test -v -count=1 -timeout 20m -run '$(KVM_RUN)' $(KVM_PACKAGES)

# The main job once more with the race detector watching.
kvm-race:
	$(GO) test -race -v -count=1 -timeout 20m -run '^TestKVMStorm' ./tests/e2e
else
kvm:
	@echo "skipped: the tests that need KVM on this host, which has no usable /dev/kvm; those inside the lab are not (make nested)"

kvm-race: packages $(BIN)/labexec
	$(GO) test -race -v -count=1 -timeout 20m -run '^TestKVMStorm' -exec "$(CURDIR)/$(BIN)/labexec --env XENVMM_REQUIRE_KVM=1 --" ./tests/e2e
endif

# Everything.
test: fmt vet lint unit race torture packages lab nested linux kvm kvm-race

test-all: export XENVMM_LINUX_ALL := 1
test-all: test
	$(MAKE) torture TORTURE=5m

# Text, JSON and plots of every benchmark, by names that stay. Nothing else
# should run on the machine meanwhile. Where KVM is, a guest takes part.
BENCH_DIR   ?= docs/bench
BENCH_FLAGS ?= --duration 2500ms
ifeq ($(KVM_HERE),yes)
BENCH_KVM   := --kvm
endif
bench: build
	$(BIN)/vmm bench all $(BENCH_KVM) $(BENCH_FLAGS) --save $(BENCH_DIR)

clean:
	rm -rf $(BIN) tests/e2e/testdata/grub.elf
