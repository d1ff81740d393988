#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>

#include "base/files.h"
#include "runner/codec.h"
#include "runner/layout.h"
#include "runner/oracle.h"
#include "wire/frame.h"

extern char** environ;

namespace hone::runner {
namespace {

const wire::FrameLimits kLimits{.header_bytes = 16U << 20, .payload_bytes = 8ULL << 30, .fds = 128};
// A reference that takes longer than this for one draw is not usable as one.
constexpr std::int64_t kAnswerLimit_ns = 300'000'000'000;

class OracleProcess final : public Oracle {
 public:
  OracleProcess(pid_t pid, UniqueFd socket) : pid_(pid), socket_(std::move(socket)) {}
  ~OracleProcess() override {
    socket_.reset();
    ::kill(pid_, SIGKILL);  // it keeps nothing that must be written
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }

  Result<wire::Frame> call(const Json& header, std::string_view bytes = {}) {
    const std::lock_guard lock(mutex_);
    HONE_CHECK(dead_);
    const Status sent = wire::send_frame(socket_.get(), header, std::as_bytes(std::span(bytes)), {}, kAnswerLimit_ns);
    auto frame = sent.ok() ? wire::receive_frame(socket_.get(), kLimits, kAnswerLimit_ns)
                           : Result<std::optional<wire::Frame>>(std::optional<wire::Frame>());
    if (!frame.ok() || !frame->has_value()) {
      dead_ = end_of(header.value("op", ""), !frame.ok() && wire::is_timeout(frame.error()));
      return Error(dead_.error());
    }
    wire::Frame answer = std::move(**frame);
    if (answer.header.value("ok", false)) return answer;
    return error_from_json(answer.header);
  }

  Result<Arenas> make_arenas(const task::Dims& dims, Side side) override {
    return arenas_from(call({{"op", "make_arenas"}, {"dims", to_json(dims)}, {"sets", 0}, {"upper", side == Side::upper}}));
  }
  Result<Arenas> make_timing_arenas(const task::Dims& dims, std::int64_t sets) override {
    return arenas_from(call({{"op", "make_arenas"}, {"dims", to_json(dims)}, {"sets", sets}}));
  }
  Status drop_arenas(std::uint64_t id) override { return status(call({{"op", "drop_arenas"}, {"arenas", id}})); }

  Result<Prepared> prepare(const DrawKey& key) override {
    HONE_TRY(const wire::Frame frame, call({{"op", "prepare"}, {"draw", to_json(key)}}));
    return prepared_from_json(frame.header.value("prepared", Json()));
  }
  Status forget(std::uint64_t id) override { return status(call({{"op", "forget"}, {"prepared", id}})); }
  Status stage(std::uint64_t prepared, std::uint64_t arenas) override {
    return status(call({{"op", "stage"}, {"prepared", prepared}, {"arenas", arenas}}));
  }
  Result<DrawCheck> check(std::uint64_t prepared, std::uint64_t arenas) override {
    HONE_TRY(const wire::Frame frame, call({{"op", "check"}, {"prepared", prepared}, {"arenas", arenas}}));
    return draw_check_from_json(frame.header.value("check", Json()));
  }
  Result<DrawCheck> check_bytes(std::uint64_t prepared, const std::vector<std::string>& outputs) override {
    Json lengths;
    const std::string bytes = join(outputs, &lengths);
    HONE_TRY(const wire::Frame frame, call({{"op", "check_bytes"}, {"prepared", prepared}, {"lengths", lengths}}, bytes));
    return draw_check_from_json(frame.header.value("check", Json()));
  }
  Result<std::vector<std::string>> inputs_of(std::uint64_t prepared) override {
    HONE_TRY(const wire::Frame frame, call({{"op", "inputs_of"}, {"prepared", prepared}}));
    return unjoin(frame.bytes, frame.header.value("lengths", Json()));
  }
  Result<std::vector<std::string>> truth_of(std::uint64_t prepared, bool rounded) override {
    HONE_TRY(const wire::Frame frame, call({{"op", "truth_of"}, {"prepared", prepared}, {"rounded", rounded}}));
    return unjoin(frame.bytes, frame.header.value("lengths", Json()));
  }
  Result<std::vector<double>> scalars_of(std::uint64_t prepared) override {
    HONE_TRY(const wire::Frame frame, call({{"op", "scalars_of"}, {"prepared", prepared}}));
    std::vector<double> out;
    for (const Json& s : frame.header.value("scalars", Json::array())) out.push_back(as_double(s));
    return out;
  }

  Result<std::vector<std::string>> reference_on(const task::Dims& dims, const std::vector<std::string>& inputs,
                                                const std::vector<double>& scalars) override {
    Json lengths, numbers = Json::array();
    const std::string bytes = join(inputs, &lengths);
    for (const double s : scalars) numbers.push_back(number(s));
    HONE_TRY(const wire::Frame frame,
             call({{"op", "reference_on"}, {"dims", to_json(dims)}, {"lengths", lengths}, {"scalars", numbers}}, bytes));
    return unjoin(frame.bytes, frame.header.value("lengths", Json()));
  }

