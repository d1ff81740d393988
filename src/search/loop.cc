#include "search/loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "search/bandit.h"

namespace hone::search {
namespace {

struct Key {
  Kind kind;
  std::string proposer;
  std::uint64_t id;
  auto operator<=>(const Key&) const = default;
};

bool screening(Kind kind) { return kind == Kind::screen || kind == Kind::compare; }

class Loop {
 public:
  Loop(std::vector<std::unique_ptr<propose::Proposer>> proposers, Evaluator& evaluator, Journal& journal,
       const LoopOptions& options)
      : proposers_(std::move(proposers)),
        evaluator_(evaluator),
        journal_(journal),
        options_(options),
        clock_(options.clock ? *options.clock : system_clock()),
        bandit_(names()) {}

  Result<LoopResult> run();

 private:
  struct Item {
    Job job;
    std::optional<propose::Outcome> outcome;
    double seconds = 0;
    bool reused = false;  // another proposer's screen of the same source and values
  };

  std::vector<std::string> names() const;
  Status read_journal();
  Status search();
  Status finish();
  std::optional<Ended> ended() const;
  std::vector<Item> next_batch(int arm);
  Job job(Kind kind, const std::string& proposer, propose::Proposal proposal);
  Status judge(std::vector<Item>& items, const Race& race);
  bool reuse(Item& item) const;
  Result<bool> replay(Item& item);
  Status commit(Item& item, Judged judged);
  void count(const Item& item);
  void take(const Item& item);
  void report();

  double elapsed() const;
  /// Log of the best's lower bound, at least that of the baseline.
  double best_log() const {
    return population_.best() ? std::log(std::max(1.0, population_.best()->outcome.low)) : 0;
  }
  bool cancelled() const { return options_.cancel && options_.cancel->load(); }
  /// The search may not eat what is kept back for finalists.
  bool out_of_time() const {
    return options_.budget.seconds && elapsed() >= *options_.budget.seconds * (1 - options_.final_share);
  }
  bool stopped() const { return cancelled() || (!finishing_ && out_of_time()); }

  std::vector<std::unique_ptr<propose::Proposer>> proposers_;
  Evaluator& evaluator_;
  Journal& journal_;
  const LoopOptions& options_;
  Clock& clock_;
  Bandit bandit_;
  Population population_;
  LoopResult result_;

