#include "candidate/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "base/text.h"
#include "code/plan.h"

namespace hone::candidate {
namespace {

// Bounds the work on a space whose constraints leave little or nothing: about two seconds.
constexpr std::size_t kMaxSteps = 2'000'000;

/// Something that must hold: an expression of the plan or a limit of the task.
struct Check {
  std::size_t depth = 0;  // known once the first `depth` tunables are chosen
  bool uses_dims = false;
  std::function<bool(const task::Dims&)> holds;
};

class Space {
 public:
  Space(const Candidate& candidate, const task::Task& task) : candidate_(candidate) {
    for (const task::Case& c : task.cases) {
      if (c.time) names_.push_back(c.dims);
    }
    if (names_.empty()) {
      for (const task::Case& c : task.cases) names_.push_back(c.dims);
    }
    if (names_.empty()) names_.emplace_back();
    for (const auto& constraint : candidate.constraints) {
      add({constraint}, [constraint](const task::Dims& names) {
        const auto value = constraint.evaluate(names);
        return value.ok() && *value != 0;
      });
    }
    for (const Function& function : candidate.functions) {
      if (candidate.lane == "cuda")
        add_launch(function);
      else
        add_threads(function, task.limits.threads);
    }
    if (!candidate.scratch.empty()) add_scratch(task.limits.scratch_bytes);
  }

  void choose(std::size_t tunable, const std::string& value) {
    const Tunable& t = candidate_.tunables[tunable];
    const auto integer = code::integer_value(value);
    for (task::Dims& names : names_) {
      if (integer)
        names[t.name] = *integer;
      else
        names.erase(t.name);
    }
  }

  /// Everything that is decided by the first `depth` tunables and not by fewer.
  bool holds_at(std::size_t depth) const {
    for (const Check& check : checks_) {
      if (check.depth == depth && !holds(check)) return false;
    }
    return true;
  }
  bool holds_all() const {
    return std::all_of(checks_.begin(), checks_.end(),
                       [&](const Check& check) { return holds(check); });
  }
  bool free_of_checks() const { return checks_.empty(); }

 private:
  bool holds(const Check& check) const {
    if (!check.uses_dims) return check.holds(names_.front());
    return std::all_of(names_.begin(), names_.end(), check.holds);
  }

  void add(const std::vector<task::Expression>& expressions,
           std::function<bool(const task::Dims&)> test) {
    Check check{0, false, std::move(test)};
    for (const auto& expression : expressions) {
      for (const std::string& name : expression.names()) {
        const auto at = std::find_if(candidate_.tunables.begin(), candidate_.tunables.end(),
                                     [&](const auto& t) { return t.name == name; });
        if (at == candidate_.tunables.end())
          check.uses_dims = true;
        else
          check.depth =
              std::max(check.depth, static_cast<std::size_t>(at - candidate_.tunables.begin()) + 1);
      }
    }
    checks_.push_back(std::move(check));
  }

  void add_threads(const Function& function, int limit) {
    if (function.threads == "1") return;
    auto threads = task::Expression::parse(function.threads);
    if (!threads) return;  // parse() has read it before
    const task::Expression expression = *threads;
    add({expression}, [expression, limit](const task::Dims& names) {
      const auto value = expression.evaluate(names);
      return value.ok() && *value >= 1 && *value <= limit;
    });
  }

  /// What holds on every device; its own limits are the static gate's.
  void add_launch(const Function& function) {
    constexpr std::int64_t kMostThreads = 1024, kMostGridX = 0x7FFFFFFF, kMostGridYZ = 65535;
    constexpr std::array<std::int64_t, 3> kMostBlock = {1024, 1024, 64};
    constexpr std::array<std::int64_t, 3> kMostGrid = {kMostGridX, kMostGridYZ, kMostGridYZ};
    const auto bounded = [&](const std::vector<std::string>& extents, std::int64_t least,
                             const std::array<std::int64_t, 3>& most, std::int64_t most_in_all) {
      std::vector<task::Expression> all;
      for (const std::string& text : extents) {
        auto extent = task::Expression::parse(text);
        if (!extent) return;  // parse() has read it before
        all.push_back(*extent);
      }
      add(all, [all, least, most, most_in_all](const task::Dims& names) {
        std::int64_t product = 1;
        for (std::size_t i = 0; i < all.size(); ++i) {
          const auto value = all[i].evaluate(names);
          if (!value.ok() || *value < least || *value > most[i]) return false;
          product *= std::max<std::int64_t>(*value, 1);
          if (product > most_in_all) return false;
        }
        return true;
      });
    };
    bounded(function.block, 1, kMostBlock, kMostThreads);
    bounded(function.grid, 0, kMostGrid, std::numeric_limits<std::int64_t>::max() >> 32);
  }

