#include "cli/cli.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/help.h"
#include "hone/hone.h"
#include "report/health.h"
#include "report/progress.h"
#include "report/style.h"

namespace hone::cli {
namespace {

/// CLI11's own range lets NaN through, as it is neither below nor above, and its conversion takes "+5" and " 5".
CLI::Validator number_between(double low, double high) {
  return CLI::Validator(
      [low, high](std::string& text) {
        std::string_view rest;
        const auto x = leading_number(text, rest);
        if (x && rest.empty() && *x >= low && *x <= high) return std::string();
        return fmt::format("'{}' is not a number from {:g} to {:g}", text, low, high);
      },
      "");
}

/// A whole number of 64 bits: what conversion alone would wrap or cut is refused.
CLI::Validator a_seed() {
  return CLI::Validator(
      [](std::string& text) {
        std::uint64_t seed = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
        if (error == std::errc() && end == text.data() + text.size()) return std::string();
        return fmt::format("'{}' is not a whole number from 0 to 2^64 - 1", text);
      },
      "");
}

/// One of a fixed list of words.
CLI::Validator one_of(std::vector<std::string> known) {
  return CLI::Validator(
      [known = std::move(known)](std::string& text) {
        if (std::find(known.begin(), known.end(), text) != known.end()) return std::string();
        return fmt::format("'{}' is none of {}{}", text, fmt::join(known, ", "), did_you_mean(text, known));
      },
      "");
}

std::atomic<bool> interrupted{false};

/// The first Ctrl-C stops cleanly; the second ends at once.
void on_interrupt(int) {
  if (interrupted.exchange(true)) ::_exit(130);
}

struct Flags {
  bool json = false, quiet = false, verbose = false;
};

/// "KEY=VALUE" pairs of --set.
Result<Tunables> parse_tunables(const std::vector<std::string>& pairs) {
  Tunables out;
  for (const std::string& pair : pairs) {
    const std::size_t at = pair.find('=');
    if (at == std::string::npos || at == 0)
      return usage_error(fmt::format("--set {} is not NAME=VALUE", pair), "Write --set THREADS=2");
    out[pair.substr(0, at)] = pair.substr(at + 1);
  }
  return out;
}

/// "300s", "20min", "0" of --time-limit and --verify-limit.
Result<double> parse_limit(std::string_view option, std::string_view text) {
  std::string_view unit;
  const auto value = leading_number(trim(text), unit);
  if (value && *value == 0 && unit.empty()) return 0.0;
  if (!value || !(*value >= 0) || seconds_in(unit) == 0)
    return usage_error(fmt::format("{} {} is not a time", option, text), "Write 300s, 20min or 1h; 0 for no limit");
  return *value * seconds_in(unit);
}

/// Everything the verbs read their options into.
struct Requests {
  OptimizeRequest optimize;
  VerifyRequest verify;
  BenchRequest bench, compare;
  AuditRequest audit;
  ArchiveRequest runs, show;
  ExportRequest export_;
  ReplayRequest replay;
  DoctorRequest doctor;
  InitRequest init;
  std::vector<std::string> verify_set, bench_set;
  std::string verify_limit = "300s", replay_limit = "300s", audit_limit = "600s", finalists_limit;
  bool no_timing = false, no_memory = false, replay_no_timing = false;
};

void common_options(CLI::App* app, Common* common, Flags* flags) {
  app->add_flag("--json", flags->json);
  app->add_flag("--quiet,-q", flags->quiet);
  app->add_flag("--verbose,-v", flags->verbose);
  app->add_flag("--explain", common->explain);
  app->add_flag("--stats", common->stats);
  app->add_flag("--unsafe", common->unsafe);
  app->add_option("--archive", common->archive);
  app->add_option("--compiler", common->compiler)->check(one_of({"g++", "clang++"}));
}

using Call = std::function<Result<Document>()>;

template <typename T>
Result<Document> as_document(Result<T> result) {
  if (!result.ok()) return std::move(result).error();
  return static_cast<Document>(std::move(result).value());
}

struct Verb {
  CLI::App* app;
  Common* common;
  Call call;
};

std::vector<Verb> make_verbs(CLI::App& app, Requests& r, Flags& flags) {
  std::vector<Verb> verbs;
  const auto add = [&](const char* name, Common* common, Call call) {
    CLI::App* verb = app.add_subcommand(name, summary(name));
    verb->set_help_flag("--help,-h");
    common_options(verb, common, &flags);
    verbs.push_back({verb, common, std::move(call)});
    return verb;
  };
  CLI::App* v = add("optimize", &r.optimize, [&]() -> Result<Document> {
    if (!r.finalists_limit.empty()) {
      HONE_TRY(r.optimize.verify_limit_s, parse_limit("--verify-limit", r.finalists_limit));
    }
    return as_document(optimize(r.optimize));
  });
  v->add_option("task", r.optimize.task);
  v->add_option("candidates", r.optimize.candidates);
  v->add_option("--budget,-b", r.optimize.budget);
  v->add_option("--proposers,-p", r.optimize.proposers)->delimiter(',');
  v->add_option("--resume", r.optimize.resume);
  v->add_option("--seed", r.optimize.seed)->check(a_seed());
  v->add_option("--margin", r.optimize.margin)->check(number_between(0, 10));
  v->add_option("--verify-limit", r.finalists_limit);
  v->add_flag("--accept-c", r.optimize.accept_c);
  v->add_flag("--accept-x", r.optimize.accept_x);

  v = add("verify", &r.verify, [&]() -> Result<Document> {
    auto tunables = parse_tunables(r.verify_set);
    if (!tunables.ok()) return std::move(tunables).error();
    r.verify.tunables = std::move(tunables).value();
    HONE_TRY(r.verify.limit_s, parse_limit("--time-limit", r.verify_limit));
    r.verify.timing = !r.no_timing || r.verify.faster_than > 0;
    r.verify.memory_gate = !r.no_memory;
    return as_document(verify(r.verify));
  });
  v->add_option("task", r.verify.task)->required();
  v->add_option("candidate", r.verify.candidate)->required();
  v->add_option("--set", r.verify_set);
  v->add_option("--faster-than", r.verify.faster_than)->check(number_between(1e-6, 1e9));
  v->add_flag("--no-timing", r.no_timing);
  v->add_flag("--no-memory-gate", r.no_memory);
  v->add_flag("--allow-missing-tools", r.verify.allow_missing_tools);
  v->add_flag("--accept-c", r.verify.accept_c);
  v->add_flag("--accept-x", r.verify.accept_x);
  v->add_option("--seed", r.verify.seed)->check(a_seed());
  v->add_option("--seconds", r.verify.slots_s)->check(number_between(0.01, 3600));
  v->add_option("--time-limit", r.verify_limit);

  for (const bool two : {false, true}) {
    BenchRequest* request = two ? &r.compare : &r.bench;
    v = add(two ? "compare" : "bench", request, [&r, request, two]() -> Result<Document> {
      auto tunables = parse_tunables(r.bench_set);
      if (!tunables.ok()) return std::move(tunables).error();
      request->tunables = std::move(tunables).value();
      return two ? compare(*request) : bench(*request);
    });
    v->add_option("task", request->task)->required();
    v->add_option("candidates", request->candidates)->required();
    v->add_option("--set", r.bench_set);
    v->add_option("--seconds", request->slots_s)->check(number_between(0.01, 3600));
    v->add_option("--pairs", request->pairs)->check(number_between(2, 1000));
    v->add_flag("--warm", request->warm);
  }

  v = add("audit", &r.audit, [&]() -> Result<Document> {
    HONE_TRY(r.audit.limit_s, parse_limit("--time-limit", r.audit_limit));
    return audit_task(r.audit);
  });
  v->add_option("task", r.audit.task)->required();
  v->add_option("--mutants", r.audit.mutants)->check(number_between(0, 1e6));
  v->add_option("--seed", r.audit.seed)->check(a_seed());
  v->add_option("--time-limit", r.audit_limit);

  v = add("runs", &r.runs, [&] { return list_runs(r.runs); });
  v->add_option("--limit,-n", r.runs.limit)->check(number_between(1, 1e9));
  v = add("show", &r.show, [&] { return show(r.show); });
  v->add_option("name", r.show.name);
  v = add("export", &r.export_, [&] { return export_run(r.export_); });
  v->add_option("run", r.export_.run);
  v->add_option("--out,-o", r.export_.folder);
  v->add_flag("--force", r.export_.force);
  v = add("replay", &r.replay, [&]() -> Result<Document> {
    HONE_TRY(r.replay.limit_s, parse_limit("--time-limit", r.replay_limit));
    r.replay.timing = !r.replay_no_timing;
    return replay(r.replay);
  });
  v->add_option("folder", r.replay.folder)->required();
  v->add_flag("--no-timing", r.replay_no_timing);
  v->add_option("--time-limit", r.replay_limit);
  v = add("doctor", &r.doctor, [&] { return doctor(r.doctor); });
  v->add_flag("--quick", r.doctor.quick);
  v->add_option("--seconds", r.doctor.seconds)->check(number_between(0.1, 3600));
  v = add("init", &r.init, [&] { return init(r.init); });
  v->add_option("kernel", r.init.kernel)->required();
  v->add_option("--function", r.init.function);
  v->add_option("--out,-o", r.init.folder);
  v->add_flag("--force", r.init.force);
  return verbs;
}

report::ProgressState state_of(const ProgressEvent& event) {
  report::ProgressState state;
  state.tried = event.tried;
  state.failed = event.failed;
  if (event.best > 0) state.best = {event.best, event.low, event.high};
  state.running = event.doing;
  state.elapsed_s = event.elapsed_s;
  if (event.left_s >= 0) state.left_s = event.left_s;
  return state;
}

int fail(const Error& error, bool json) {
  if (json) {
    std::fputs((report::error_json(error).dump(2) + "\n").c_str(), stdout);
  } else {
    std::fputs((report::error_text(error, report::style_for(STDERR_FILENO)) + "\n").c_str(), stderr);
  }
  return exit_code(error);
}

std::vector<std::string> verb_names() {
  std::vector<std::string> names;
  for (const Topic& topic : topics()) names.push_back(topic.name);
  return names;
}

/// The first option on the line that the verb does not have, with the nearest that it has; empty when there is none.
std::string unknown_option(const CLI::App& app, int argc, char** argv) {
  const auto named = app.get_subcommands([&](const CLI::App* one) { return one->get_name() == argv[1]; });
  if (named.empty()) return "";
  const CLI::App* verb = named.front();
  std::vector<std::string> known;
  for (const CLI::Option* option : verb->get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    for (const std::string& name : option->get_snames()) known.push_back("-" + name);
  }
  for (int i = 2; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string_view(argv[i]).find('='));
    if (word.starts_with("--") && word.size() > 2 && std::find(known.begin(), known.end(), word) == known.end())
      return fmt::format("hone {} has no option {}{}", argv[1], word, did_you_mean(word, known));
  }
  return "";
}

/// A value that fits each option that takes one: what is shown where it is missing.
constexpr std::pair<const char*, const char*> kExamples[] = {
    {"--archive", "hone-runs/archive.db"}, {"--budget", "60s"}, {"--compiler", "g++"}, {"--faster-than", "1.05"},
    {"--function", "my_kernel"}, {"--limit", "20"}, {"--margin", "0.01"}, {"--mutants", "40"}, {"--out", "my_folder"},
    {"--pairs", "8"}, {"--proposers", "descent,random"}, {"--resume", "latest"}, {"--seconds", "2"}, {"--seed", "7"},
    {"--set", "BLOCK=32"}, {"--time-limit", "20min"}, {"--verify-limit", "20min"}};

/// "" for an option that takes no value.
std::string needs_value(std::string_view option) {
  constexpr std::pair<const char*, const char*> kShort[] = {{"-b", "--budget"}, {"-p", "--proposers"}, {"-o", "--out"}, {"-n", "--limit"}};
  for (const auto& [letter, name] : kShort)
    if (option == letter) option = name;
  for (const auto& [name, example] : kExamples)
    if (option == name) return fmt::format("{0} needs a value, for example {0} {1}", option, example);
  return "";
}

/// "--budget: 1 required TEXT missing" in words of ours; empty when `e` says something else.
std::string missing_value(const CLI::ParseError& e) {
  const std::string_view what = e.what();
  return e.get_name() == "ArgumentMismatch" ? needs_value(what.substr(0, what.find(':'))) : "";
}

/// CLI11 takes the next word for a value, whatever it is: "--budget --json" would be a budget.
std::string option_for_value(int argc, char** argv) {
  for (int i = 2; i + 1 < argc && std::string_view(argv[i]) != "--"; ++i)
    if (const std::string_view next = argv[i + 1]; next.starts_with("--") && next.size() > 2)
      if (std::string missing = needs_value(argv[i]); !missing.empty()) return missing;
  return "";
}

/// CLI11's own message, with the nearest spelling where a name is unknown.
int usage(const CLI::ParseError& e, const CLI::App& app, int argc, char** argv, bool json) {
  std::string message = e.what();
  if (const std::string missing = missing_value(e); !missing.empty()) message = missing;
  if (argc > 1)
    if (const std::string option = unknown_option(app, argc, argv); !option.empty()) message = option;
  const bool asks_help = argc > 2 && std::string_view(argv[1]) == "help";
  if (asks_help)
    message = fmt::format("there is no page on '{}'{}", argv[2], did_you_mean(argv[2], verb_names()));
  else if (argc > 1 && argv[1][0] != '-' && !is_topic(argv[1]))
    message = fmt::format("there is no verb '{}'{}", argv[1], did_you_mean(argv[1], verb_names()));
  return fail(usage_error(message, argc > 1 && is_topic(argv[1]) ? fmt::format("See hone {} --help", argv[1])
                                                                 : "See hone --help"),
              json);
}

bool wants(int argc, char** argv, std::initializer_list<const char*> flags) {
  for (int i = 1; i < argc; ++i)
    for (const char* flag : flags)
      if (std::string_view(argv[i]) == flag) return true;
  return false;
}

}  // namespace

