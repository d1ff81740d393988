#!/usr/bin/env bash
# scripts/build.sh PRESET [-DOPTION=VALUE…]: configures build/PRESET and builds it; prints the log on failure only.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
start=$SECONDS
mkdir -p build
log=build/$preset-build.log
if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
  grep -A6 -E 'CMake (Error|Warning)' "$log" >&2 || tail -20 "$log" >&2
  echo "build: configuring build/$preset failed; the whole log is $log" >&2
  exit 3
fi
if [ -t 1 ]; then
  ninja -C "build/$preset" || exit 1
elif ! ninja -C "build/$preset" >"$log" 2>&1; then
  grep -E 'error|FAILED|undefined' -A4 "$log" | head -60 >&2 || tail -40 "$log" >&2
  echo "build: build/$preset failed; the whole log is $log" >&2
  exit 1
fi
echo "build: build/$preset is ready ($((SECONDS - start)) s)"
