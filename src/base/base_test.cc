#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/result.h"

namespace hone {
namespace {

Result<int> half(int x) {
  if (x % 2) return usage_error("odd");
  return x / 2;
}
Result<int> quarter(int x) {
  HONE_TRY(int h, half(x));
  return half(h);
}

TEST(Result, TryReturnsTheFirstError) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error().message, "odd");
  EXPECT_EQ(exit_code(usage_error("x")), 2);
  EXPECT_EQ(exit_code(environment_error("x")), 3);
}

TEST(Hash, KnownVectors) {
  // FIPS 180-2, appendix B.1; XXH3 of nothing with seed 0 from the xxHash specification.
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(identity_hash(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(fingerprint({}), 0x2D06800538D394C2ull);
}

TEST(Json, BadTextIsAnErrorNotAThrow) {
  EXPECT_FALSE(parse_json("{\"a\":", "x").ok());
  EXPECT_FALSE(parse_json(std::string(1000, '['), "x").ok());
  EXPECT_EQ(get_int(*parse_json("{\"a\":3}", "x"), "a", "x").value(), 3);
  EXPECT_FALSE(get_int(*parse_json("{\"a\":\"3\"}", "x"), "a", "x").ok());
  EXPECT_TRUE(std::isnan(as_double(number(NAN))));
  EXPECT_TRUE(std::isinf(as_double(number(-INFINITY))));
}

TEST(Files, WhatIsNoFileIsRefusedAtOnce) {
  const auto folder = TemporaryFolder::make("hone-base-");
  ASSERT_TRUE(folder.ok());
  const fs::path pipe = folder->path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const fs::path& path : {pipe, fs::path("/dev/zero"), folder->path()}) {  // the pipe's open() alone would wait for ever
    const auto text = read_file(path);
    ASSERT_FALSE(text.ok()) << path;
    EXPECT_EQ(text.error().code, ErrorCode::usage);
    EXPECT_NE(text.error().message.find(path.string()), std::string::npos) << text.error().text();
  }
}

TEST(Files, WriteIsWholeAndErrorsNameThePath) {
  auto folder = TemporaryFolder::make("hone-files-");
  ASSERT_TRUE(folder.ok());
  const fs::path path = folder->path() / "a";
  ASSERT_TRUE(write_file(path, "hello").ok());
  EXPECT_EQ(read_file(path).value(), "hello");
  EXPECT_FALSE(read_file(path, 3).ok());
  const auto missing = read_file(folder->path() / "none");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("none"), std::string::npos);
  EXPECT_EQ(missing.error().code, ErrorCode::usage);
}

}  // namespace
}  // namespace hone
