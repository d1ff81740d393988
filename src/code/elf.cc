#include "code/elf.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/hash.h"
#include "base/text.h"

namespace hone::code {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;
constexpr std::size_t kMaxSections = 65'000;
constexpr std::size_t kMaxEntries = 4'000'000;
constexpr std::size_t kMaxName = 4096;

Error bad(std::string what) {
  return usage_error(fmt::format("not an x86-64 shared object that can be read: {}", what));
}

/// The T at `offset`, copied because nothing promises alignment.
template <typename T>
bool load(std::string_view bytes, std::uint64_t offset, T& out) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(&out, bytes.data() + offset, sizeof(T));
  return true;
}

std::string name_at(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return "";
  const std::string_view rest = table.substr(offset, kMaxName);
  return std::string(rest.substr(0, rest.find('\0')));
}

std::string_view part(std::string_view bytes, const Elf::Section& section) {
  if (section.type == SHT_NOBITS || section.offset > bytes.size() ||
      bytes.size() - section.offset < section.size)
    return {};
  return bytes.substr(section.offset, section.size);
}

Status read_sections(const Elf64_Ehdr& header, Elf& elf) {
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return bad("section headers of another size");
  if (header.e_shnum == 0 || header.e_shnum > kMaxSections)
    return bad(fmt::format("{} sections", header.e_shnum));
  std::vector<std::uint32_t> names;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr raw;
    if (!load(elf.bytes, header.e_shoff + i * sizeof(raw), raw) ||
        header.e_shoff > elf.bytes.size()) {
      return bad("section headers lie outside the file");
    }
    Elf::Section section;
    section.type = raw.sh_type;
    section.flags = raw.sh_flags;
    section.address = raw.sh_addr;
    section.offset = raw.sh_offset;
    section.size = raw.sh_size;
    section.link = raw.sh_link;
    section.entry_size = raw.sh_entsize;
    if (section.type != SHT_NOBITS && section.type != SHT_NULL && section.size > 0 &&
        part(elf.bytes, section).empty()) {
      return bad(fmt::format("section {} lies outside the file", i));
    }
    elf.sections.push_back(std::move(section));
    names.push_back(raw.sh_name);
  }
  if (header.e_shstrndx >= elf.sections.size()) return bad("no section names");
  const std::string_view table = part(elf.bytes, elf.sections[header.e_shstrndx]);
  for (std::size_t i = 0; i < names.size(); ++i) elf.sections[i].name = name_at(table, names[i]);
  return {};
}

/// Symbols of one table, in the table's order, so that relocations can index them.
Result<std::vector<Elf::Symbol>> read_symbols(const Elf& elf, const Elf::Section& section) {
  if (section.link >= elf.sections.size()) return bad(fmt::format("{} has no names", section.name));
  const std::string_view table = part(elf.bytes, elf.sections[section.link]);
  const std::string_view data = part(elf.bytes, section);
  const std::size_t count = data.size() / sizeof(Elf64_Sym);
  if (count > kMaxEntries) return bad(fmt::format("{} symbols", count));
  std::vector<Elf::Symbol> symbols;
  for (std::size_t i = 0; i < count; ++i) {
    Elf64_Sym raw;
    if (!load(data, i * sizeof(raw), raw)) break;
    Elf::Symbol symbol;
    symbol.name = name_at(table, raw.st_name);
    symbol.defined = raw.st_shndx != SHN_UNDEF;
    const int type = ELF64_ST_TYPE(raw.st_info), bind = ELF64_ST_BIND(raw.st_info);
    symbol.function = type == STT_FUNC || type == STT_GNU_IFUNC;
    symbol.ifunc = type == STT_GNU_IFUNC;
    symbol.global = bind == STB_GLOBAL || bind == STB_GNU_UNIQUE;
    symbol.weak = bind == STB_WEAK;
    symbol.dynamic = section.type == SHT_DYNSYM;
    symbol.address = raw.st_value;
    symbol.size = raw.st_size;
    symbols.push_back(std::move(symbol));
  }
  return symbols;
}

