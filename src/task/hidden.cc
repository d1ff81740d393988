// Hidden cases: fresh shapes that a candidate's author could not have known.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "task/stream.h"
#include "task/task_check.h"
#include "task/task_file.h"

namespace hone::task {
namespace {

// Beyond 2^31 none is looked for: trial division would take seconds.
constexpr std::int64_t kMostPrime = std::int64_t{1} << 31;
bool is_prime(std::int64_t n) {
  if (n < 2 || n >= kMostPrime) return false;
  for (std::int64_t d = 2; d <= n / d; ++d)
    if (n % d == 0) return false;
  return true;
}
// Above the sizes of vectors, warps and tiles, and a multiple of none of them.
bool is_tail(std::int64_t n) { return n > 16 && n % 16 != 0; }

class Drawer {
 public:
  Drawer(const Task& task, std::uint64_t seed, std::int64_t max_bytes)
      : task_(task), key_(stream_key(seed, "hidden cases")), max_bytes_(max_bytes) {
    const double memory = task.limits.memory_gb * 0x1p30 / 6;
    max_bytes_ = std::min(max_bytes_, static_cast<std::int64_t>(std::min(memory, 0x1p62)));
    for (const Tensor& input : task.inputs)
      if (input.values.kind == Values::Kind::csr && input.values.part == "col")
        groups_.push_back(&input);
  }

  Result<std::vector<Case>> all() {
    std::vector<Case> out;
    for (int i = 0; i < task_.hidden.draws; ++i) {
      HONE_TRY(Dims dims, one());
      // The first is bent to a prime, the last to a tail; with one draw a prime above 16 is both.
      if (i == 0) bend(dims, is_prime);
      if (i == task_.hidden.draws - 1)
        bend(dims, task_.hidden.draws == 1
                       ? +[](std::int64_t n) { return is_tail(n) && is_prime(n); }
                       : is_tail);
      Case made{std::move(dims), false, ""};
      for (const auto& [name, value] : made.dims)
        made.label += fmt::format("{}{}={}", made.label.empty() ? "" : " ", name, value);
      out.push_back(std::move(made));
    }
    return out;
  }

 private:
  double uniform() {
    double u;
    uniforms(key_, Lane::values, next_++, true, &u, 1);
    return u;
  }

  std::int64_t log_uniform(std::int64_t low, std::int64_t high) {
    if (low == high) return low;
    if (low == 0 && uniform() < 1.0 / 16) return 0;
    const double first = static_cast<double>(std::max<std::int64_t>(low, 1));
    const double last = static_cast<double>(high) + 1;
    const double value =
        std::floor(std::exp(std::log(first) + uniform() * (std::log(last) - std::log(first))));
    return std::clamp(static_cast<std::int64_t>(std::min(value, 0x1p62)),
                      std::max<std::int64_t>(low, 1), high);
  }

  Dims base() const {
    if (task_.cases.empty()) return {};
    const auto timed =
        std::find_if(task_.cases.begin(), task_.cases.end(), [](const Case& c) { return c.time; });
    return (timed == task_.cases.end() ? task_.cases.front() : *timed).dims;
  }

  // Stored values are tied to the matrix that holds them, whatever the range says.
  void clamp_groups(Dims& dims) const {
    for (const Tensor* col : groups_) {
      const auto found = dims.find(col->shape[0].text());
      if (found == dims.end()) continue;
      Dims empty = dims;
      empty[found->first] = 0;
      const auto size = csr_size(task_, col->values.group, empty);
      std::int64_t room = 0;
      if (size.ok() && !__builtin_mul_overflow(size->rows, size->columns, &room))
        found->second = std::min(found->second, room);
    }
  }

