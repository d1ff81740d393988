// The .npy format, versions 1 to 3 (numpy.lib.format): "\x93NUMPY", version, length of the header,
// a Python dict of descr, fortran_order and shape, then the elements.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/files.h"
#include "base/text.h"
#include "task/draw.h"

namespace hone::task {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Descr {
  const char* code;  // without the byte order
  DType dtype;
};
// bfloat16 is no NumPy type: the ml_dtypes package saves it as two raw bytes, and so do we.
constexpr Descr kDescr[] = {{"f8", DType::f64},    {"f4", DType::f32}, {"f2", DType::f16},
                            {"V2", DType::bf16},   {"i8", DType::i64}, {"i4", DType::i32},
                            {"i2", DType::i16},    {"i1", DType::i8},  {"u8", DType::u64},
                            {"u4", DType::u32},    {"u2", DType::u16}, {"u1", DType::u8},
                            {"b1", DType::boolean}};

/// The dict of the header: three known keys, each once.
class Header {
 public:
  Header(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  Status read(Npy& out) {
    bool has_descr = false, has_order = false, has_shape = false;
    if (!accept('{')) return wrong("'{'");
    while (!accept('}')) {
      HONE_TRY(const std::string key, string());
      if (!accept(':')) return wrong("':'");
      if (key == "descr" && !has_descr) {
        HONE_CHECK(descr(out));
        has_descr = true;
      } else if (key == "fortran_order" && !has_order) {
        HONE_CHECK(order());
        has_order = true;
      } else if (key == "shape" && !has_shape) {
        HONE_CHECK(shape(out));
        has_shape = true;
      } else {
        return usage_error(
            fmt::format("{}: unknown or repeated key '{}' in the header", what_, scrub(key, 40)));
      }
      if (!accept(',')) {
        if (!accept('}')) return wrong("',' or '}'");
        break;
      }
    }
    if (!has_descr || !has_order || !has_shape)
      return usage_error(fmt::format("{}: the header lacks descr, fortran_order or shape", what_));
    return {};
  }

 private:
  Error wrong(std::string_view expected) const {
    return usage_error(
        fmt::format("{}: broken header at byte {}, expected {}", what_, at_, expected));
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
  }
  bool accept(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Result<std::string> string() {
    blanks();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return wrong("a string");
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return wrong("the end of a string");
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }
  Status descr(Npy& out) {
    blanks();
    if (at_ < text_.size() && text_[at_] == '[')
      return usage_error(fmt::format("{}: its elements are records, expected numbers", what_),
                         "Save one field as an array of its own");
    HONE_TRY(const std::string text, string());
    const char byte_order = text.empty() ? ' ' : text[0];
    if (byte_order == '>')
      return usage_error(fmt::format("{}: its elements '{}' are big-endian, expected little-endian",
                                     what_, scrub(text, 20)),
                         "Save it with array.astype(array.dtype.newbyteorder('<'))");
    for (const Descr& known : kDescr)
      if ((byte_order == '<' || byte_order == '|' || byte_order == '=') &&
          text.substr(1) == known.code) {
        out.dtype = known.dtype;
        return {};
      }
    return usage_error(fmt::format("{}: its elements are '{}', expected f8 f4 f2 i8 i4 i2 i1 u8 u4 "
                                   "u2 u1 b1 or V2 (bfloat16)",
                                   what_, scrub(text, 20)),
                       "Convert the array with astype before saving it");
  }
  Status order() {
    blanks();
    const std::string_view rest = text_.substr(std::min(at_, text_.size()));
    if (rest.substr(0, 5) == "False") {
      at_ += 5;
      return {};
    }
    if (rest.substr(0, 4) == "True")
      return usage_error(fmt::format("{}: it is in Fortran order, expected C order", what_),
                         "Save numpy.ascontiguousarray(array)");
    return wrong("True or False");
  }
  Status shape(Npy& out) {
    if (!accept('(')) return wrong("'('");
    while (!accept(')')) {
      blanks();
      std::int64_t extent = -1;
      const auto [stop, error] =
          std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0) return wrong("an extent of at least 0");
      at_ = static_cast<std::size_t>(stop - text_.data());
      if (out.shape.size() == 32) return wrong("at most 32 axes");
      out.shape.push_back(extent);
      if (!accept(',')) {
        if (!accept(')')) return wrong("',' or ')'");
        break;
      }
    }
    return {};
  }

  std::string_view text_;
  std::string_view what_;
  std::size_t at_ = 0;
};

/// Bytes of the elements; false: more than 2^63.
bool bytes_of_array(const Npy& array, std::int64_t& bytes) {
  bytes = static_cast<std::int64_t>(size_of(array.dtype));
  for (const std::int64_t extent : array.shape)
    if (extent == 0) {
      bytes = 0;
      return true;
    }
  for (const std::int64_t extent : array.shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes)) return false;
  return true;
}

std::string tuple(const std::vector<std::int64_t>& shape) {
  std::string out = "(";
  for (const std::int64_t extent : shape)
    out += fmt::format("{},{}", extent, shape.size() == 1 ? "" : " ");
  if (shape.size() > 1) out.resize(out.size() - 2);
  return out + ")";
}

}  // namespace