  std::map<Key, Record> records_;      // not yet replayed
  std::set<std::uint64_t> sequences_;  // taken by records
  std::map<std::string, propose::Outcome> screened_;  // by source identity
  std::uint64_t next_sequence_ = 0;
  std::int64_t started_ns_ = 0;
  double before_s_ = 0;    // on the run's clock, by earlier sessions
  double replayed_s_ = 0;  // the run's clock as of the last answer replayed
  bool live_ = false;      // some answer was judged in this session
  int running_ = 0;        // arm whose batch is running, or ran last
  bool finishing_ = false; // a best that was found is verified whatever the clock says
};

/// Proposers of one kind on several candidates are told apart by their position.
std::vector<std::string> Loop::names() const {
  std::vector<std::string> names;
  std::map<std::string, int> seen;
  for (const auto& proposer : proposers_) {
    const int nth = ++seen[proposer->name()];
    names.push_back(nth == 1 ? proposer->name() : fmt::format("{}#{}", proposer->name(), nth));
  }
  return names;
}

Status Loop::read_journal() {
  HONE_TRY(std::vector<Record> records, journal_.records());
  for (Record& record : records) {
    before_s_ = std::max(before_s_, record.elapsed_s);
    sequences_.insert(record.sequence);
    Key key{record.kind, record.proposer, record.proposal_id};
    if (!records_.emplace(std::move(key), std::move(record)).second)
      return bug_error("the journal holds two answers to one question");
  }
  live_ = records_.empty();
  return {};
}

double Loop::elapsed() const {
  if (!live_) return replayed_s_;
  return before_s_ + static_cast<double>(clock_.now_ns() - started_ns_) * 1e-9;
}

std::optional<Ended> Loop::ended() const {
  if (cancelled()) return Ended::cancelled;
  const Budget& budget = options_.budget;
  if (budget.evaluations && result_.evaluations >= *budget.evaluations) return Ended::budget;
  if (out_of_time()) return Ended::budget;
  const Contender* best = population_.best();
  if (budget.target && best && best->outcome.low >= *budget.target) return Ended::target;
  return std::nullopt;
}

Job Loop::job(Kind kind, const std::string& proposer, propose::Proposal proposal) {
  const auto found = records_.find({kind, proposer, proposal.id});
  std::uint64_t sequence = next_sequence_;
  if (found != records_.end()) {
    sequence = found->second.sequence;
  } else {
    while (sequences_.count(sequence)) ++sequence;  // of finalists of an earlier, smaller budget
  }
  next_sequence_ = std::max(next_sequence_, sequence + 1);
  return {kind, sequence, proposer, std::move(proposal)};
}

std::vector<Loop::Item> Loop::next_batch(int arm) {
  int n = options_.batch;
  if (options_.budget.evaluations)
    n = static_cast<int>(std::min<std::int64_t>(n, *options_.budget.evaluations - result_.evaluations));
  const std::string name = names()[static_cast<std::size_t>(arm)];
  std::vector<Item> items;
  for (propose::Proposal& proposal : proposers_[static_cast<std::size_t>(arm)]->ask(n)) {
    const Kind kind = proposal.against ? Kind::compare : Kind::screen;
    items.push_back({job(kind, name, std::move(proposal)), std::nullopt, 0});
  }
  return items;
}

/// True when another proposer had the same point screened: that costs nothing and is not counted again. It needs
/// no record, as a resumed run comes by it the same way.
bool Loop::reuse(Item& item) const {
  if (item.job.kind != Kind::screen) return false;
  const auto found = screened_.find(candidate::source_identity(item.job.proposal.source, item.job.proposal.assignment));
  if (found == screened_.end()) return false;
  item.outcome = found->second;
  item.reused = true;
  return true;
}

/// True when the journal had the answer.
Result<bool> Loop::replay(Item& item) {
  const auto found = records_.find({item.job.kind, item.job.proposer, item.job.proposal.id});
  if (found == records_.end()) return false;
  const Record& record = found->second;
  if (record.assignment != item.job.proposal.assignment || record.against != item.job.proposal.against)
    return usage_error(fmt::format("the journal does not fit: judgement {} of {} was of another point", record.sequence,
                                   record.proposer),
                       "Resume with the task, candidate, seed and version of the run, or start a new one.");
  item.outcome = record.outcome;
  item.seconds = record.seconds;
  replayed_s_ = std::max(replayed_s_, record.elapsed_s);
  records_.erase(found);
  ++result_.replayed;
  count(item);
  report();
  return true;
}

Status Loop::commit(Item& item, Judged judged) {
  if (item.outcome) return bug_error("the evaluator answered one job twice");
  const Job& job = item.job;
  Record record{job.kind, job.sequence, job.proposer, job.proposal.id, job.proposal.assignment, job.proposal.against,
                judged.outcome, judged.seconds, elapsed()};
  HONE_CHECK(journal_.append(record, job.proposal, judged.verdict));
  item.outcome = judged.outcome;
  item.seconds = judged.seconds;
  count(item);
  report();
  return {};
}

/// Fills in what is known or can be judged; items stay open when the run was stopped meanwhile.
Status Loop::judge(std::vector<Item>& items, const Race& race) {
  std::vector<Job> open;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (reuse(items[i])) continue;
    HONE_TRY(const bool known, replay(items[i]));
    if (known) continue;
    open.push_back(items[i].job);
    which.push_back(i);
  }
  if (open.empty()) return {};
  const bool more = std::any_of(records_.begin(), records_.end(), [](const auto& r) { return screening(r.first.kind); });
  if (more && screening(open.front().kind))
    return usage_error("the journal does not fit: it has judgements of points that this run would not ask for",
                       "Resume with the task, candidate, seed and version of the run, or start a new one.");
  live_ = true;
  return evaluator_.evaluate(open, race, [this] { return stopped(); }, [&](std::size_t index, Judged judged) -> Status {
    if (index >= which.size()) return bug_error("the evaluator answered a job that it was not given");
    return commit(items[which[index]], std::move(judged));
  });
}

void Loop::count(const Item& item) {
  if (!screening(item.job.kind)) return;
  ++result_.evaluations;
  if (item.job.kind != Kind::screen) return;
  ++result_.tried;
  result_.correct += item.outcome->correct;
  result_.dropped += item.outcome->dropped;
}

void Loop::take(const Item& item) {
  if (!item.outcome || item.reused || item.job.kind != Kind::screen) return;
  if (!item.outcome->invalid)
    screened_[candidate::source_identity(item.job.proposal.source, item.job.proposal.assignment)] = *item.outcome;
  population_.screened({item.job.proposer, item.job.proposal, *item.outcome, std::nullopt, item.job.sequence});
}

void Loop::report() {
  if (!options_.progress) return;
  Progress progress;
  progress.tried = result_.tried;
  progress.correct = result_.correct;
  progress.dropped = result_.dropped;
  progress.evaluations = result_.evaluations;
  progress.best = population_.best();
  progress.elapsed_s = elapsed();
  if (options_.budget.seconds) progress.left_s = std::max(0.0, *options_.budget.seconds - progress.elapsed_s);
  progress.proposer = names()[static_cast<std::size_t>(running_)];
  progress.explain = proposers_[static_cast<std::size_t>(running_)]->explain();
  progress.replaying = !live_;
  options_.progress(progress);
}

Status Loop::search() {
  std::vector<bool> open(proposers_.size(), true);
  for (;;) {
    if (const auto end = ended()) {
      result_.ended = *end;
      return {};
    }
    const int arm = bandit_.pick(open);
    if (arm < 0) {
      result_.ended = Ended::exhausted;
      return {};
    }
    running_ = arm;
    std::vector<Item> items = next_batch(running_);
    if (items.empty()) {
      // Everything it asked has been told, so it will not ask again.
      open[static_cast<std::size_t>(running_)] = false;
      continue;
    }
    const double before = best_log();
    const Race race = population_.best() ? Race(population_.best()->outcome.low) : Race();
    HONE_CHECK(judge(items, race));
    double seconds = 0;
    bool whole = true;
    for (const Item& item : items) {
      take(item);
      seconds += item.seconds;
      whole = whole && item.outcome;
    }
    if (!whole) {
      if (!stopped()) return bug_error("the evaluator left jobs unanswered");
      result_.ended = cancelled() ? Ended::cancelled : Ended::budget;
      return {};
    }
    for (const Item& item : items)
      proposers_[static_cast<std::size_t>(running_)]->tell(item.job.proposal.id, *item.outcome);
    bandit_.reward(running_, best_log() - before, seconds);
  }
}

/// Elites are timed again; then the best of them by fresh rounds is verified, and if it fails the next.
Status Loop::finish() {
  finishing_ = true;
  const std::size_t n = std::min(population_.members().size(), static_cast<std::size_t>(std::max(1, options_.finalists)));
  const std::vector<Contender> finalists(population_.members().begin(), population_.members().begin() + static_cast<std::ptrdiff_t>(n));
  std::vector<Item> items;
  for (const Contender& c : finalists) items.push_back({job(Kind::retime, c.proposer, c.proposal), std::nullopt, 0});
  HONE_CHECK(judge(items, Race()));
  for (std::size_t i = 0; i < items.size(); ++i)
    if (items[i].outcome) population_.retimed(finalists[i].sequence, *items[i].outcome);
  const auto retimed = [&](std::uint64_t sequence) {
    for (std::size_t i = 0; i < items.size(); ++i)
      if (finalists[i].sequence == sequence) return items[i].outcome.has_value();
    return false;
  };

  // Those that could not be timed again come last: a busy machine says nothing of them, and verifying times them anyway.
  std::vector<Contender> order;
  for (const bool fresh : {true, false})
    for (const Contender& c : population_.members())
      if (c.fresh.has_value() == fresh && retimed(c.sequence)) order.push_back(c);
  result_.elites = population_.members();
  for (Contender& contender : order) {
    if (cancelled()) break;
    std::vector<Item> last = {{job(Kind::verify, contender.proposer, contender.proposal), std::nullopt, 0}};
    HONE_CHECK(judge(last, Race()));
    if (!last[0].outcome) break;
    if (last[0].outcome->correct) {
      result_.best = std::move(contender);
      result_.verified = last[0].outcome;
      return {};
    }
    result_.rejected.push_back(std::move(contender));
  }
  return {};
}

Result<LoopResult> Loop::run() {
  if (proposers_.empty()) return usage_error("no proposer", "Name at least one with --proposers.");
  started_ns_ = clock_.now_ns();
  HONE_CHECK(read_journal());
  HONE_CHECK(search());
  result_.elites = population_.members();
  if (result_.ended != Ended::cancelled) HONE_CHECK(finish());
  if (cancelled()) result_.ended = Ended::cancelled;
  if (!result_.verified && result_.rejected.empty() && population_.best()) result_.best = *population_.best();
  result_.elapsed_s = elapsed();
  Json states = Json::object();
  for (std::size_t i = 0; i < proposers_.size(); ++i) states[names()[i]] = proposers_[i]->save();
  result_.state = {{"bandit", bandit_.save()}, {"proposers", std::move(states)}};
  return std::move(result_);
}

}  // namespace

const char* name_of(Ended ended) {
  switch (ended) {
    case Ended::budget: return "budget";
    case Ended::target: return "target";
    case Ended::exhausted: return "exhausted";
    case Ended::cancelled: return "cancelled";
  }
  return "?";
}

Result<LoopResult> run_loop(std::vector<std::unique_ptr<propose::Proposer>> proposers, Evaluator& evaluator,
                            Journal& journal, const LoopOptions& options) {
  return Loop(std::move(proposers), evaluator, journal, options).run();
}

}  // namespace hone::search