  /// Error: why no case can have this shape.
  Status check(const Dims& dims) const {
    HONE_TRY(const std::int64_t bytes, total_bytes(task_, dims));
    if (bytes > max_bytes_)
      return usage_error(fmt::format("its tensors are {}, expected at most {}",
                                     format_bytes(static_cast<double>(bytes)),
                                     format_bytes(static_cast<double>(max_bytes_))));
    for (const Tensor* col : groups_) {
      HONE_TRY([[maybe_unused]] const CsrSize size, csr_size(task_, col->values.group, dims));
    }
    for (const Tensor& input : task_.inputs) HONE_CHECK(indices_fit(task_, input, dims));
    return {};
  }
  bool fits(const Dims& dims) const { return check(dims).ok(); }

  // Drawing again keeps the shapes within the cap spread evenly; halving the largest is for caps so
  // low that hardly any draw fits.
  Result<Dims> one() {
    Dims dims = base();
    for (int attempt = 0; attempt < 64; ++attempt) {
      dims = base();
      for (const auto& [name, range] : task_.hidden.ranges)
        dims[name] = log_uniform(range.first, range.second);
      clamp_groups(dims);
      if (fits(dims)) return dims;
    }
    for (int step = 0; step < 64 * 64; ++step) {
      std::string largest;
      for (const auto& [name, range] : task_.hidden.ranges)
        if (dims[name] > range.first && (largest.empty() || dims[name] > dims[largest]))
          largest = name;
      if (largest.empty()) break;
      const std::int64_t low = std::max<std::int64_t>(task_.hidden.ranges.at(largest).first, 1);
      dims[largest] =
          dims[largest] / 2 >= low ? dims[largest] / 2 : task_.hidden.ranges.at(largest).first;
      clamp_groups(dims);
      if (fits(dims)) return dims;
    }
    std::string ranges, last;
    for (const auto& [name, range] : task_.hidden.ranges)
      ranges += fmt::format(" {} = [{}, {}]", name, range.first, range.second);
    for (const auto& [name, value] : dims)
      last += fmt::format("{}{} = {}", last.empty() ? "" : ", ", name, value);
    const Status fault = check(dims);
    return usage_error(
        fmt::format("no shape within{} can be drawn; with {}: {}", ranges, last,
                    fault.ok() ? "" : fault.error().message),
        fmt::format("Change the ranges: six times the tensors must fit [limits] memory_gb, a hidden "
                    "shape has at most {}, and no extent is negative",
                    format_bytes(static_cast<double>(kMostHiddenBytes))));
  }

  // Moves one dim (chosen at random, then the others) to the nearest value below, else above, that
  // `has` what is wanted; leaves all as it is when a dim has it already or none can.
  void bend(Dims& dims, bool (*has)(std::int64_t)) {
    std::vector<std::string> names;
    for (const auto& [name, range] : task_.hidden.ranges) names.push_back(name);
    for (const std::string& name : names)
      if (has(dims[name])) return;
    const auto first = static_cast<std::size_t>(uniform() * static_cast<double>(names.size()));
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string& name = names[(first + i) % names.size()];
      const auto [low, high] = task_.hidden.ranges.at(name);
      for (const std::int64_t direction : {-1, 1}) {
        Dims bent = dims;
        std::int64_t& value = bent[name];
        // Gaps between primes below 2^31 are under 400; beyond, a prime is not worth the search.
        for (int step = 0;
             step < 400 && value >= low && value <= high && value < kMostPrime;
             ++step) {
          const std::int64_t wanted = value;
          if (has(wanted)) {
            clamp_groups(bent);
            if (value == wanted && fits(bent)) {
              dims = std::move(bent);
              return;
            }
            break;
          }
          value += direction;
        }
      }
    }
  }

  const Task& task_;
  std::uint64_t key_;
  std::int64_t max_bytes_;
  std::uint64_t next_ = 0;
  std::vector<const Tensor*> groups_;
};

}  // namespace

Result<std::vector<Case>> draw_hidden_cases(const Task& task, std::uint64_t seed,
                                            std::int64_t max_bytes) {
  return Drawer(task, seed, max_bytes).all();
}

}  // namespace hone::task
