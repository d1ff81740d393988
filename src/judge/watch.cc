#include "judge/watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"

namespace hone::judge {

Watch::Watch(double limit_s, const std::atomic<bool>* cancel, Tell tell)
    : limit_s_(limit_s), cancel_(cancel), tell_(std::move(tell)), start_ns_(monotonic_ns()) {}

bool Watch::over() const { return limit_s_ > 0 && static_cast<double>(monotonic_ns() - start_ns_) * 1e-9 >= limit_s_; }

void Watch::tell(const std::string& doing) const {
  if (!tell_) return;
  const double spent_s = static_cast<double>(monotonic_ns() - start_ns_) * 1e-9;
  tell_(doing, limit_s_ > 0 ? std::max(0.0, limit_s_ - spent_s) : -1);
}

Status Watch::next(const std::string& doing) const {
  if (cancelled()) return Error{ErrorCode::cancelled, "interrupted", "", {}};
  tell(doing);
  return {};
}

candidate::Failure out_of_time(const Watch& watch, const char* gate, const std::string& done,
                               const std::vector<std::string>& left_out) {
  candidate::Failure out{gate, "out_of_time",
                         fmt::format("the time limit of {} was over: {}", format_duration_ns(watch.limit_s() * 1e9), done),
                         {{"limit_s", watch.limit_s()}, {"done", done}, {"left_out", left_out}}};
  constexpr std::size_t kTold = 8;  // the evidence has them all
  if (!left_out.empty()) {
    const std::size_t told = std::min(kTold, left_out.size());
    out.message += fmt::format("; left out: {}", fmt::join(left_out.begin(), left_out.begin() + told, ", "));
    if (told < left_out.size()) out.message += fmt::format(" and {} more", left_out.size() - told);
  }
  return out;
}

}  // namespace hone::judge
