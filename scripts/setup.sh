#!/usr/bin/env bash
# Installs what is missing of Debian 12's or Ubuntu 24.04's packages; does nothing when all is there.
#   scripts/setup.sh        what the program and the demo need
#   scripts/setup.sh test   and what the tests, sanitizers and fuzzers need
set -euo pipefail

# "package[|other name] check": a command on the path, or a file; empty asks dpkg.
program_needs() {
  cat <<'LIST'
g++ command:g++
cmake command:cmake
ninja-build command:ninja
pkg-config|pkgconf command:pkg-config
libfmt-dev file:/usr/include/fmt/format.h
nlohmann-json3-dev file:/usr/include/nlohmann/json.hpp
libssl-dev file:/usr/include/openssl/sha.h
libsqlite3-dev file:/usr/include/sqlite3.h
libxxhash-dev file:/usr/include/xxhash.h
libtomlplusplus-dev file:/usr/include/toml++/toml.h
libcli11-dev file:/usr/include/CLI/CLI.hpp
libspdlog-dev file:/usr/include/spdlog/spdlog.h
libseccomp-dev file:/usr/include/seccomp.h
bubblewrap command:bwrap
LIST
}

test_needs() {
  cat <<'LIST'
libgtest-dev file:/usr/include/gtest/gtest.h
clang command:clang++
LIST
}

# clang's OpenMP and sanitizer runtimes come as packages named after its major version.
clang_needs() {
  local version
  version=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -1)
  [ -n "$version" ] || return 0
  echo "libomp-$version-dev file:/usr/lib/llvm-$version/lib/libomp.so"
  echo "libomp5-$version file:/usr/lib/llvm-$version/lib/libarcher.so"
  echo "libclang-rt-$version-dev dpkg"
}

installed() {  # CHECK PACKAGE
  case "$1" in
    command:*) command -v "${1#command:}" >/dev/null 2>&1 ;;
    file:*) [ -e "${1#file:}" ] || compgen -G "/usr/include/*/${1#file:/usr/include/}" >/dev/null ;;
    *) dpkg-query -W -f='${Status}' "$2" 2>/dev/null | grep -q 'ok installed' ;;
  esac
}

missing_of() {  # reads the list, prints the packages that are not there
  local names check
  while read -r names check; do
    installed "$check" "${names%%|*}" || echo "$names"
  done
}

fail() {
  echo "setup: $*" >&2
  exit 3
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null 2>&1; then
    sudo "$@"
  else
    fail "needs root to install packages, and there is no sudo; as root run: apt-get install ${wanted[*]:-}"
  fi
}

install_missing() {  # names on standard input
  local names name log
  mapfile -t names
  [ "${#names[@]}" -gt 0 ] || return 0
  wanted=("${names[@]%%|*}")
  command -v apt-get >/dev/null 2>&1 ||
    fail "this is neither Debian nor Ubuntu; install the counterparts of: ${wanted[*]}"
  log=$(mktemp)
  if [ -z "${updated:-}" ]; then
    as_root apt-get update -qq >"$log" 2>&1 || fail "apt-get update failed: $(tail -3 "$log")"
    updated=yes
  fi
  wanted=()
  for name in "${names[@]}"; do
    if apt-cache show "${name%%|*}" >/dev/null 2>&1; then
      wanted+=("${name%%|*}")
    elif [ "$name" != "${name#*|}" ] && apt-cache show "${name#*|}" >/dev/null 2>&1; then
      wanted+=("${name#*|}")
    else
      fail "no package ${name%%|*} here; Hone needs Debian 12, Ubuntu 24.04 or newer"
    fi
  done
  echo "setup: installing ${wanted[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${wanted[@]}" >"$log" 2>&1 ||
    fail "could not install ${wanted[*]}: $(grep -E '^E:' "$log" || tail -3 "$log")"
  rm -f "$log"
}

what=${1:-program}
program_needs | missing_of | { updated=; install_missing; }
if [ "$what" = test ]; then
  test_needs | missing_of | { updated=; install_missing; }
  clang_needs | missing_of | { updated=; install_missing; }
fi