int run(int argc, char** argv) {
  // Before anything is set up: --version answers in a few milliseconds.
  if (argc == 2 && (std::string_view(argv[1]) == "--version" || std::string_view(argv[1]) == "version")) {
    std::printf("hone %s\n", version());
    return 0;
  }
  if (argc == 1 || (argc == 2 && wants(argc, argv, {"--help", "-h", "help"}))) {
    std::fputs(overview().c_str(), argc == 1 ? stderr : stdout);
    return argc == 1 ? 2 : 0;
  }
  if (argc == 3 && std::string_view(argv[1]) == "help" && is_topic(argv[2])) {
    std::fputs(help(argv[2]).c_str(), stdout);
    return 0;
  }
  if (is_topic(argv[1]) && wants(argc, argv, {"--help", "-h"})) {
    std::fputs(help(argv[1]).c_str(), stdout);
    return 0;
  }
  const bool json = wants(argc, argv, {"--json"});
  if (const std::string missing = is_topic(argv[1]) ? option_for_value(argc, argv) : ""; !missing.empty())
    return fail(usage_error(missing, fmt::format("See hone {} --help", argv[1])), json);
  CLI::App app;
  app.require_subcommand(1);
  Requests requests;
  Flags flags;
  const std::vector<Verb> verbs = make_verbs(app, requests, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return usage(e, app, argc, argv, json);
  }
  if (flags.verbose) set_log_level(LogLevel::debug);
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  std::signal(SIGPIPE, SIG_IGN);
  for (const Verb& verb : verbs) {
    if (!verb.app->parsed()) continue;
    const std::int64_t start_ns = monotonic_ns();
    report::Progress progress(report::Progress::edge_of(STDERR_FILENO), report::style_for(STDERR_FILENO), system_clock());
    if (!flags.quiet)
      verb.common->progress = [&](const ProgressEvent& event) {
        report::ProgressState state = state_of(event);
        if (event.tried < 0) state.elapsed_s = static_cast<double>(monotonic_ns() - start_ns) * 1e-9;
        progress.update(state);
      };
    verb.common->cancel = &interrupted;
    verb.common->colour = report::style_for(STDOUT_FILENO).color && !flags.json;
    const Result<Document> document = [&]() -> Result<Document> {
      try {
        return verb.call();
      } catch (const std::filesystem::filesystem_error& e) {  // the working folder is gone, say
        return environment_error(e.what(), "Look whether the folder still exists and may be read.");
      }
    }();
    progress.finish();
    if (!document.ok()) return fail(document.error(), flags.json);
    const std::string& out = flags.json ? document->json : document->text;
    std::fwrite(out.data(), 1, out.size(), stdout);
    if (out.empty() || out.back() != '\n') std::fputc('\n', stdout);
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) return 3;
    return document->exit_code;
  }
  return 4;
}

}  // namespace hone::cli
