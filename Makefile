# Steadfast: build, test, try. Every target installs what it needs where it can.

SHELL := /bin/bash
SCRATCH ?= demo/scratch.bin
RUN ?= demo/run
BUILT = $(or $(CARGO_TARGET_DIR),target)/debug
OPTIMISED = $(or $(CARGO_TARGET_DIR),target)/release
# Captures through BPF programs; without them a capture uses tracefs alone.
FEATURES ?= steadfast/ebpf

.PHONY: build demo ui test check clippy bench fleet lab arm64 dist dist-test image docs readme clean tools fire fuzz night

build: tools
	cargo build --release --locked -p steadfast --features $(FEATURES)

# Three reports: a scratch file, what the kernel saw of that load, and a simulated drive.
demo: build
	@rm -rf demo
	@scripts/demo $(OPTIMISED)/steadfast $(SCRATCH) $(RUN)

# The script of report pages and the explorer's page, made of ui/. What comes of it is kept in the
# crates, so that nothing else needs Node.js; tests tell when it is older than its sources.
ui:
	@scripts/tools ui
	cd ui && npm ci && npm test && npm run build
	cp ui/dist/report.js crates/report/src/report.js
	mkdir -p crates/explorer/assets
	cp ui/explorer/dist/{index.html,explorer.js,explorer.css} crates/explorer/assets/

test: tools
	cargo fmt --check
	FEATURES=$(FEATURES) scripts/test

check: tools
	cargo fmt --check
	@$(MAKE) --no-print-directory clippy

# The second and third build are those that docs/explorer.md and docs/packages.md name: without the
# explorer, and without eBPF. All have the same targets, so that other projects' libraries are checked
# once: without the tests they would have other features.
clippy:
	cargo clippy --locked --workspace --all-targets --features $(FEATURES) -- -D warnings
	cargo clippy --locked --workspace --all-targets --no-default-features --features $(FEATURES) \
	    -- -D warnings
	cargo clippy --locked --workspace --all-targets -- -D warnings

# Last, what a capture costs beside blktrace, in a guest (docs/lab.md) where one
# can be had: status 77 says that none can.
bench: tools
	@scripts/tools bench || true
	T_IO_URING=$$(scripts/t-io-uring) || [ $$? -eq 77 ]; export T_IO_URING; \
	    cargo bench --locked -p steadfast-engine --bench against_fio
	cargo bench --locked -p steadfast-engine --bench service
	cargo bench --locked -p steadfast-engine --bench replay
	cargo bench --locked -p steadfast --bench time_between_steps
	cargo bench --locked -p steadfast-analysis --bench streams
	cargo bench --locked -p steadfast-analysis --bench import
	cargo bench --locked -p steadfast-explorer --bench explore -- 10 100
	cargo bench --locked -p steadfast-capture --features ebpf --bench cost
	scripts/fleet --if-there --speed --ios 50021
	@scripts/tools lab || true
	cargo build --release --locked -p steadfast -p steadfast-lab --features $(FEATURES)
	$(OPTIMISED)/steadfast-lab --program $(OPTIMISED)/steadfast --directory target/lab cost || \
	    { test $$? -eq 77 && echo "beside blktrace: skipped: no guest (reason above)"; }

# Fuzzes every parser of untrusted files, TIME seconds each (docs/fire.md).
fuzz: tools
	TIME=$(or $(TIME),60) SEED=$(or $(SEED),1) scripts/fuzz

# Scenarios of the fault simulator, and every system call of the commands in
# tests/cli/failing_calls.rs fails once (docs/fire.md): an hour. FIRST=7 plays other seeds, TIME=600
# ends each kind of scenario after as many seconds, CALLS=20 fails so many calls of each command.
SEEDS ?= 20000
fire: tools
	FIRST=$(FIRST) SEEDS=$(SEEDS) TIME=$(TIME) \
	    cargo test --locked --workspace --features $(FEATURES) --bin steadfast-vopr
	FIRST=$(FIRST) FIRE=$(or $(CALLS),all) \
	    cargo test --locked --workspace --features $(FEATURES) --test cli -- failing_calls

# What a machine does every night: fire, fuzz and lab with seeds of the date.
night:
	@scripts/night

# The Spark package on a cluster of processes (docs/fleet.md).
fleet: tools
	FEATURES=$(FEATURES) scripts/fleet

# The program in guests under QEMU, against real NVMe, SCSI and ATA command sets
# (docs/lab.md). LAB="unplug medium" visits only these guests. Where no guest can
# be had the lab says why, and ends with status 77.
lab: tools
	@scripts/tools lab
	cargo build --locked --workspace --bins --examples --features $(FEATURES)
	$(BUILT)/steadfast-lab --program $(BUILT)/steadfast --directory target/lab $(LAB)

# The program built for arm64 and run under emulation, compared with this machine's (docs/lab.md). Where
# that cannot be had it says why, and ends with status 77. PROGRAM=FILE compares with a built program.
arm64: tools
	@FEATURES=$(FEATURES) PROGRAM=$(PROGRAM) scripts/arm64

# Packages in target/dist: .deb, tar.xz, bill of materials, checksums. TWICE=--twice builds twice and
# compares.
dist: tools
	@scripts/dist $(TWICE)

# The package installed, used and removed in a clean Debian. Downloads about 60 MB.
dist-test:
	@scripts/dist-test

# A container image of the package, for captures and the explorer (docs/container.md).
image: dist
	@scripts/image

# The documentation as linked pages with a search, in target/book. Builds mdBook into target/ once.
docs:
	@scripts/docs

# Records the sample output in README.md again.
readme: build
	@scripts/readme $(OPTIMISED)/steadfast

clean:
	cargo clean
	rm -rf demo

tools:
	@scripts/tools
