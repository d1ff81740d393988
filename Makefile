# Thin: every target is one command that can be typed by hand. GNU make.
.PHONY: setup build test test-all gpu-test demo bench fuzz format clean help
.DEFAULT_GOAL := help

help:
	@echo "make build      the program: build/release/hone"
	@echo "make demo       optimise a kernel on real data, from a bare machine, in minutes"
	@echo "make test       build and run the tests        make test-all   and the long ones"
	@echo "make bench      print the figures of docs/performance.md"
	@echo "make gpu-test   the tests that need a GPU, one program (build/release/tests/gpu_test)"
	@echo "make fuzz       each fuzzer for FUZZ_SECONDS (60)"
	@echo "make setup      install what is missing        make format, make clean"

setup:
	@scripts/setup.sh test

build:
	@scripts/setup.sh
	@scripts/build.sh release -DHONE_TESTS=OFF -DHONE_BENCH=OFF

test:
	@scripts/setup.sh test
	@scripts/build.sh release -DHONE_TESTS=ON
	@scripts/test.sh build/release

test-all:
	@scripts/setup.sh test
	@scripts/build.sh release -DHONE_TESTS=ON
	@scripts/test.sh build/release --all

gpu-test:
	@scripts/setup.sh test
	@scripts/build.sh release -DHONE_TESTS=ON
	@build/release/tests/gpu_test

demo: build
	@scripts/demo.sh

bench:
	@scripts/setup.sh
	@scripts/build.sh release -DHONE_TESTS=OFF -DHONE_BENCH=ON
	@bench/run.sh build/release

FUZZ_SECONDS ?= 60
fuzz:
	@scripts/setup.sh test
	@scripts/build.sh fuzz -DHONE_TESTS=OFF -DHONE_BENCH=OFF
	@scripts/fuzz.sh build/fuzz $(FUZZ_SECONDS)

format:
	git ls-files '*.h' '*.cc' | xargs clang-format -i

clean:
	rm -rf build
