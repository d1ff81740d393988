#include "lane/cuda/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace hone::lane {
namespace {

// Options with an integer of at most six digits.
constexpr const char* kNumbered[] = {"--maxrregcount="};

bool is_number(std::string_view text, bool negative) {
  if (negative && text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.size() <= 6 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_definition(std::string_view flag) {
  if (!flag.starts_with("-D")) return false;
  flag.remove_prefix(2);
  const auto equals = flag.find('=');
  if (!is_identifier(flag.substr(0, equals))) return false;
  return equals == std::string_view::npos || is_number(flag.substr(equals + 1), true);
}

bool is_allowed(const std::string& flag) {
  if (is_definition(flag)) return true;
  for (const char* numbered : kNumbered)
    if (flag.starts_with(numbered)) return is_number(std::string_view(flag).substr(std::string_view(numbered).size()), false);
  const auto& all = allowed_cuda_flags();
  return flag.find("=N") == std::string::npos && std::find(all.begin(), all.end(), flag) != all.end();
}

}  // namespace

const std::vector<std::string>& allowed_cuda_flags() {
  static const std::vector<std::string> kAll = {
      "--use_fast_math", "--fmad=true", "--fmad=false", "--ftz=true", "--ftz=false", "--prec-div=true",
      "--prec-div=false", "--prec-sqrt=true", "--prec-sqrt=false", "--extra-device-vectorization",
      "--maxrregcount=N", "--restrict", "--std=c++14", "--std=c++17", "--std=c++20", "-DNAME=INTEGER"};
  return kAll;
}

Status check_cuda_flags(const std::vector<std::string>& flags) {
  for (const std::string& flag : flags)
    if (!is_allowed(flag))
      return usage_error(fmt::format("flag '{}' is not on the cuda lane's list{}", scrub(flag, 80),
                                     did_you_mean(flag, allowed_cuda_flags())),
                         fmt::format("allowed: {}", fmt::join(allowed_cuda_flags(), " ")));
  return {};
}

}  // namespace hone::lane