Status read_relocations(const Elf::Section& section, const std::vector<Elf::Symbol>& symbols,
                        Elf& elf) {
  const std::string_view data = part(elf.bytes, section);
  const std::size_t count = data.size() / sizeof(Elf64_Rela);
  if (count + elf.relocations.size() > kMaxEntries) return bad("too many relocations");
  for (std::size_t i = 0; i < count; ++i) {
    Elf64_Rela raw;
    if (!load(data, i * sizeof(raw), raw)) break;
    Elf::Relocation relocation{raw.r_offset, static_cast<std::uint32_t>(ELF64_R_TYPE(raw.r_info)),
                               raw.r_addend, ""};
    const std::uint64_t index = ELF64_R_SYM(raw.r_info);
    if (index != 0) {
      if (index >= symbols.size()) return bad("a relocation names no symbol");
      const Elf::Symbol& symbol = symbols[index];
      if (!symbol.defined)
        relocation.import = symbol.name;
      else
        relocation.addend = static_cast<std::int64_t>(
            static_cast<std::uint64_t>(relocation.addend) + symbol.address);
    }
    elf.relocations.push_back(std::move(relocation));
  }
  return {};
}

bool starts(const std::string& name, const char* prefix) { return name.starts_with(prefix); }

/// Sections that hold names, versions, unwinding or the linker's own tables: they execute nothing.
/// Only those the linker makes: a variable can be put into any other section by an attribute.
bool is_bookkeeping(const Elf::Section& section) {
  static const std::set<std::uint32_t> kTypes = {
      SHT_NULL, SHT_SYMTAB, SHT_STRTAB,   SHT_RELA,       SHT_HASH,        SHT_DYNAMIC,
      SHT_REL,  SHT_DYNSYM, SHT_GNU_HASH, SHT_GNU_verdef, SHT_GNU_verneed, SHT_GNU_versym};
  static const std::set<std::string, std::less<>> kNames = {
      ".eh_frame",          ".eh_frame_hdr",      ".got",         ".got.plt", ".interp",
      ".note.gnu.build-id", ".note.gnu.property", ".note.ABI-tag"};
  if (section.executable()) return false;
  return kTypes.contains(section.type) || kNames.contains(section.name);
}

bool is_relocated_constant(const Elf::Section& section) {
  return starts(section.name, ".data.rel.ro") || section.name == ".init_array" ||
         section.name == ".fini_array" || section.name == ".ctors" || section.name == ".dtors" ||
         section.name == ".preinit_array";
}

struct Import {
  const char* name;  // '*' at the end: any that begins so
  const char* reason;
  const char* why;
  bool banned = true;
};

