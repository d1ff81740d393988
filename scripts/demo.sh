#!/usr/bin/env bash
# What `make demo` shows: a kernel on real data, optimised and proved in about a minute.
set -uo pipefail
cd "$(dirname "$0")/.."
hone=build/release/hone
task=examples/nearest_neighbours
echo
echo "The nearest other image of each of 1,797 handwritten digits (UCI), with two threads at most."
echo "  task       $task/task.toml"
echo "  reference  $task/reference.cpp"
echo "  candidate  $task/candidates/tiled.cpp"
command="$hone optimize $task $task/candidates/tiled.cpp --budget ${HONE_DEMO_BUDGET:-45s}"
echo "\$ $command"
echo
$command
code=$?
echo
if [ $code -gt 1 ]; then
  echo "demo: hone ended with $code; \`$hone doctor\` says what this machine lacks" >&2
  exit $code
fi
echo "The same for a kernel of yours:"
echo "  $hone init my_kernel.cpp        a task and a reference from a function's signature"
echo "  $hone optimize my_kernel        a faster one, with the proof that it is right"
exit $code