  Status fill(std::uint64_t arenas, std::uint64_t seed, std::int64_t calls, bool cold) override {
    return status(call({{"op", "fill"}, {"arenas", arenas}, {"seed", seed}, {"calls", calls}, {"cold", cold}}));
  }
  Status collect(std::uint64_t arenas, std::uint64_t seed, const std::vector<std::int64_t>& calls,
                 const std::string& tag) override {
    return status(call({{"op", "collect"}, {"arenas", arenas}, {"seed", seed}, {"calls", calls}, {"tag", tag}}));
  }
  Result<std::vector<Settled>> settle(double limit_ms, int at_least) override {
    HONE_TRY(const wire::Frame frame, call({{"op", "settle"}, {"limit_ms", limit_ms}, {"at_least", at_least}}));
    std::vector<Settled> out;
    for (const Json& s : frame.header.value("settled", Json::array())) {
      HONE_TRY(DrawCheck check, draw_check_from_json(s.value("check", Json())));
      out.push_back({s.value("tag", ""), s.value("seed", std::uint64_t{0}), s.value("call", std::int64_t{0}),
                     std::move(check)});
    }
    return out;
  }
  Result<std::string> freshness(std::uint64_t arenas) override {
    HONE_TRY(const wire::Frame frame, call({{"op", "freshness"}, {"arenas", arenas}}));
    return get_string(frame.header, "freshness", "oracle answer");
  }

  std::int64_t resident_bytes() const override {
    std::ifstream statm("/proc/" + std::to_string(pid_) + "/statm");
    std::int64_t total = 0, resident = 0;
    statm >> total >> resident;
    return resident * 4096;
  }

 private:
  static Status status(const Result<wire::Frame>& frame) {
    if (!frame.ok()) return Error(frame.error());
    return {};
  }
  static Result<Arenas> arenas_from(Result<wire::Frame> frame) {
    if (!frame.ok()) return std::move(frame).error();
    HONE_TRY(const std::int64_t inputs, get_int(frame->header, "inputs", "oracle answer"));
    if (inputs < 0 || static_cast<std::size_t>(inputs) >= frame->fds.size()) return bug_error("the oracle sent no arenas");
    Arenas a;
    HONE_TRY(const std::int64_t id, get_int(frame->header, "id", "oracle answer"));
    a.id = static_cast<std::uint64_t>(id);
    HONE_TRY(a.layout, layout_from_json(frame->header.value("layout", Json())));
    for (std::size_t i = 0; i < frame->fds.size(); ++i)
      (i < static_cast<std::size_t>(inputs) ? a.inputs : a.outputs).push_back(std::move(frame->fds[i]));
    a.input_bytes = input_arena_bytes(a.layout);
    a.output_bytes = output_arena_bytes(a.layout);
    return a;
  }

  /// Why the process is gone: a reference that crashes is its author's to mend.
  Error end_of(const std::string& op, bool timed_out) const {
    if (timed_out)
      return usage_error(fmt::format("the reference did not answer within {} s (while: {})", kAnswerLimit_ns / 1'000'000'000, op),
                         "Choose smaller cases, or a faster reference");
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
    if (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
      return usage_error(fmt::format("the reference crashed: {} (while: {})", ::strsignal(info.si_status), op),
                         "Run it under a debugger or `hone audit`; it must not read or write outside its tensors");
    return bug_error(fmt::format("the oracle ended with status {} (while: {})", info.si_status, op));
  }

  pid_t pid_;
  UniqueFd socket_;
  std::mutex mutex_;
  Status dead_;
};

}  // namespace

Result<std::vector<std::string>> Oracle::reference_on(const task::Dims&, const std::vector<std::string>&,
                                                      const std::vector<double>&) {
  return bug_error("this oracle does not evaluate inputs made elsewhere");
}

Result<std::unique_ptr<Oracle>> Oracle::start(const task::Task& task, const OracleOptions& options) {
  HONE_TRY(const fs::path worker, worker_program());
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return system_error("socketpair", errno);
  UniqueFd ours(pair[0]), theirs(pair[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  // dup2 onto itself would keep close-on-exec, so the descriptor is first moved out of the way.
  const int high = ::fcntl(theirs.get(), F_DUPFD_CLOEXEC, 20);
  UniqueFd moved(high);
  ::posix_spawn_file_actions_adddup2(&actions, high, 3);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  std::string program = worker.string();
  char role[] = "oracle";
  char* argv[] = {program.data(), role, nullptr};
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed) return system_error("starting " + program, failed);
  // No copy of its end may stay here, or its death would not be seen.
  theirs.reset();
  moved.reset();
  auto oracle = std::make_unique<OracleProcess>(pid, std::move(ours));
  Json lengths;
  const std::string bytes = join({options.truth_object, options.rounded_object, options.lower_object}, &lengths);
  Json start = {{"op", "start"},
                {"task", task.text},
                {"file", task.file.string()},
                {"memory_bytes", options.memory_bytes},
                {"lengths", lengths}};
  if (options.gpu >= 0) start["gpu"] = {{"index", options.gpu}, {"plans", options.plans}};
  HONE_TRY([[maybe_unused]] const wire::Frame ready, oracle->call(start, bytes));
  return std::unique_ptr<Oracle>(std::move(oracle));
}

}  // namespace hone::runner