// What a kernel has no use for. The jail stops most of it at run time; here it is named before
// anything runs.
constexpr Import kImports[] = {
    {"clock_gettime", "clock_import", "reads a clock"},
    {"clock_getres", "clock_import", "reads a clock"},
    {"gettimeofday", "clock_import", "reads a clock"},
    {"time", "clock_import", "reads a clock"},
    {"clock", "clock_import", "reads a clock"},
    {"times", "clock_import", "reads a clock"},
    {"ftime", "clock_import", "reads a clock"},
    {"timespec_get", "clock_import", "reads a clock"},
    {"getrusage", "clock_import", "reads processor time"},
    {"omp_get_wtime", "clock_import", "reads a clock"},
    {"omp_get_wtick", "clock_import", "reads a clock"},
    {"_ZNSt6chrono*", "clock_import", "reads a clock"},
    {"nanosleep", "clock_import", "waits for a clock"},
    {"clock_nanosleep", "clock_import", "waits for a clock"},
    {"usleep", "clock_import", "waits for a clock"},
    {"sleep", "clock_import", "waits for a clock"},
    {"alarm", "clock_import", "asks for a signal at a time"},
    {"setitimer", "clock_import", "asks for a signal at a time"},
    {"timer_create", "clock_import", "asks for a signal at a time"},
    {"timerfd_create", "clock_import", "asks for a signal at a time"},
    {"fopen*", "file_import", "opens a file"},
    {"freopen*", "file_import", "opens a file"},
    {"fdopen", "file_import", "opens a file"},
    {"open", "file_import", "opens a file"},
    {"open64", "file_import", "opens a file"},
    {"openat*", "file_import", "opens a file"},
    {"creat*", "file_import", "opens a file"},
    {"opendir", "file_import", "reads a folder"},
    {"tmpfile*", "file_import", "opens a file"},
    {"mkstemp*", "file_import", "opens a file"},
    {"unlink*", "file_import", "removes a file"},
    {"rename*", "file_import", "moves a file"},
    {"ftruncate*", "file_import", "changes a file's size"},
    {"truncate*", "file_import", "changes a file's size"},
    {"pread*", "file_import", "reads a file"},
    {"pwrite*", "file_import", "writes a file"},
    {"read", "file_import", "reads a file"},
    {"write", "file_import", "writes a file"},
    {"ioctl", "file_import", "controls a device"},
    {"fcntl*", "file_import", "controls a descriptor"},
    {"sendfile*", "file_import", "copies a file"},
    {"_ZNSt13basic_filebuf*", "file_import", "opens a file"},
    {"_ZNSt14basic_ifstream*", "file_import", "opens a file"},
    {"_ZNSt14basic_ofstream*", "file_import", "opens a file"},
    {"_ZNSt10filesystem*", "file_import", "reads a folder"},
    {"socket*", "network_import", "opens a socket"},
    {"connect", "network_import", "opens a connection"},
    {"bind", "network_import", "opens a socket"},
    {"listen", "network_import", "opens a socket"},
    {"accept*", "network_import", "opens a connection"},
    {"send", "network_import", "sends"},
    {"sendto", "network_import", "sends"},
    {"sendmsg", "network_import", "sends"},
    {"recv*", "network_import", "receives"},
    {"getaddrinfo", "network_import", "asks for an address"},
    {"fork", "process_import", "starts a process"},
    {"vfork", "process_import", "starts a process"},
    {"_Fork", "process_import", "starts a process"},
    {"clone", "process_import", "starts a process or thread"},
    {"clone3", "process_import", "starts a process or thread"},
    {"system", "process_import", "runs a program"},
    {"popen", "process_import", "runs a program"},
    {"exec*", "process_import", "runs a program"},
    {"fexecve", "process_import", "runs a program"},
    {"posix_spawn*", "process_import", "runs a program"},
    {"kill", "process_import", "signals a process"},
    {"raise", "process_import", "signals itself"},
    {"ptrace", "process_import", "looks into a process"},
    {"process_vm_*", "process_import", "looks into a process"},
    {"wait", "process_import", "waits for a process"},
    {"waitpid", "process_import", "waits for a process"},
    {"prctl", "process_import", "changes its process"},
    {"setrlimit*", "process_import", "changes its limits"},
    {"prlimit*", "process_import", "changes its limits"},
    {"exit", "exit_import", "ends the process before the answer is checked"},
    {"_exit", "exit_import", "ends the process before the answer is checked"},
    {"_Exit", "exit_import", "ends the process before the answer is checked"},
    {"quick_exit", "exit_import", "ends the process before the answer is checked"},
    {"atexit", "exit_import", "runs code when the process ends"},
    {"on_exit", "exit_import", "runs code when the process ends"},
    {"syscall", "system_call_import", "makes system calls by number"},
    {"pthread_create", "thread_import", "starts a thread that may outlive the call; use OpenMP"},
    {"thrd_create", "thread_import", "starts a thread that may outlive the call; use OpenMP"},
    {"_ZNSt6thread*", "thread_import", "starts a thread that may outlive the call; use OpenMP"},
    {"pthread_atfork", "thread_import", "hooks into forks"},
    {"sched_set*", "thread_import", "changes pinning or priority"},
    {"pthread_set*affinity*", "thread_import", "changes pinning"},
    {"pthread_setschedparam", "thread_import", "changes priority"},
    {"setpriority", "thread_import", "changes priority"},
    {"nice", "thread_import", "changes priority"},
    {"signal", "signal_import", "takes signals"},
    {"sigaction", "signal_import", "takes signals"},
    {"sigaltstack", "signal_import", "takes signals"},
    {"dlopen", "loader_import", "loads code that was not judged"},
    {"dlmopen", "loader_import", "loads code that was not judged"},
    {"dlsym", "loader_import", "looks up code by name"},
    {"dlvsym", "loader_import", "looks up code by name"},
    {"dl_iterate_phdr", "loader_import", "looks into the process"},
    {"dladdr*", "loader_import", "looks into the process"},
    {"mmap*", "memory_map_import", "maps memory"},
    {"mremap", "memory_map_import", "maps memory"},
    {"munmap", "memory_map_import", "unmaps memory"},
    {"mprotect", "memory_map_import", "changes what memory allows"},
    {"pkey_*", "memory_map_import", "changes what memory allows"},
    {"remap_file_pages", "memory_map_import", "maps memory"},
    {"shm*", "memory_map_import", "shares memory"},
    {"memfd_create", "memory_map_import", "shares memory"},
    {"userfaultfd", "memory_map_import", "catches page faults"},
    {"getenv", "environment_import", "reads the environment"},
    {"secure_getenv", "environment_import", "reads the environment"},
    {"setenv", "environment_import", "changes the environment"},
    {"putenv", "environment_import", "changes the environment"},
    {"rand", "random_import", "draws random numbers: answers must be a function of the inputs"},
    {"rand_r", "random_import", "draws random numbers: answers must be a function of the inputs"},
    {"random", "random_import", "draws random numbers: answers must be a function of the inputs"},
    {"drand48", "random_import", "draws random numbers: answers must be a function of the inputs"},
    {"getrandom", "random_import",
     "draws random numbers: answers must be a function of the inputs"},
    {"getentropy", "random_import",
     "draws random numbers: answers must be a function of the inputs"},
    {"_ZNSt13random_device*", "random_import",
     "draws random numbers: answers must be a function of the inputs"},
    {"fesetround", "float_control_import", "changes rounding for the whole process", false},
    {"fesetenv", "float_control_import", "changes arithmetic for the whole process", false},
    {"feenableexcept", "float_control_import", "changes arithmetic for the whole process", false},
    // Told, not banned.
    {"malloc", "allocation_import", "allocates in the timed call; hone:scratch costs nothing",
     false},
    {"calloc", "allocation_import", "allocates in the timed call; hone:scratch costs nothing",
     false},
    {"realloc", "allocation_import", "allocates in the timed call; hone:scratch costs nothing",
     false},
    {"aligned_alloc", "allocation_import",
     "allocates in the timed call; hone:scratch costs nothing", false},
    {"posix_memalign", "allocation_import",
     "allocates in the timed call; hone:scratch costs nothing", false},
    {"_Znw*", "allocation_import", "allocates in the timed call; hone:scratch costs nothing",
     false},
    {"_Zna*", "allocation_import", "allocates in the timed call; hone:scratch costs nothing",
     false},
    {"printf", "print_import", "prints", false},
    {"puts", "print_import", "prints", false},
    {"fprintf", "print_import", "prints", false},
    {"__printf_chk", "print_import", "prints", false},
    {"_ZSt4cout", "print_import", "prints", false},
    {"__cxa_guard_acquire", "state", "initialises a static variable once", false},
    {"__cxa_atexit", "destructor", "runs code when the object is unloaded", false},
};

