#include "propose/recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "stats/summary.h"

namespace hone::propose {
namespace {

struct Row {
  std::vector<std::string_view> cells;
  double ns = 0;
};

Result<Row> parse_row(std::string_view line, std::size_t knobs, std::string_view where) {
  Row row;
  row.cells = split(line, ',');
  if (row.cells.size() != knobs + 1)
    return usage_error(fmt::format("{}: {} cells, expected {}", where, row.cells.size(), knobs + 1));
  const std::string_view time = row.cells.back();
  row.cells.pop_back();
  if (time == "wrong") return row;
  const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), row.ns);
  if (error != std::errc() || end != time.data() + time.size() || !(row.ns > 0) || !std::isfinite(row.ns))
    return usage_error(fmt::format("{}: '{}' is neither nanoseconds nor 'wrong'", where, time));
  return row;
}

}  // namespace

Result<Recorded> Recorded::parse(std::string_view text, std::string_view what) {
  Recorded recorded;
  recorded.candidate_.path = what;
  std::vector<candidate::Tunable>& knobs = recorded.candidate_.tunables;
  std::vector<Row> rows;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    const std::string where = fmt::format("{}:{}", what, number);
    if (knobs.empty()) {
      const auto names = split(line, ',');
      if (names.size() < 2 || names.back() != "ns") return usage_error(where + ": expected the knobs' names and 'ns'");
      for (std::size_t k = 0; k + 1 < names.size(); ++k) knobs.push_back({std::string(names[k]), {}});
      continue;
    }
    HONE_TRY(Row row, parse_row(line, knobs.size(), where));
    for (std::size_t k = 0; k < knobs.size(); ++k) {
      auto& values = knobs[k].values;
      if (std::find(values.begin(), values.end(), row.cells[k]) == values.end()) values.emplace_back(row.cells[k]);
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return usage_error(fmt::format("{}: no points", what));

  recorded.map_ = std::make_shared<std::unordered_map<std::uint64_t, double>>();
  const Space product(knobs, [](const candidate::Assignment&) { return true; });
  std::vector<double> correct;
  for (const Row& row : rows) {
    candidate::Assignment assignment;
    for (std::size_t k = 0; k < knobs.size(); ++k) assignment[knobs[k].name] = row.cells[k];
    if (!recorded.map_->emplace(product.index(*product.point(assignment)), row.ns).second)
      return usage_error(fmt::format("{}: the point {} occurs twice", what, candidate::to_json(assignment).dump()));
    recorded.times_.push_back(row.ns);
    if (row.ns > 0) correct.push_back(row.ns);
  }
  if (correct.empty()) return usage_error(fmt::format("{}: no correct point", what));
  recorded.wrong_ = rows.size() - correct.size();
  recorded.best_ns_ = *std::min_element(correct.begin(), correct.end());
  recorded.median_ns_ = stats::median(correct);
  recorded.space_ = std::make_shared<Space>(knobs, [map = recorded.map_, product](const candidate::Assignment& assignment) {
    const auto point = product.point(assignment);
    return point && map->count(product.index(*point)) > 0;
  });
  return recorded;
}

Result<Recorded> Recorded::read(const std::string& path) {
  HONE_TRY(const std::string text, read_file(path));
  return parse(text, path);
}

std::optional<double> Recorded::time_ns(const candidate::Assignment& assignment) const {
  const auto point = space_->point(assignment);
  if (!point) return std::nullopt;
  const auto found = map_->find(space_->index(*point));
  return found == map_->end() ? std::nullopt : std::optional(found->second);
}

std::size_t Recorded::within(double share) const {
  return static_cast<std::size_t>(std::count_if(times_.begin(), times_.end(), [&](double ns) {
    return ns > 0 && ns <= best_ns_ / share;
  }));
}

Outcome RecordedJudge::judge(const Proposal& proposal, std::uint64_t salt) const {
  Outcome outcome;
  const double ns = recorded_.time_ns(proposal.assignment).value_or(0);
  const double other = proposal.against ? recorded_.time_ns(*proposal.against).value_or(0) : recorded_.median_ns();
  if (ns == 0 || other == 0) return outcome;
  std::string question = candidate::to_json(proposal.assignment).dump();
  if (proposal.against) question += candidate::to_json(*proposal.against).dump();
  stats::Random random(fingerprint(std::as_bytes(std::span(question)), seed_ * 1000003 + salt));
  outcome.correct = true;
  outcome.speedup = other / ns * std::exp(noise_ * random.normal());
  outcome.low = outcome.speedup * std::exp(-1.96 * noise_);
  outcome.high = outcome.speedup * std::exp(1.96 * noise_);
  return outcome;
}

}  // namespace hone::propose
