#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "base/files.h"
#include "task/draw.h"

namespace hone::task {
namespace {

// A file by hand, after numpy.lib.format: magic, version, header length, header, elements.
std::string npy(const std::string& header, const std::string& data, int version = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  if (version > 1) out += std::string(2, '\0');
  return out + header + data;
}
std::string header(const std::string& descr, const std::string& shape,
                   const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape +
         ", }     \n";
}

TEST(Npy, EveryDtypeAndVersionIsRead) {
  const std::tuple<const char*, DType, std::size_t> rows[] = {
      {"<f8", DType::f64, 8},    {"<f4", DType::f32, 4}, {"<f2", DType::f16, 2},
      {"|V2", DType::bf16, 2},   {"<i8", DType::i64, 8}, {"<i4", DType::i32, 4},
      {"<i2", DType::i16, 2},    {"|i1", DType::i8, 1},  {"<u8", DType::u64, 8},
      {"<u4", DType::u32, 4},    {"<u2", DType::u16, 2}, {"|u1", DType::u8, 1},
      {"|b1", DType::boolean, 1}};
  for (const auto& [descr, dtype, size] : rows)
    for (const int version : {1, 2, 3}) {
      const std::string data(6 * size, '\x01');
      const auto read = parse_npy(npy(header(descr, "(2, 3)"), data, version), "x");
      ASSERT_TRUE(read.ok()) << descr << ": " << read.error().text();
      EXPECT_EQ(read->dtype, dtype);
      EXPECT_EQ(read->shape, (std::vector<std::int64_t>{2, 3}));
      EXPECT_EQ(read->bytes, data);
    }
  EXPECT_TRUE(parse_npy(npy(header("|u1", "()"), "a"), "x")->shape.empty());
  EXPECT_EQ(parse_npy(npy(header("|u1", "(1,)"), "a"), "x")->shape, std::vector<std::int64_t>{1});
  EXPECT_EQ(parse_npy(npy(header("|u1", "(3, 0)"), ""), "x")->bytes, "");
}

TEST(Npy, ErrorsSayWhatWasFound) {
  const std::pair<std::string, const char*> rows[] = {
      {"", "not a .npy file"},
      {"PK\x03\x04 a zip file", "not a .npy file"},
      {npy(header("<f4", "(1,)"), "1234", 4), "version 4"},
      {npy(header("<f4", "(2,)"), "1234"), "4 bytes of elements, expected 8 for shape (2,) of f32"},
      {npy(header("<f4", "(1,)"), "12345"), "5 bytes of elements, expected 4"},
      {npy(header("<f4", "(1,)"), "1234").substr(0, 20), "cut off in its header"},
      {npy(header(">f4", "(1,)"), "1234"), "big-endian"},
      {npy(header("<c8", "(1,)"), "12345678"), "'<c8'"},
      {npy(header("|O", "(1,)"), "12345678"), "'|O'"},
      {npy(header("<f4", "(1, 1)", "True"), "1234"), "Fortran order"},
      {npy(header("<f4", "(-1,)"), ""), "an extent of at least 0"},
      {npy(header("<f4", "(4611686018427387904, 4611686018427387904)"), ""), "overflows"},
      {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n", "1234"),
       "records"},
      {npy("{'descr': '<f4', 'shape': (1,), }\n", "1234"), "lacks descr, fortran_order or shape"},
      {npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n", "1234"),
       "repeated key 'descr'"},
      {npy("not a dict\n", "1234"), "broken header at byte 0"},
  };
  for (const auto& [bytes, expected] : rows) {
    const auto read = parse_npy(bytes, "x.npy");
    ASSERT_FALSE(read.ok()) << expected;
    EXPECT_NE(read.error().message.find(expected), std::string::npos) << read.error().text();
    EXPECT_NE(read.error().message.find("x.npy"), std::string::npos) << read.error().text();
  }
}

TEST(Npy, WhatIsWrittenIsReadBack) {
  auto folder = TemporaryFolder::make("hone-npy-");
  ASSERT_TRUE(folder.ok());
  for (const std::string& name : dtype_names()) {
    const DType dtype = dtype_from(name).value();
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{}, {5}, {2, 3}, {0, 4}}) {
      std::int64_t count = 1;
      for (const std::int64_t extent : shape) count *= extent;
      Npy array{shape, dtype,
                std::string(static_cast<std::size_t>(count) * size_of(dtype), '\x01')};
      const fs::path path = folder->path() / "a.npy";
      ASSERT_TRUE(write_npy(path, array).ok());
      const auto read = read_npy(path);
      ASSERT_TRUE(read.ok()) << read.error().text();
      EXPECT_EQ(read->shape, shape);
      EXPECT_EQ(read->dtype, dtype);
      EXPECT_EQ(read->bytes, array.bytes);
      // NumPy maps files into memory only when the elements begin at a multiple of 64.
      EXPECT_EQ((read_file(path)->size() - array.bytes.size()) % 64, 0u);
    }
  }
  EXPECT_FALSE(write_npy(folder->path() / "b.npy", {{3}, DType::f32, "1234"}).ok());
  EXPECT_NE(read_npy(folder->path() / "none.npy").error().message.find("none.npy"),
            std::string::npos);
}