/// `pattern` may hold '*'s, each for any run of characters.
bool matches(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t i = star; i <= name.size(); ++i) {
    if (matches(rest, name.substr(i))) return true;
  }
  return false;
}

void import_findings(const Elf& elf, std::vector<Finding>& findings) {
  for (const std::string& name : imports(elf)) {
    for (const Import& import : kImports) {
      if (!matches(import.name, name)) continue;
      findings.push_back(
          {import.reason, scrub(name, 200), "",
           fmt::format("the candidate calls {}, which {}", scrub(name, 200), import.why),
           import.banned});
      break;
    }
  }
}

void section_findings(const Elf& elf, std::vector<Finding>& findings) {
  // The C start-up files bring one constructor and a short .init with them, when they are linked at
  // all.
  const Elf::Section* init = elf.find(".init");
  for (const Elf::Section& section : elf.sections) {
    if (section.writable() && section.executable()) {
      findings.push_back(
          {"writable_code", section.name, "", "a section is both writable and executable", true});
    } else if (section.writable() && !is_bookkeeping(section) && !is_relocated_constant(section) &&
               section.size > 0 && !(section.name == ".data" && section.size <= 8) &&
               !(section.name == ".bss" && section.size <= 8)) {
      // Eight bytes are __dso_handle and completed.0 of the start-up files.
      findings.push_back(
          {"state", section.name, "",
           fmt::format("{} bytes of writable globals can carry state from call to call",
                       section.size),
           false});
    }
    const bool array = section.name == ".init_array" || section.name == ".ctors" ||
                       section.type == SHT_INIT_ARRAY || section.type == SHT_PREINIT_ARRAY;
    const std::uint64_t own = section.name == ".init_array" && init != nullptr ? 1 : 0;
    if (array && section.size / 8 > own) {
      findings.push_back({"constructor", section.name, "",
                          fmt::format("{} functions run when the object is loaded, before any call",
                                      section.size / 8 - own),
                          true});
    }
    const bool ends =
        section.name == ".fini_array" || section.name == ".dtors" || section.type == SHT_FINI_ARRAY;
    if (ends && section.size / 8 > own) {
      findings.push_back(
          {"destructor", section.name, "", "functions run when the object is unloaded", false});
    }
  }
  if (init != nullptr && init->size > 32) {
    findings.push_back({"constructor", ".init", "",
                        "code was added to what runs when the object is loaded", true});
  }
  for (const Elf::Symbol& symbol : elf.symbols) {
    if (symbol.ifunc && symbol.defined) {
      findings.push_back({"constructor", scrub(symbol.name, 200), "",
                          "an indirect function runs code when the object is loaded", true});
    }
  }
}

}  // namespace

