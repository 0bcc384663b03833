# The commands that must always work. Each installs what it needs.

SHELL := /bin/bash
TOOLS := target/tools/bin
# The tests' own Ansible goes first, so that they do not depend on the machine's.
export PATH := $(CURDIR)/$(TOOLS):$(PATH)

.PHONY: demo test lint unit lab lab-full bench needs lab-needs build

# All set-up and the main job, on a disposable real host.
demo: lab-needs build
	tests/lab/demo

# All set-up and the fast tiers.
test: needs lint unit

needs:
	tests/setup

lint: needs
	cargo fmt --check
	cargo clippy --all-targets --all-features -- -D warnings
	yamllint --strict playbooks tests src
	ansible-lint --offline playbooks src/ansible/strays

unit: needs
	cargo test --lib --bins --test integration

lab-needs:
	tests/lab/host needs
	tests/lab/host image bookworm

build:
	cargo build

# The main path and a hostile tenant on real hosts, under 25 minutes.
lab: needs lab-needs build
	cargo test --features lab --test lab -- --nocapture --test-threads 1

# With all that is long; the fault matrices take hours, see tests/lab/faults.rs for
# how to run a part of them.
lab-full: needs lab-needs build
	tests/lab/host image trixie
	cargo test --features lab --test lab -- --nocapture --test-threads 1 --include-ignored

# The figures, as ratios of one run.
bench: needs
	cargo build --release
	benches/figures target/release/kloigos
