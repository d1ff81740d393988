#pragma once
// How long a judgement may take, who hears where it stands, and whether it is still wanted. Asked between draws,
// sanitized runs and pairs of processes, so a limit is overrun by one of those at most.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"

namespace hone::judge {

class Watch {
 public:
  /// `left_s` is -1 where there is no limit.
  using Tell = std::function<void(const std::string& doing, double left_s)>;
  /// The clock starts here. `limit_s` 0: no limit.
  explicit Watch(double limit_s = 0, const std::atomic<bool>* cancel = nullptr, Tell tell = {});
  /// Says what comes next; an Error when whoever asked for the judgement has cancelled it.
  Status next(const std::string& doing) const;
  void tell(const std::string& doing) const;
  bool cancelled() const { return cancel_ && cancel_->load(); }
  bool over() const;
  double limit_s() const { return limit_s_; }

 private:
  double limit_s_;
  const std::atomic<bool>* cancel_;
  Tell tell_;
  std::int64_t start_ns_;
};

/// "out_of_time" of a gate: what was done by then and what was not.
candidate::Failure out_of_time(const Watch& watch, const char* gate, const std::string& done,
                               const std::vector<std::string>& left_out);

}  // namespace hone::judge