bool Elf::Section::allocated() const { return (flags & SHF_ALLOC) != 0; }
bool Elf::Section::executable() const { return allocated() && (flags & SHF_EXECINSTR) != 0; }
bool Elf::Section::writable() const { return allocated() && (flags & SHF_WRITE) != 0; }

const Elf::Section* Elf::find(std::string_view name) const {
  for (const Section& section : sections) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

std::string_view Elf::contents(const Section& section) const { return part(bytes, section); }

Result<Elf> read_elf(std::string_view bytes) {
  if (bytes.size() > kMaxBytes) return bad("more than 1 GiB");
  Elf64_Ehdr header;
  if (!load(bytes, 0, header)) return bad("shorter than a header");
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return bad("no ELF magic");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return bad("not 64-bit little endian");
  if (header.e_machine != EM_X86_64) return bad(fmt::format("machine {}", header.e_machine));
  if (header.e_type != ET_DYN && header.e_type != ET_REL)
    return bad(fmt::format("type {}", header.e_type));
  Elf elf;
  elf.bytes = bytes;
  HONE_CHECK(read_sections(header, elf));
  std::vector<std::vector<Elf::Symbol>> tables(elf.sections.size());
  std::size_t total = 0;
  for (std::size_t i = 0; i < elf.sections.size(); ++i) {
    const Elf::Section& section = elf.sections[i];
    if (section.type != SHT_SYMTAB && section.type != SHT_DYNSYM) continue;
    HONE_TRY(tables[i], read_symbols(elf, section));
    total += tables[i].size();
    // Overlapping tables would let a small file ask for much memory.
    if (total > kMaxEntries) return bad("too many symbols");
  }
  for (const Elf::Section& section : elf.sections) {
    if (section.type == SHT_RELA && section.link < tables.size()) {
      HONE_CHECK(read_relocations(section, tables[section.link], elf));
    }
  }
  for (auto& table : tables) std::move(table.begin(), table.end(), std::back_inserter(elf.symbols));
  return elf;
}

std::string machine_code_hash(const Elf& elf) {
  std::string all;
  for (const Elf::Section& section : elf.sections) {
    if (!section.allocated() || is_bookkeeping(section)) continue;
    all += fmt::format("{} {} {}\n", section.name, section.flags, section.size);
    all += elf.contents(section);
  }
  // A call to expf and one to logf differ only here. Names of our own symbols never enter.
  for (const Elf::Relocation& relocation : elf.relocations) {
    all += fmt::format("{} {} {} {}\n", relocation.offset, relocation.type, relocation.addend,
                       relocation.import);
  }
  return identity_hash(all);
}

std::vector<std::string> imports(const Elf& elf) {
  std::set<std::string> names;
  for (const Elf::Symbol& symbol : elf.symbols) {
    if (symbol.dynamic && !symbol.defined && !symbol.name.empty())
      names.insert(symbol.name.substr(0, symbol.name.find('@')));
  }
  return {names.begin(), names.end()};
}

std::uint64_t constant_bytes(const Elf& elf) {
  std::uint64_t total = 0;
  for (const Elf::Section& section : elf.sections) {
    if (section.allocated() && !section.executable() && section.type != SHT_NOBITS &&
        !is_bookkeeping(section))
      total += section.size;
  }
  return total;
}

std::uint64_t writable_bytes(const Elf& elf) {
  std::uint64_t total = 0;
  for (const Elf::Section& section : elf.sections) {
    if (!section.writable() || is_bookkeeping(section) || is_relocated_constant(section)) continue;
    if (__builtin_add_overflow(total, section.size, &total)) return UINT64_MAX;
  }
  return total;
}

std::vector<Finding> elf_findings(const Elf& elf, std::uint64_t constants_limit) {
  std::vector<Finding> findings;
  import_findings(elf, findings);
  section_findings(elf, findings);
  // Small outputs would make any table suspicious: string literals and vector constants take a few
  // hundred bytes.
  constexpr std::uint64_t kAlwaysAllowed = 4096;
  const std::uint64_t constants = constant_bytes(elf);
  if (constants_limit > 0 && constants >= std::max(constants_limit, kAlwaysAllowed)) {
    findings.push_back({"constants", fmt::format("{} bytes", constants), "",
                        fmt::format("constants of {} bytes could hold the answer, which takes {}",
                                    constants, constants_limit),
                        true});
  }
  return findings;
}

}  // namespace hone::code
