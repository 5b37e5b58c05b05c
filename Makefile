# Steadfast: build, test, try. Every target installs what it needs where it can.

SHELL := /bin/bash
SCRATCH ?= demo/scratch.bin
RUN ?= demo/run

.PHONY: build demo test check bench clean tools

build: tools
	cargo build --release --locked -p steadfast

# The quick IOPS test on a scratch file with real O_DIRECT I/O, to its report.
demo: build
	@rm -rf demo && mkdir -p demo
	target/release/steadfast run iops --profile quick --target $(SCRATCH) --size 1GiB \
	    --out $(RUN) || test $$? -eq 3
	@rm -f $(SCRATCH)
	@ls -l $(RUN)

test: tools check
	scripts/test

check: tools
	cargo fmt --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

bench: tools
	cargo bench --locked -p steadfast-engine --bench against_fio

clean:
	cargo clean
	rm -rf demo

tools:
	@scripts/tools
