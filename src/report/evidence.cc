#include "report/evidence.h"

#include <fmt/format.h>

#include "base/text.h"

namespace hone::report {
namespace {

using judge::Answer;

std::string speedup_text(const judge::Verdict& v) { return ratio_text(v.geomean, v.geomean_low, v.geomean_high); }

/// Why a timing gives no ratio: the reason of the first case that is invalid.
std::string why_invalid(const judge::Verdict& v) {
  for (const judge::Speed& speed : v.speeds)
    if (speed.answer == Answer::invalid && !speed.reason.empty())
      return fmt::format("case {}: {}", speed.case_label, speed.reason);
  return "nothing was measured";
}

class Comparing {
 public:
  explicit Comparing(ReplayReport& report) : report_(report) {}

  void run() {
    const judge::Verdict &then = report_.then, &now = report_.now;
    correctness(then, now);
    if (then.machine_code_hash != now.machine_code_hash)
      note("the machine code differs (another compiler or processor): compared by behaviour");
    if (!then.speeds.empty() && !now.speeds.empty() && now.correct) timing(then, now);
  }

 private:
  void correctness(const judge::Verdict& then, const judge::Verdict& now) {
    if (now.cls == judge::Class::undecided)
      decide(Replayed::cannot_be_compared, "undecided, " + (now.failure ? now.failure->message : "no reason is known"));
    else if (then.correct != now.correct)
      decide(Replayed::not_reproduced,
             now.correct ? "it is correct now" : "it is not correct: " + (now.failure ? now.failure->message : ""));
    else if (then.cls != now.cls)
      decide(Replayed::not_reproduced, fmt::format("class {} then, {} now", judge::name_of(then.cls), judge::name_of(now.cls)));
  }

  void timing(const judge::Verdict& then, const judge::Verdict& now) {
    if (then.device != now.device)
      return decide(Replayed::cannot_be_compared, "times are from another device: " + then.device);
    if (now.answer == Answer::invalid)
      return decide(Replayed::cannot_be_compared, "invalid, the timing now: " + why_invalid(now));
    if (then.answer == Answer::invalid)
      return decide(Replayed::cannot_be_compared, "invalid, the timing then: " + why_invalid(then));
    const std::string both = fmt::format("speed-up {} then, {} now", speedup_text(then), speedup_text(now));
    if (now.answer == Answer::undecided)
      return decide(Replayed::cannot_be_compared, "undecided, the interval now is too wide to tell: " + both);
    const bool overlap = now.geomean_low <= then.geomean_high && then.geomean_low <= now.geomean_high;
    // Two runs on two occasions differ by more than either's interval knows of; a tenth is still the same story.
    constexpr double kDrift = 1.10;
    if (overlap || (now.geomean < then.geomean * kDrift && now.geomean > then.geomean / kDrift)) return note(both);
    decide(Replayed::not_reproduced, both);
  }

  void note(std::string reason) { report_.reasons.push_back(std::move(reason)); }
  /// "Not reproduced" outweighs "cannot be compared".
  void decide(Replayed answer, std::string reason) {
    if (report_.answer == Replayed::reproduced || (answer == Replayed::not_reproduced && report_.answer != answer)) {
      report_.answer = answer;
      report_.reasons.insert(report_.reasons.begin(), std::move(reason));
    } else {
      note(std::move(reason));
    }
  }

  ReplayReport& report_;
};

std::string depth_text(const ExportReport& r) {
  if (r.best.depth == judge::Depth::verify) return "verified";
  return fmt::format("screened only, never verified in full; hone verify {} {} does it", shell_word(r.folder + "/task"),
                     shell_word(r.kernel));
}

}  // namespace

std::string to_text(const ExportReport& r, const Style& style) {
  return fields(style, {{"kernel", r.kernel},
                        {"speed-up", fmt::format("{}, class {}", ratio_text(r.best.ratio, r.best.low, r.best.high), judge::name_of(r.best.cls))},
                        {"depth", depth_text(r)},
                        {"evidence", r.folder},
                        {"again", "hone replay " + shell_word(r.folder)}});
}

Json to_json(const ExportReport& r) {
  return {{"document", "export"}, {"version", 1}, {"run", r.run}, {"folder", r.folder}, {"kernel", r.kernel},
          {"depth", judge::name_of(r.best.depth)}, {"class", judge::name_of(r.best.cls)},
          {"ratio", number(r.best.ratio)}, {"low", number(r.best.low)}, {"high", number(r.best.high)}};
}

const char* name_of(Replayed answer) {
  switch (answer) {
    case Replayed::reproduced: return "reproduced";
    case Replayed::not_reproduced: return "not reproduced";
    case Replayed::cannot_be_compared: return "cannot be compared";
  }
  return "cannot be compared";
}

ReplayReport replay_report(std::string folder, judge::Verdict then, judge::Verdict now) {
  ReplayReport report{std::move(folder), Replayed::reproduced, {}, std::move(then), std::move(now)};
  Comparing(report).run();
  return report;
}

std::string to_text(const ReplayReport& r, const Style& style) {
  const Paint paint_of = r.answer == Replayed::reproduced ? Paint::good
                         : r.answer == Replayed::not_reproduced ? Paint::bad : Paint::warn;
  std::string out = paint(style, paint_of, name_of(r.answer));
  std::size_t first = 0;
  if (r.answer != Replayed::reproduced && !r.reasons.empty()) out += ": " + scrub(r.reasons[first++], 4096);
  out += "\n";
  for (std::size_t i = first; i < r.reasons.size(); ++i) out += "  " + scrub(r.reasons[i], 4096) + "\n";
  return out;
}

Json to_json(const ReplayReport& r) {
  return {{"document", "replay"}, {"version", 1}, {"answer", name_of(r.answer)}, {"reasons", r.reasons},
          {"folder", r.folder}, {"then", judge::to_json(r.then)}, {"now", judge::to_json(r.now)}};
}

}  // namespace hone::report
