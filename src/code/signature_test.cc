#include "code/signature.h"

#include <gtest/gtest.h>

namespace hone::code {
namespace {

/// "const float* x, int n" as this reader understood it.
std::string shown(const Signature& signature) {
  std::string text;
  for (const auto& p : signature.parameters) {
    text += (text.empty() ? "" : ", ") + std::string(p.is_const ? "const " : "") + p.type +
            (p.pointer ? "* " : " ") + p.name;
  }
  return text;
}

std::string read_one(std::string_view source, std::string_view name = "f") {
  const auto found = find_function(source, "k.cc", name);
  return found.ok() ? shown(*found) : found.error().text();
}

TEST(Signature, FormsThatMeanTheSame) {
  const char* same[] = {
      "extern \"C\" void f(const float* x, float* y, int n) {}",
      "extern \"C\" {\nvoid f(float const *x, float *y, const int n);\nvoid f(const float *x, "
      "float *y, signed n) { }\n}",
      "void f(const float *restrict x, float *restrict y, int n) { if (n) { x[0]; } }",
      "extern \"C\" __attribute__((noinline, target(\"avx2\"))) void f(const float* __restrict__ "
      "const x, float* __restrict y, int n) noexcept {}",
      "[[gnu::hot]] static inline void f(const float x[], float y[16], int /* count */ n) {}",
      "#define RESTRICT __restrict__\n#define CF const float\nvoid f(CF* RESTRICT x, float* "
      "RESTRICT y, int n) {}",
      "typedef float real;\nusing index_type = int;\nvoid f(const real* x, real* y, index_type n) "
      "{}",
      "auto f([[maybe_unused]] const float* x, float* y, int n) -> void {}",
      "template <typename T> T g(T a) { return a; }\nstruct S { void f(int a) {} };\nint t[] = {1, "
      "2};\nvoid f(const float* x, float* y, int n) {}",
      "void f(const float* x,\n#ifdef A\n#endif\n float* y, int n)\n{\n}",
      "void other() try { } catch (...) { }\nMACRO(x) { }\nvoid f(const float* x, float* y, int n) "
      "{}",
  };
  for (const char* source : same) {
    const std::string text = read_one(source);
    EXPECT_TRUE(text == "const float* x, float* y, int n" ||
                text == "const float* x, float* y, const int n")
        << source << "\n read: " << text;
  }
}

TEST(Signature, TypesAreCanonical) {
  EXPECT_EQ(read_one("void f(unsigned char* a, long unsigned int b, long long int c, std::int64_t "
                     "d, ::size_t e, short int f1, unsigned g, "
                     "signed char h, long double i, _Bool j, HONE_OUT* k, int unsigned l) {}"),
            "unsigned char* a, unsigned long b, long long c, int64_t d, size_t e, short f1, "
            "unsigned g, signed char h, long double i, "
            "bool j, HONE_OUT* k, unsigned l");
  EXPECT_EQ(read_one("void f(void) {}"), "");
  EXPECT_EQ(read_one("#define HONE_REAL float\nvoid f(HONE_REAL* x) {}"), "HONE_REAL* x");
}

TEST(Signature, WhatIsNotReadIsRefusedByName) {
  struct Refusal {
    const char* source;
    const char* said;
  };
  const Refusal refusals[] = {
      {"void f(std::vector<float> v) {}", "'std::vector<float> v' is a template class"},
      {"void f(float& v) {}", "is a reference"},
      {"void f(float** v) {}", "is a pointer to a pointer"},
      {"void f(float v[][4]) {}", "is a pointer to a pointer or an array of arrays"},
      {"void f(void (*g)(int)) {}", "is a function or a macro with arguments"},
      {"void f(int a = 3) {}", "has a default value"},
      {"void f(int a, ...) {}", "variable argument list"},
      {"void f(auto a) {}", "has a deduced type"},
      {"void f(volatile int* a) {}", "is volatile"},
      {"void f(struct s* a) {}", "is a struct"},
      {"void f(int, float* y) {}", "has no name"},
      {"void f(const void* y) {}", "points to void"},
      {"void f(int a, int a) {}", "two parameters are named 'a'"},
      {"void f(long float a) {}", "is no type that is known here"},
      {"#ifdef A\n#define R float\n#else\n#define R double\n#endif\nvoid f(R* a) {}",
       "'R' is defined more than once with different meanings"},
      {"template <typename T> void f(T* a) {}", "'f' is a template"},
      {"void f(int a) {}\nvoid f(float b) {}",
       "found a second definition of 'f' (first on line 1)"},
      {"void ff(int a) {}", "found no definition of a function 'f'"},
      {"void f(int a);", "found no definition of a function 'f'"},
      {"void f(int a) { (", "without its end"},
      {"void f(int a) { ) }", "found ')' without the '(' that opens it"},
  };
  for (const Refusal& refusal : refusals) {
    const std::string text = read_one(refusal.source);
    EXPECT_NE(text.find(refusal.said), std::string::npos)
        << refusal.source << "\n said: " << text << "\n not:  " << refusal.said;
  }
  EXPECT_NE(read_one("void softmax(int a) {}", "sofmax").find("did you mean 'softmax'?"),
            std::string::npos);
}

TEST(Signature, PointerTypedefsStayNames) {
  // `const floatp x` is a const pointer to float, not a pointer to const float: following it would
  // read it wrongly.
  EXPECT_EQ(read_one("typedef float* floatp;\nvoid f(const floatp x) {}"), "const floatp x");
  EXPECT_EQ(read_one("typedef float v8 __attribute__((vector_size(32)));\nvoid f(v8* x) {}"),
            "v8* x");
}

TEST(Signature, ScopeExternAndExtent) {
  const std::string source =
      "namespace a::b { namespace { int g() { return 1; } } void f(int n) { } }\nextern \"C\" int "
      "h(int n) { return n; }";
  const auto all = read_signatures(source, "k.cc");
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ((*all)[1].scope, "a::b");
  EXPECT_FALSE((*all)[1].extern_c);
  EXPECT_TRUE((*all)[2].extern_c);
  EXPECT_EQ((*all)[2].return_type, "int");
  EXPECT_EQ((*all)[2].line, 2);
  EXPECT_EQ(source.substr((*all)[2].begin, (*all)[2].end - (*all)[2].begin),
            "extern \"C\" int h(int n) { return n; }");
  // extern "C" wins over an overload of the same name.
  EXPECT_EQ(read_one("static void f(int n) {}\nextern \"C\" void f(float* y) {}"), "float* y");
}

}  // namespace
}  // namespace hone::code