  void add_scratch(std::int64_t limit) {
    std::vector<task::Expression> extents;
    for (const Scratch& scratch : candidate_.scratch)
      extents.insert(extents.end(), scratch.shape.begin(), scratch.shape.end());
    const std::vector<Scratch> all = candidate_.scratch;
    add(extents, [all, limit](const task::Dims& names) {
      std::int64_t total = 0;
      for (const Scratch& scratch : all) {
        std::int64_t bytes = static_cast<std::int64_t>(task::size_of(scratch.dtype));
        for (const auto& extent : scratch.shape) {
          const auto value = extent.evaluate(names);
          if (!value.ok() || *value < 0 || __builtin_mul_overflow(bytes, *value, &bytes))
            return false;
        }
        if (__builtin_add_overflow(total, bytes, &total) || total > limit) return false;
      }
      return true;
    });
  }

  const Candidate& candidate_;
  std::vector<task::Dims> names_;  // a timed case's dims and what is chosen so far
  std::vector<Check> checks_;
};

/// Calls `visit` for each valid point in the order written; `visit` answers whether to go on. False
/// when the steps ran out.
bool enumerate(const Candidate& candidate, Space& space,
               const std::function<bool(const Assignment&)>& visit) {
  const std::size_t count = candidate.tunables.size();
  if (!space.holds_at(0)) return true;
  std::vector<std::size_t> index(count, 0);
  Assignment chosen;
  std::size_t depth = 0, steps = 0;
  if (count == 0) {
    visit(chosen);
    return true;
  }
  while (true) {
    if (index[depth] == candidate.tunables[depth].values.size()) {
      if (depth == 0) return true;
      index[depth--] = 0;
      ++index[depth];
      continue;
    }
    if (++steps > kMaxSteps) return false;
    const Tunable& tunable = candidate.tunables[depth];
    const std::string& value = tunable.values[index[depth]];
    chosen[tunable.name] = value;
    space.choose(depth, value);
    const bool valid = space.holds_at(depth + 1);
    if (valid && depth + 1 < count) {
      index[++depth] = 0;
      continue;
    }
    if (valid && !visit(chosen)) return true;
    ++index[depth];
  }
}

std::vector<std::string> names_of(const Candidate& candidate, const task::Task& task) {
  std::vector<std::string> names = task.dim_names();
  for (const Tunable& tunable : candidate.tunables) names.push_back(tunable.name);
  return names;
}

Status check_expression(const Candidate& candidate, const task::Expression& expression,
                        const std::string& what, const std::vector<std::string>& known) {
  for (const std::string& name : expression.names()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return usage_error(
        fmt::format("{}: {}: '{}' in '{}' is neither a tunable nor a dim of the task{}",
                    candidate.path, what, name, expression.text(), did_you_mean(name, known)),
        fmt::format("known here: {}", fmt::join(known, ", ")));
  }
  return {};
}

Error no_point(const Candidate& candidate) {
  std::vector<std::string> texts;
  for (const auto& constraint : candidate.constraints) texts.push_back(constraint.text());
  return usage_error(fmt::format("{}: no choice of the tunables satisfies every constraint{}{}",
                                 candidate.path, texts.empty() ? "" : ": ", fmt::join(texts, "; ")),
                     "loosen a hone:require line or add values; threads and scratch must stay "
                     "within the task's [limits]");
}

}  // namespace

Status check_names(const Candidate& candidate, const task::Task& task) {
  const auto dims = task.dim_names();
  for (const Tunable& tunable : candidate.tunables) {
    if (std::find(dims.begin(), dims.end(), tunable.name) != dims.end()) {
      return usage_error(fmt::format("{}: the tunable '{}' has the name of a dim of the task",
                                     candidate.path, tunable.name),
                         "rename the tunable");
    }
  }
  const auto known = names_of(candidate, task);
  for (const auto& constraint : candidate.constraints) {
    HONE_CHECK(check_expression(candidate, constraint, "hone:require", known));
  }
  for (const Scratch& scratch : candidate.scratch) {
    for (const auto& extent : scratch.shape) {
      HONE_CHECK(
          check_expression(candidate, extent, fmt::format("scratch '{}'", scratch.name), known));
    }
  }
  for (const Function& function : candidate.functions) {
    HONE_TRY(auto threads, task::Expression::parse(function.threads));
    HONE_CHECK(
        check_expression(candidate, threads, fmt::format("threads of '{}'", function.name), known));
  }
  return {};
}

Status check_assignment(const Candidate& candidate, const Assignment& assignment) {
  std::vector<std::string> known;
  for (const Tunable& tunable : candidate.tunables) {
    known.push_back(tunable.name);
    const auto at = assignment.find(tunable.name);
    if (at == assignment.end()) {
      return usage_error(fmt::format("{}: tunable '{}' has no value", candidate.path, tunable.name),
                         fmt::format("choose one of {}", fmt::join(tunable.values, " ")));
    }
    if (std::find(tunable.values.begin(), tunable.values.end(), at->second) ==
        tunable.values.end()) {
      return usage_error(fmt::format("{}: tunable '{}': found '{}', expected one of {}",
                                     candidate.path, tunable.name, scrub(at->second, 60),
                                     fmt::join(tunable.values, " ")));
    }
  }
  for (const auto& [name, value] : assignment) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return usage_error(fmt::format("{}: found a value for '{}', which is no tunable{}",
                                     candidate.path, scrub(name, 60), did_you_mean(name, known)));
    }
  }
  return {};
}