class FileDraw : public testing::Test {
 protected:
  void SetUp() override {
    folder_.emplace(TemporaryFolder::make("hone-draw-").value());
    task_.folder = folder_->path();
    Tensor x;
    x.name = "x";
    x.shape = {Expression::parse("N").value(), Expression::constant(4)};
    x.values.kind = Values::Kind::file;
    x.values.file = "x.npy";
    task_.inputs = {x};
    Npy digits{{10, 4}, DType::u8, ""};
    for (int i = 0; i < 40; ++i) digits.bytes += static_cast<char>(i * 6);
    ASSERT_TRUE(write_npy(folder_->path() / "x.npy", digits).ok());
  }
  std::vector<double> draw(std::int64_t n, DrawSpec spec) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(n) * 4 * size_of(task_.inputs[0].dtype));
    const Status status = draw_input(task_, 0, {{"N", n}}, spec, bytes);
    error_ = status.ok() ? "" : status.error().text();
    std::vector<double> out(static_cast<std::size_t>(n) * 4);
    load_elements(task_.inputs[0].dtype, bytes.data(), out.data(), out.size());
    return out;
  }
  std::optional<TemporaryFolder> folder_;
  Task task_;
  std::string error_;
};

TEST_F(FileDraw, RowsAreWidenedAndShuffledBySeed) {
  for (const DType dtype :
       {DType::f32, DType::f64, DType::f16, DType::i32, DType::u8, DType::i16}) {
    task_.inputs[0].dtype = dtype;
    const auto plain = draw(10, {0, {}, 0});
    for (std::size_t i = 0; i < 40; ++i)
      ASSERT_EQ(plain[i], static_cast<double>(i * 6)) << name_of(dtype);
    const auto shuffled = draw(7, {5, {}, 0});
    EXPECT_NE(std::vector<double>(plain.begin(), plain.begin() + 28), shuffled);
    std::set<double> rows;
    for (std::size_t row = 0; row < 7; ++row) {
      const double first = shuffled[4 * row];
      EXPECT_TRUE(rows.insert(first).second) << "a row was taken twice";
      EXPECT_EQ(std::fmod(first, 24), 0);
      for (std::size_t j = 0; j < 4; ++j)
        EXPECT_EQ(shuffled[4 * row + j], first + 6.0 * static_cast<double>(j));
    }
    EXPECT_NE(shuffled, draw(7, {6, {}, 0}));
  }
  task_.inputs[0].values.shuffle = false;
  EXPECT_EQ(draw(3, {5, {}, 0}), draw(3, {0, {}, 0}));
  EXPECT_TRUE(draw(0, {5, {}, 0}).empty());
}

TEST_F(FileDraw, DistributionsKeepTheRowsAndIntegersKeepTheirValues) {
  const auto plain = draw(10, {5, {}, 0});
  const auto up = draw(10, {5, Distribution::scaled_up, 0}),
             shifted = draw(10, {5, Distribution::shifted, 0});
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(up[i], 3 * plain[i]);
    EXPECT_EQ(shifted[i], plain[i] + 0.25 * 234);  // a quarter of the largest magnitude
  }
  task_.inputs[0].dtype = DType::i32;
  EXPECT_EQ(draw(10, {5, Distribution::scaled_up, 0}), draw(10, {5, {}, 0}));
}

TEST_F(FileDraw, WhatDoesNotFitIsAnError) {
  draw(11, {1, {}, 0});
  EXPECT_NE(error_.find("has shape (10, 4), expected (11, 4)"), std::string::npos) << error_;
  task_.inputs[0].dtype = DType::i8;
  draw(10, {1, {}, 0});
  EXPECT_NE(error_.find("which input 'x' of i8 cannot"), std::string::npos) << error_;
  task_.inputs[0].values.file = "none.npy";
  draw(10, {1, {}, 0});
  EXPECT_NE(error_.find("none.npy"), std::string::npos) << error_;
}

}  // namespace
}  // namespace hone::task
