#!/usr/bin/env bash
# scripts/test.sh BUILD [--all]: runs the tests of BUILD/tests/list.txt, two programs at a time, and ends
# with 'N passed, N failed'. Suites named *LongTest and commands of kind `long` run with --all only.
set -uo pipefail
build=$1
all=${2:-}
logs=$build/test-logs
rm -rf "$logs"
mkdir -p "$logs"

export HONE_TEST_LOGS=$logs HONE_TEST_ALL=$all
run_one() {  # KIND NAME-OR-PROGRAM [COMMAND…]
  kind=$1 name=$(basename "$2") start=$SECONDS
  log=$HONE_TEST_LOGS/$name.log
  limit=420
  if [ -n "$HONE_TEST_ALL" ]; then limit=1800; fi
  case $kind in
    gtest)
      filter=-*LongTest.*
      if [ -n "$HONE_TEST_ALL" ]; then filter=*; fi
      timeout -k 10 "$limit" "$2" --gtest_filter="$filter" --gtest_color=no >"$log" 2>&1 </dev/null
      code=$?
      passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log" | tail -1)
      failed=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*, listed below.*/\1/p' "$log" | tail -1)
      skipped=$(sed -n 's/^\[  SKIPPED \] \([0-9]*\) test.*/\1/p' "$log" | tail -1)
      # A program that died has no closing line: what passed before counts, and the death is one failure.
      if [ -z "$passed" ]; then passed=$(grep -c '^\[       OK \]' "$log"); fi
      if [ "$code" != 0 ] && [ -z "$failed" ]; then failed=1; fi
      ;;
    *)
      shift 2
      if [ "$kind" = long ] && [ -z "$HONE_TEST_ALL" ]; then exit 0; fi
      timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null
      code=$?
      passed=1 failed=0 skipped=0
      if [ "$code" != 0 ]; then passed=0 failed=1; fi
      ;;
  esac
  echo "${passed:-0} ${failed:-0} ${skipped:-0}" >"$HONE_TEST_LOGS/$name.count"
  if [ "$code" = 0 ]; then
    echo "ok    $name: ${passed:-0} passed, $((SECONDS - start)) s"
  else
    why="exit $code"
    if [ "$code" = 124 ] || [ "$code" = 137 ]; then why="ended after $limit s"; fi
    echo "FAIL  $name: ${passed:-0} passed, ${failed:-0} failed ($why), $((SECONDS - start)) s; $log"
    if [ "$kind" = gtest ]; then
      grep -B12 -E '^\[  FAILED  \] .*\(' "$log" | tail -60
      grep -q 'listed below' "$log" || tail -20 "$log"
    else
      tail -30 "$log"
    fi
  fi
}
export -f run_one

# A line has no quoting: paths of the build contain no spaces.
# What crosses all rooms times kernels too: it runs alone, after the others.
grep -v /e2e_test "$build/tests/list.txt" | xargs -P 2 -L 1 bash -c 'run_one "$@"' run_one
grep /e2e_test "$build/tests/list.txt" | xargs -r -L 1 bash -c 'run_one "$@"' run_one
cat "$logs"/*.count 2>/dev/null | awk '
  { passed += $1; failed += $2; skipped += $3 }
  END {
    if (skipped) printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    else printf "%d passed, %d failed\n", passed, failed
    exit (failed > 0 || passed == 0)
  }'
