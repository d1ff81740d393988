#include "code/elf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/files.h"
#include "code/census.h"

namespace hone::code {
namespace {

/// Compiles our own text; `bare` links without the start-up files, as the cpu lane does.
std::string compiled(const std::string& source, const std::string& flags = "-O2",
                     bool bare = false) {
  auto folder = TemporaryFolder::make("elf-test");
  if (!folder) return "";
  const auto file = folder->path() / "k.cc", object = folder->path() / "k.so";
  std::ofstream(file) << source;
  const std::string command = "g++ -shared -fPIC " + flags + (bare ? " -nostdlib " : " ") +
                              file.string() + " -o " + object.string();
  if (std::system(command.c_str()) != 0) return "";
  return read_file(object).value();
}

std::string hash_of(const std::string& source, const std::string& flags = "-O2") {
  const std::string bytes = compiled(source, flags);
  const auto elf = read_elf(bytes);
  return elf.ok() ? machine_code_hash(*elf) : elf.error().text();
}

std::vector<std::string> reasons(const std::string& bytes, bool banned_only,
                                 std::uint64_t limit = 0) {
  const auto elf = read_elf(bytes);
  std::vector<std::string> all;
  if (!elf.ok()) return {elf.error().text()};
  for (const auto& finding : elf_findings(*elf, limit)) {
    if (finding.banned || !banned_only) all.push_back(finding.reason + ":" + finding.what);
  }
  return all;
}

TEST(Elf, HashIsOfWhatExecutes) {
  const std::string a =
      "extern \"C\" float expf(float); extern \"C\" float logf(float);\nstatic "
      "__attribute__((noinline)) float g(float x) { return expf(x) * 3.25f; }\nextern \"C\" void "
      "f(const float* x, float* y) { y[0] = g(x[0]); }\n";
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string b = a;
    for (auto at = b.find(from); at != std::string::npos; at = b.find(from, at + to.size()))
      b.replace(at, from.size(), to);
    return b;
  };
  const std::string hash = hash_of(a);
  EXPECT_EQ(hash.size(), 32u) << hash;
  // The same instructions: comments, names of our own functions, build ids and debug information
  // are no code.
  EXPECT_EQ(hash_of("// a comment\n\n" + a), hash);
  EXPECT_EQ(hash_of(changed("g(", "another_name(")), hash);
  EXPECT_EQ(hash_of(changed("void f(", "void h(")), hash);
  EXPECT_EQ(hash_of(a, "-O2 -g -Wl,--build-id=0x1234"), hash);
  // Other code: another function called through the same stub, another constant, another flag.
  EXPECT_NE(hash_of(changed("return expf", "return logf")), hash);
  EXPECT_NE(hash_of(changed("3.25f", "3.5f")), hash);
  EXPECT_NE(hash_of(a, "-O0"), hash);
}

TEST(Elf, ImportsAndConstants) {
  const std::string bytes = compiled(
      "extern \"C\" { float expf(float); void* malloc(unsigned long); extern const float t[1000]; "
      "}\nextern \"C\" { const float t[1000] = {1, 2, 3}; void f(float* y) { y[0] = expf(y[1]) + "
      "t[(long)malloc(1) % 1000]; } }",
      "-O2", true);
  const auto elf = read_elf(bytes);
  ASSERT_TRUE(elf.ok()) << elf.error().text();
  EXPECT_EQ(imports(*elf), (std::vector<std::string>{"expf", "malloc"}));
  EXPECT_GE(constant_bytes(*elf), 4000u) << "t is 1000 floats";
  EXPECT_LT(constant_bytes(*elf), 4200u);
  EXPECT_EQ(writable_bytes(*elf), 0u);
  // Not below 4 KiB; above, only when the answer is no larger.
  const std::string large = compiled(
      "extern \"C\" { extern const float t[2000]; const float t[2000] = {1}; }", "-O2", true);
  EXPECT_TRUE(reasons(bytes, true, 100).empty());
  EXPECT_EQ(reasons(large, true, 8000).size(), 1u);
  EXPECT_TRUE(reasons(large, true, 16000).empty());
}

TEST(Elf, WhatIsBannedIsFound) {
  struct Case {
    const char* source;
    const char* finding;  // empty: clean
  };
  const Case cases[] = {
      {"extern \"C\" void f(float* y) { y[0] = 1; }", ""},
      {"#include <time.h>\nextern \"C\" void f(float* y) { timespec t; "
       "clock_gettime(CLOCK_MONOTONIC, &t); y[0] = t.tv_sec; }",
       "clock_import:clock_gettime"},
      {"#include <chrono>\nextern \"C\" void f(float* y) { y[0] = "
       "std::chrono::steady_clock::now().time_since_epoch().count(); }",
       "clock_import:_ZNSt6chrono3_V212steady_clock3nowEv"},
      {"#include <stdio.h>\nextern \"C\" void f(float* y) { y[0] = fopen(\"/etc/passwd\", \"r\") "
       "!= 0; }",
       "file_import:fopen"},
      {"#include <fcntl.h>\nextern \"C\" void f(float* y) { y[0] = open(\"/etc/passwd\", 0); }",
       "file_import:open"},
      {"#include <unistd.h>\nextern \"C\" void f(float* y) { y[0] = fork(); }",
       "process_import:fork"},
      {"#include <unistd.h>\nextern \"C\" void f(float* y) { y[0] = execl(\"/bin/true\", \"true\", "
       "nullptr); }",
       "process_import:execl"},
      {"#include <sys/socket.h>\nextern \"C\" void f(float* y) { y[0] = socket(1, 1, 0); }",
       "network_import:socket"},
      {"#include <thread>\nextern \"C\" void f(float* y) { std::thread([y] { y[0] = 1; "
       "}).detach(); }",
       "thread_import:_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_"
       "deleteIS1_EEPFvvE"},
      {"#include <dlfcn.h>\nextern \"C\" void f(float* y) { y[0] = dlsym(0, \"x\") != 0; }",
       "loader_import:dlsym"},
      {"#include <sys/mman.h>\nextern \"C\" void f(float* y) { y[0] = mprotect(y, 4096, 7); }",
       "memory_map_import:mprotect"},
      {"#include <stdlib.h>\nextern \"C\" void f(float* y) { y[0] = 1; exit(0); }",
       "exit_import:exit"},
      {"float g; __attribute__((constructor)) void c() { g = 1; }\nextern \"C\" void f(float* y) { "
       "y[0] = g; }",
       "constructor:.init_array"},
      {"extern \"C\" { static void one() {} static void (*pick())() { return one; } void f() "
       "__attribute__((ifunc(\"pick_\"))); __attribute__((used)) void (*pick_())() { return "
       "pick(); } }",
       "constructor:f"},
  };
  for (const Case& c : cases) {
    for (const bool bare : {false, true}) {
      const std::string bytes = compiled(c.source, "-O1 -Wno-unused-result", bare);
      ASSERT_FALSE(bytes.empty()) << c.source;
      const auto found = reasons(bytes, true);
      if (*c.finding == '\0')
        EXPECT_TRUE(found.empty()) << found[0];
      else
        EXPECT_NE(std::find(found.begin(), found.end(), c.finding), found.end())
            << c.source << (found.empty() ? "" : "\n found " + found[0]);
    }
  }
}

TEST(Elf, StateBetweenCallsIsTold) {
  const std::string bytes = compiled(
      "static float last[64]; extern \"C\" void f(float* y) { for (int i = 0; i < 64; ++i) { y[i] "
      "+= last[i]; last[i] = y[i]; } }",
      "-O1", true);
  EXPECT_EQ(reasons(bytes, false), std::vector<std::string>{"state:.bss"});
  EXPECT_TRUE(reasons(bytes, true).empty());
  const auto elf = read_elf(bytes);
  EXPECT_EQ(writable_bytes(*elf), 256u) << "64 floats";
  const std::string thread = compiled(
      "static thread_local float last; extern \"C\" void f(float* y) { y[0] += last; last = y[0]; "
      "}",
      "-O1", true);
  EXPECT_EQ(reasons(thread, false), std::vector<std::string>{"state:.tbss"});
}

TEST(Elf, BrokenFilesAreRefusedNotRead) {
  const std::string bytes = compiled(
      "extern \"C\" float expf(float); extern \"C\" void f(float* y) { y[0] = expf(y[1]); }");
  ASSERT_TRUE(read_elf(bytes).ok());
  EXPECT_FALSE(read_elf("").ok());
  EXPECT_FALSE(read_elf("\x7f"
                        "ELF")
                   .ok());
  EXPECT_FALSE(read_elf(std::string(200, 'x')).ok());
  // The section headers lie at the end, so any cut loses some.
  for (std::size_t size = 0; size < bytes.size(); size += 97)
    EXPECT_FALSE(read_elf(std::string_view(bytes).substr(0, size)).ok()) << size;
  // Every byte of the header and of the section headers, set to its worst: no crash (the sanitizers
  // watch).
  for (std::size_t at = 0; at < bytes.size();
       at = at < 64 || at > bytes.size() - 2000 ? at + 1 : at + 31) {
    std::string broken = bytes;
    broken[at] = '\xff';
    const auto elf = read_elf(broken);
    if (elf.ok()) {
      EXPECT_EQ(machine_code_hash(*elf).size(), 32u);
      elf_findings(*elf, 1);
    }
  }
}

TEST(Census, KindsOfInstructions) {
  // By the Intel SDM, vol. 2.
  struct Row {
    const char* mnemonic;
    const char* operands;
    Kind kind;
  };
  const Row rows[] = {
      {"addss", "%xmm1,%xmm0", Kind::f32_arithmetic},
      {"vfmadd231ps", "%zmm1,%zmm2,%zmm3", Kind::f32_arithmetic},
      {"mulsd", "%xmm1,%xmm0", Kind::f64_arithmetic},
      {"vdivpd", "%ymm1,%ymm2,%ymm3", Kind::f64_arithmetic},
      {"vcvtps2ph", "$0x0,%ymm0,%xmm0", Kind::to_f16},
      {"vcvtph2ps", "%xmm0,%ymm0", Kind::from_f16},
      {"vaddph", "%zmm0,%zmm1,%zmm2", Kind::f16_arithmetic},
      {"vfmadd213sh", "%xmm0,%xmm1,%xmm2", Kind::f16_arithmetic},
      {"vcvtss2sh", "%xmm0,%xmm1,%xmm2", Kind::to_f16},
      {"vcvtsh2ss", "%xmm0,%xmm1,%xmm2", Kind::from_f16},
      {"vdpbf16ps", "%zmm0,%zmm1,%zmm2", Kind::bf16_arithmetic},
      {"vcvtne2ps2bf16", "%zmm0,%zmm1,%zmm2", Kind::to_bf16},
      {"vcvtneps2bf16y", "(%rax),%xmm2", Kind::to_bf16},
      {"vpdpbusd", "%zmm0,%zmm1,%zmm2", Kind::int8_dot},
      {"cvtsd2ss", "%xmm0,%xmm1", Kind::f64_to_f32},
      {"vcvtpd2psy", "(%rax),%xmm0", Kind::f64_to_f32},
      {"cvtss2sd", "%xmm0,%xmm1", Kind::f32_to_f64},
      {"rsqrtss", "%xmm0,%xmm1", Kind::approximate},
      {"vrcp14ps", "%zmm0,%zmm1", Kind::approximate},
      {"rdtsc", "", Kind::clock},
      {"rdtscp", "", Kind::clock},
      {"rdpmc", "", Kind::clock},
      {"syscall", "", Kind::system_call},
      {"int", "$0x80", Kind::system_call},
      {"int3", "", Kind::other},
      {"cpuid", "", Kind::cpuid},
      {"rdrand", "%rax", Kind::random},
      {"vmovntps", "%zmm0,(%rax)", Kind::non_temporal},
      {"prefetcht0", "(%rax)", Kind::prefetch},
      {"ldmxcsr", "-4(%rsp)", Kind::float_control},
      {"push", "%rbp", Kind::other},
      {"vmovups", "(%rax),%zmm0", Kind::move},
      {"call", "1020 <expf@plt>", Kind::call},
      {"jne", "1020", Kind::branch},
      {"vpaddd", "%ymm0,%ymm1,%ymm2", Kind::vector_integer},
      {"xorps", "%xmm0,%xmm0", Kind::other},
      {"vpermps", "%ymm0,%ymm1,%ymm2", Kind::vector_integer},
      {"unpcklps", "%xmm0,%xmm1", Kind::other},
      {"fld", "%st(1)", Kind::x87},
      {"vcvtdq2ps", "%ymm0,%ymm1", Kind::other},
      {"movss", "%xmm0,%xmm1", Kind::move},
      {"psubd", "%xmm0,%xmm1", Kind::vector_integer},
      {"vpsubsb", "%xmm0,%xmm1,%xmm2", Kind::vector_integer},
      {"pminsd", "%xmm0,%xmm1", Kind::vector_integer},
  };
  for (const Row& row : rows)
    EXPECT_STREQ(name_of(kind_of(row.mnemonic, row.operands)), name_of(row.kind)) << row.mnemonic;
}

constexpr const char* kListing =
    "\nk.so:     file format elf64-x86-64\n\n\nDisassembly of section .text:\n\n"
    "0000000000001100 <first>:\n"
    "    1100:\tc5 fc 10 07          \tvmovups (%rdi),%ymm0\n"
    "    1104:\tc4 e3 7d 1d c0 00    \tvcvtps2ph $0x0,%ymm0,%xmm0\n"
    "    110a:\t62 f1 7c 48 11 84 07 \tvmovups %zmm0,0x12345678(%rdi,%rax,1)\n"
    "    1111:\t78 56 34 12 \n"
    "    1115:\tf0 48 0f b1 0f       \tlock cmpxchg %rcx,(%rdi)\n"
    "    111a:\tc3                   \tret\n\n"
    "000000000000111b <second>:\n"
    "    111b:\t0f 31                \trdtsc\n"
    "    111d:\t0f 31                \trdtsc\n"
    "    111f:\tvfmadd231ps %zmm1,%zmm2,%zmm3\n"
    "\t...\n";

TEST(Census, ReadsAListing) {
  const auto census = read_census(kListing);
  ASSERT_TRUE(census.ok()) << census.error().text();
  EXPECT_EQ(census->instructions, 8u) << "the line with only bytes is the tail of the one before";
  EXPECT_EQ(census->count(Kind::clock), 2u);
  EXPECT_EQ(census->count(Kind::to_f16), 1u);
  EXPECT_EQ(census->fused, 1u);
  EXPECT_EQ(census->widths.at("zmm"), 2u);
  EXPECT_EQ(census->widths.at("ymm"), 2u);
  ASSERT_GE(census->notable.size(), 3u);
  EXPECT_EQ(census->notable[0].symbol, "first");
  EXPECT_EQ(census->notable[0].address, 0x1104u);
  EXPECT_EQ(census->notable[0].line, 9);
  const auto findings = census_findings(*census, lower_precision_for(task::Precision::f32));
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].reason, "lower_precision");
  EXPECT_FALSE(findings[0].banned);
  EXPECT_EQ(findings[1].reason, "clock_read");
  EXPECT_EQ(findings[1].where, "second at 0x111b (line 16 of the listing)");
  EXPECT_TRUE(findings[1].banned);
  EXPECT_FALSE(read_census("no listing\n").ok());
}

