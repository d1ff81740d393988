#!/usr/bin/env bash
# scripts/fuzz.sh BUILD SECONDS: runs each fuzzer of BUILD/fuzz on its corpus (tests/fuzz/NAME, where there
# is one) for SECONDS. Finds stay in BUILD/fuzz/NAME.finds. Ends with 'N passed, N failed'.
set -uo pipefail
build=$1
seconds=$2
passed=0
failed=0
for fuzzer in "$build"/fuzz/*_fuzz; do
  [ -x "$fuzzer" ] || continue
  name=$(basename "$fuzzer")
  finds=$fuzzer.finds
  corpus=$fuzzer.corpus
  mkdir -p "$finds" "$corpus"
  seeds=()
  if [ -d "tests/fuzz/${name%_fuzz}" ]; then seeds=("tests/fuzz/${name%_fuzz}"); fi
  if "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$finds/" \
      -print_final_stats=1 "$corpus" "${seeds[@]}" >"$fuzzer.log" 2>&1 </dev/null; then
    echo "ok    $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$fuzzer.log") inputs"
    passed=$((passed + 1))
  else
    echo "FAIL  $name: the input lies in $finds"
    grep -E 'ERROR|SUMMARY|runtime error' "$fuzzer.log" | head -5
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