bool satisfies(const Candidate& candidate, const Assignment& assignment, const task::Task& task) {
  if (!check_assignment(candidate, assignment).ok()) return false;
  Space space(candidate, task);
  for (std::size_t i = 0; i < candidate.tunables.size(); ++i)
    space.choose(i, assignment.at(candidate.tunables[i].name));
  return space.holds_all();
}

Result<Assignment> default_assignment(const Candidate& candidate, const task::Task& task) {
  HONE_CHECK(check_names(candidate, task));
  Assignment first;
  for (const Tunable& tunable : candidate.tunables) first[tunable.name] = tunable.values.front();
  if (satisfies(candidate, first, task)) return first;
  // One change keeps most of what the author wrote first.
  for (const Tunable& tunable : candidate.tunables) {
    Assignment changed = first;
    for (const std::string& value : tunable.values) {
      changed[tunable.name] = value;
      if (satisfies(candidate, changed, task)) return changed;
    }
  }
  Space space(candidate, task);
  Assignment found;
  bool any = false;
  const bool finished = enumerate(candidate, space, [&](const Assignment& point) {
    found = point;
    any = true;
    return false;
  });
  if (any) return found;
  if (finished) return no_point(candidate);
  return usage_error(fmt::format("{}: found no valid choice of the tunables in {} steps",
                                 candidate.path, kMaxSteps),
                     "put the tunables that constraints tie together next to each other, or write "
                     "a valid choice first");
}

Result<std::vector<Assignment>> all_assignments(const Candidate& candidate, const task::Task& task,
                                                std::size_t limit) {
  HONE_CHECK(check_names(candidate, task));
  Space space(candidate, task);
  const auto too_many = [&](const std::string& count) {
    return usage_error(fmt::format("{}: the tunables have {} valid points, more than {}",
                                   candidate.path, count, limit),
                       "search it by descent, or raise the limit");
  };
  if (space.free_of_checks()) {
    std::size_t product = 1;
    for (const Tunable& tunable : candidate.tunables) {
      if (__builtin_mul_overflow(product, tunable.values.size(), &product))
        return too_many("more than 2^64");
    }
    if (product > limit) return too_many(std::to_string(product));
  }
  std::vector<Assignment> points;
  std::size_t count = 0;
  const bool finished = enumerate(candidate, space, [&](const Assignment& point) {
    if (++count <= limit) points.push_back(point);
    return true;
  });
  if (count > limit)
    return too_many(finished ? std::to_string(count) : fmt::format("more than {}", count));
  if (!finished) {
    return usage_error(fmt::format("{}: {} steps did not visit every choice of the tunables",
                                   candidate.path, kMaxSteps),
                       "put the tunables that constraints tie together next to each other");
  }
  if (points.empty()) return no_point(candidate);
  return points;
}

}  // namespace hone::candidate
