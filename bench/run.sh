#!/usr/bin/env bash
# bench/run.sh BUILD [NAME…]: runs the benches one after another and prints one table of figures. Meant for
# a quiet machine; each is a measurement, so a missed target is shown, not an exit code.
set -uo pipefail
build=$1
shift
mapfile -t names < <(if [ $# -gt 0 ]; then printf '%s\n' "$@"; else grep -v '^$' "$build/bench/list.txt"; fi)

echo "machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg), $(date -u +%Y-%m-%d)"
printf '%-64s %-18s %-20s %s\n' figure measured target reached
code=0
for name in "${names[@]}"; do
  echo "running $name" >&2
  if ! "$build/bench/$name" | while IFS='|' read -r figure value target reached; do
      printf '%-64s %-18s %-20s %s\n' "$(echo $figure)" "$(echo $value)" "$(echo $target)" "$(echo $reached)"
    done; then
    echo "bench: $name failed" >&2
    code=1
  fi
done
exit $code
