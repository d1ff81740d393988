#include "judge/watch.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"

namespace hone::judge {
namespace {

constexpr const char* kWord = "out_of_time";

}  // namespace

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
  candidate::Failure out{gate, kWord,
                         fmt::format("the time limit of {} was over: {}", format_duration_ns(watch.limit_s() * 1e9), done),
                         {{"limit_s", watch.limit_s()}, {"done", done}, {"left_out", left_out}}};
  if (!left_out.empty()) out.message += fmt::format("; left out: {}", fmt::join(left_out, ", "));
  return out;
}

bool is_out_of_time(const candidate::Failure& failure) { return failure.reason == kWord; }

}  // namespace hone::judge