TEST(Census, LowerPrecisionDependsOnClassAndStorage) {
  using task::DType;
  using task::Precision;
  EXPECT_TRUE(lower_precision_for(Precision::f64).contains(Kind::f32_arithmetic));
  EXPECT_TRUE(lower_precision_for(Precision::f64).contains(Kind::f64_to_f32));
  EXPECT_FALSE(lower_precision_for(Precision::f32).contains(Kind::f32_arithmetic));
  EXPECT_FALSE(lower_precision_for(Precision::f32).contains(Kind::f64_to_f32))
      << "wider inside, rounded at the end";
  EXPECT_TRUE(lower_precision_for(Precision::f32).contains(Kind::to_f16));
  EXPECT_TRUE(lower_precision_for(Precision::f32).contains(Kind::from_f16));
  EXPECT_FALSE(lower_precision_for(Precision::f32, {DType::f16}).contains(Kind::to_f16))
      << "its outputs are halves";
  EXPECT_TRUE(lower_precision_for(Precision::f32, {DType::f16}).contains(Kind::f16_arithmetic));
  EXPECT_TRUE(lower_precision_for(Precision::f32).contains(Kind::bf16_arithmetic));
  EXPECT_FALSE(lower_precision_for(Precision::bf16).contains(Kind::bf16_arithmetic));
  EXPECT_TRUE(lower_precision_for(Precision::integer).empty());
}

