#include "code/cubin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "base/text.h"

namespace hone::code {
namespace {

constexpr std::uint16_t kMachineCuda = 190;
constexpr std::uint32_t kNoBits = 8;
constexpr std::size_t kMostSections = 65536;

Error broken(const std::string& what) { return usage_error("not a cubin that can be read: " + what); }

template <typename T>
bool load(std::string_view bytes, std::uint64_t at, T* to) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return false;
  std::memcpy(to, bytes.data() + at, sizeof(T));
  return true;
}

struct FileHeader {
  std::uint8_t ident[16];
  std::uint16_t type, machine;
  std::uint32_t version;
  std::uint64_t entry, program_headers, section_headers;
  std::uint32_t flags;
  std::uint16_t header_bytes, program_header_bytes, program_header_count, section_header_bytes, section_header_count,
      names_section;
};
static_assert(sizeof(FileHeader) == 64);

struct SectionHeader {
  std::uint32_t name, type;
  std::uint64_t flags, address, offset, size;
  std::uint32_t link, info;
  std::uint64_t align, entry_bytes;
};
static_assert(sizeof(SectionHeader) == 64);

std::uint64_t size_of(const Cubin& cubin, const std::string& name) {
  for (const CubinSection& section : cubin.sections)
    if (section.name == name) return section.size;
  return 0;
}

/// The number after ".nv.constant", or -1: bank 0 holds parameters, which are no data of the program.
int constant_bank(std::string_view name) {
  constexpr std::string_view kPrefix = ".nv.constant";
  if (!name.starts_with(kPrefix)) return -1;
  name.remove_prefix(kPrefix.size());
  int bank = -1;
  for (const char c : name) {
    if (c < '0' || c > '9') break;
    bank = std::max(bank, 0) * 10 + (c - '0');
    if (bank > 99) return -1;
  }
  return bank;
}

}  // namespace

Result<Cubin> read_cubin(std::string_view bytes) {
  FileHeader header{};
  if (!load(bytes, 0, &header) || std::memcmp(header.ident, "\177ELF\2\1", 6) != 0)
    return broken("it does not begin as a 64-bit little-endian ELF file");
  if (header.machine != kMachineCuda) return broken(fmt::format("its machine is {}, expected {}", header.machine, kMachineCuda));
  if (header.section_header_bytes != sizeof(SectionHeader) || header.section_header_count > kMostSections)
    return broken("its table of sections has an unknown form");
  std::vector<SectionHeader> table(header.section_header_count);
  for (std::size_t i = 0; i < table.size(); ++i)
    if (!load(bytes, header.section_headers + i * sizeof(SectionHeader), &table[i]))
      return broken("its table of sections lies beyond its end");
  if (header.names_section >= table.size()) return broken("it does not name its sections");
  const auto content = [&](const SectionHeader& section) -> std::string_view {
    if (section.type == kNoBits || section.offset > bytes.size() || section.size > bytes.size() - section.offset) return {};
    return bytes.substr(section.offset, section.size);
  };
  const std::string_view names = content(table[header.names_section]);
  Cubin cubin;
  for (const SectionHeader& section : table) {
    if (section.name >= std::max<std::size_t>(names.size(), 1)) return broken("a section's name lies beyond the names");
    const std::string_view from = names.substr(std::min<std::size_t>(section.name, names.size()));
    CubinSection out;
    out.name = scrub(from.substr(0, from.find('\0')), 512);
    out.type = section.type;
    out.flags = section.flags;
    out.size = section.size;
    out.bytes = content(section);
    if (section.type != kNoBits && section.type != 0 && out.bytes.size() != section.size)
      return broken(fmt::format("section {} lies beyond its end", out.name));
    cubin.sections.push_back(std::move(out));
  }
  for (const CubinSection& section : cubin.sections) {
    if (section.name.starts_with(".text."))
      cubin.kernels.push_back({section.name.substr(6), section.size, 0});
    if (section.name.starts_with(".nv.global")) {
      cubin.global_bytes += section.size;
      if (section.type != kNoBits) cubin.initialised_bytes += section.size;
    }
    if (constant_bank(section.name) > 0) cubin.constant_bytes += section.size;
  }
  for (CubinKernel& kernel : cubin.kernels) kernel.shared_bytes = size_of(cubin, ".nv.shared." + kernel.name);
  return cubin;
}

std::string machine_code_hash(const Cubin& cubin) {
  std::string all;
  for (const CubinSection& section : cubin.sections) {
    const bool executes = section.name.starts_with(".text.") || section.name.starts_with(".nv.constant") ||
                          section.name.starts_with(".nv.global") || section.name.starts_with(".nv.shared") ||
                          section.name.starts_with(".nv.info.");
    if (!executes) continue;
    all += fmt::format("{} {} {}\n", section.name, section.type, section.size);
    all += section.bytes;
  }
  return identity_hash(all);
}

}  // namespace hone::code
