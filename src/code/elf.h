#pragma once
// A bounded reader of x86-64 ELF shared objects: what executes, what it imports, what it carries.
// It maps nothing and runs nothing; every offset is checked against the file.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hone::code {

struct Elf {
  struct Section {
    std::string name;
    std::uint32_t type = 0;
    std::uint64_t flags = 0, address = 0, offset = 0, size = 0;
    std::uint32_t link = 0;
    std::uint64_t entry_size = 0;
    bool executable() const;
    bool writable() const;  ///< allocated and writable
    bool allocated() const;
  };
  struct Symbol {
    std::string name;
    bool defined = false, function = false, global = false, weak = false, ifunc = false,
         dynamic = false;
    std::uint64_t address = 0, size = 0;
  };
  struct Relocation {
    std::uint64_t offset = 0;
    std::uint32_t type = 0;
    std::int64_t addend = 0;
    std::string import;  ///< name of the undefined symbol it needs, or empty
  };
  std::string_view bytes;  ///< borrowed: must outlive this
  std::vector<Section> sections;
  std::vector<Symbol> symbols;  ///< .dynsym and .symtab
  std::vector<Relocation> relocations;

  const Section* find(std::string_view name) const;
  std::string_view contents(const Section& section) const;  ///< empty for .bss
};

/// At most 1 GiB, 65,000 sections, 4 M symbols and relocations.
Result<Elf> read_elf(std::string_view bytes);

/// Hash of what decides behaviour: executable sections, initialised data, and what each relocation
/// asks for. Without symbol names of its own, build id, comments, unwind and debug sections.
std::string machine_code_hash(const Elf& elf);
/// Names of undefined dynamic symbols, sorted, without versions.
std::vector<std::string> imports(const Elf& elf);

/// Bytes of constants and initialised data: an answer could hide there.
std::uint64_t constant_bytes(const Elf& elf);
/// Bytes that keep state between calls: .data, .bss, thread-local; without relocated constants and
/// the GOT.
std::uint64_t writable_bytes(const Elf& elf);

struct Finding {
  std::string reason;   ///< stable word: clock_import, state, constructor, …
  std::string what;     ///< symbol, section or instruction
  std::string where;    ///< function, address or line; may be empty
  std::string why;      ///< one sentence
  bool banned = false;  ///< the static gate of the cpu lane fails on it; else it is told
};

/// Imports a kernel has no use for, writable sections, constructors and the like.
/// `constants_limit`: constants of that many bytes or more are banned (the size of the smallest
/// timed case's outputs); 0: not checked.
std::vector<Finding> elf_findings(const Elf& elf, std::uint64_t constants_limit = 0);

}  // namespace hone::code