TEST(Census, AgreesWithObjdumpOnACompiledKernel) {
  // Written with inline assembly, so that the counts are known: one each, whatever the compiler
  // does around them.
  const std::string source =
      "extern \"C\" void f(float* y, unsigned* t) {\n"
      "  asm volatile(\"rdtsc\\n\\tcpuid\\n\\trdtscp\" ::: \"rax\", \"rbx\", \"rcx\", \"rdx\");\n"
      "  asm volatile(\"vcvtps2ph $0, %%ymm0, %%xmm0\\n\\tvdpbf16ps %%zmm0, %%zmm1, "
      "%%zmm2\\n\\tvpdpbusd %%zmm0, %%zmm1, %%zmm2\" ::: \"xmm0\", \"xmm2\");\n"
      "  asm volatile(\"syscall\\n\\tint $0x80\" ::: \"rax\", \"rcx\", \"r11\");\n  y[0] = "
      "t[0];\n}\n";
  const std::string bytes = compiled(source, "-O1 -march=x86-64-v4", true);
  ASSERT_FALSE(bytes.empty());
  auto folder = TemporaryFolder::make("census-test");
  ASSERT_TRUE(folder.ok());
  const auto object = folder->path() / "k.so", listing = folder->path() / "k.txt";
  ASSERT_TRUE(write_file(object, bytes).ok());
  for (const char* flags : {"", "--no-show-raw-insn "}) {
    ASSERT_EQ(std::system(
                  ("objdump -d " + std::string(flags) + object.string() + " > " + listing.string())
                      .c_str()),
              0);
    const auto census = read_census(read_file(listing).value());
    ASSERT_TRUE(census.ok());
    EXPECT_EQ(census->count(Kind::clock), 2u) << flags;
    EXPECT_EQ(census->count(Kind::cpuid), 1u);
    EXPECT_EQ(census->count(Kind::system_call), 2u);
    EXPECT_EQ(census->count(Kind::to_f16), 1u);
    EXPECT_EQ(census->count(Kind::bf16_arithmetic), 1u);
    EXPECT_EQ(census->count(Kind::int8_dot), 1u);
  }
}

}  // namespace
}  // namespace hone::code