Result<Npy> parse_npy(std::string_view bytes, std::string_view what) {
  if (bytes.size() < 10 || bytes.substr(0, 6) != kMagic)
    return usage_error(
        fmt::format("{} is not a .npy file: it does not begin with \\x93NUMPY", what),
        "Save it with numpy.save");
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
  };
  const std::size_t major = byte(6);
  if (major < 1 || major > 3)
    return usage_error(
        fmt::format("{}: version {} of the .npy format, expected 1, 2 or 3", what, major));
  const std::size_t start = major == 1 ? 10 : 12;
  if (bytes.size() < start) return usage_error(fmt::format("{} is cut off in its header", what));
  const std::size_t length = major == 1 ? byte(8) | byte(9) << 8
                                        : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - start)
    return usage_error(fmt::format("{} is cut off in its header", what));
  Npy out;
  HONE_CHECK(Header(bytes.substr(start, length), what).read(out));
  const std::string_view data = bytes.substr(start + length);
  std::int64_t expected = 0;
  if (!bytes_of_array(out, expected))
    return usage_error(fmt::format("{}: its shape overflows 64 bits", what));
  if (data.size() != static_cast<std::size_t>(expected))
    return usage_error(fmt::format("{}: {} bytes of elements, expected {} for shape {} of {}", what,
                                   data.size(), expected, tuple(out.shape), name_of(out.dtype)),
                       data.size() < static_cast<std::size_t>(expected)
                           ? "The file is cut off: copy it again"
                           : "");
  out.bytes = std::string(data);
  return out;
}

Result<Npy> read_npy(const fs::path& path) {
  HONE_TRY(const std::string bytes, read_file(path, std::size_t{1} << 34));
  return parse_npy(bytes, path.string());
}

Status write_npy(const fs::path& path, const Npy& array) {
  std::int64_t expected = 0;
  if (!bytes_of_array(array, expected) || array.bytes.size() != static_cast<std::size_t>(expected))
    return bug_error(fmt::format("write_npy {}: {} bytes for shape {} of {}", path.string(),
                                 array.bytes.size(), tuple(array.shape), name_of(array.dtype)));
  const Descr* descr = std::find_if(std::begin(kDescr), std::end(kDescr),
                                    [&](const Descr& d) { return d.dtype == array.dtype; });
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}",
                  size_of(array.dtype) == 1 || array.dtype == DType::bf16 ? '|' : '<', descr->code,
                  tuple(array.shape));
  // The elements begin at a multiple of 64, as NumPy wants; the header ends in a newline.
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  return write_file(path, out + header + array.bytes);
}

Status file_fits(const Tensor& input, const Npy& array, const std::vector<std::int64_t>& shape) {
  const bool one_element =
      shape.empty() && (array.shape.empty() || array.shape == std::vector<std::int64_t>{1});
  const bool same_rest = shape.size() == array.shape.size() && !shape.empty() &&
                         std::equal(shape.begin() + 1, shape.end(), array.shape.begin() + 1);
  if (one_element || (same_rest && shape[0] <= array.shape[0])) return {};
  return usage_error(
      fmt::format("the file '{}' has shape {}, expected {} for input '{}' (or more rows)",
                  input.values.file, tuple(array.shape), tuple(shape), input.name));
}

}  // namespace hone::task
