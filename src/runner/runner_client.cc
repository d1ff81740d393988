#include "runner/runner_client.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>

#include "base/clock.h"
#include "base/text.h"
#include "runner/layout.h"
#include "runner/session_builds.h"
#include "wire/frame.h"

namespace hone::runner {
namespace {

using candidate::Failure;

// Far more than a load needs; a constructor that loops ends here.
constexpr std::int64_t kLoadLimit_ns = 10'000'000'000;
const wire::FrameLimits kLimits{.header_bytes = 4096, .payload_bytes = 0, .fds = 0};

Result<UniqueFd> object_in_memory(const std::string& bytes) {
  UniqueFd fd(::memfd_create("kernel", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return system_error("memfd_create", errno);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("writing a shared object to memory", errno);
    done += static_cast<std::size_t>(n);
  }
  ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  return fd;
}

/// What a runner says is a claim of any shape: a member that is no string reads as none.
std::string text_of(const Json& header, const char* key) {
  const Result<std::string> text = get_string(header, key, "runner");
  return text.ok() ? *text : std::string();
}

class RunnerProcess final : public Runner {
 public:
  RunnerProcess(const task::Task& task, const Program& program, wire::JailedProcess process, UniqueFd socket)
      : task_(task), program_(program), process_(std::move(process)), socket_(std::move(socket)) {}

  Result<std::optional<Failure>> load(const std::string& object) {
    HONE_TRY(const UniqueFd fd, object_in_memory(object));
    static const Result<std::string> filter = wire::lock_down_program();
    if (!filter.ok()) return Error(filter.error());
    const int fds[] = {fd.get()};
    if (!wire::send_frame(socket_.get(), {{"op", "load"}}, std::as_bytes(std::span(*filter)), fds).ok()) return std::optional(why_ended("while loading"));
    return expect("loaded", kLoadLimit_ns, "while loading");
  }

  Result<std::optional<Failure>> bind(const Arenas& arenas, const task::Dims& dims,
                                      const std::vector<double>& scalars) override {
    HONE_TRY(const std::vector<int> threads, candidate::threads_for(program_.resolved, task_, dims));
    Json header = {{"op", "bind"}, {"layout", to_json(arenas.layout)}, {"threads", threads}, {"at", arenas.at}};
    header["inputs"] = input_aliases(task_, program_.resolved);
    header["scratch"] = Json::array();
    std::int64_t scratch_total = 0;
    for (const candidate::Scratch& s : program_.resolved.scratch) {
      HONE_TRY(const std::int64_t bytes, candidate::scratch_bytes(s, program_.resolved, dims));
      scratch_total += bytes;
      header["scratch"].push_back({{"bytes", bytes}, {"zero", s.zero}});
    }
    if (scratch_total > task_.limits.scratch_bytes)
      return std::optional(Failure{"static", "bind_error",
                                   fmt::format("the candidate asks for {} of scratch; the task allows {}",
                                               format_bytes(static_cast<double>(scratch_total)),
                                               format_bytes(static_cast<double>(task_.limits.scratch_bytes))),
                                   Json::object()});
    header["dims"] = Json::array();
    for (const auto& [name, value] : dims)
      if (task_.dims.contains(name)) header["dims"].push_back(value);
    std::string bytes(16 * scalars.size(), '\0');
    for (std::size_t i = 0; i < scalars.size(); ++i)
      task::store_element(task_.scalars[i].dtype, reinterpret_cast<std::byte*>(bytes.data()) + 16 * i, scalars[i]);
    const int fds[] = {arenas.inputs.at(0).get(), arenas.outputs.at(0).get()};
    HONE_TRY(std::optional<Failure> failure, thaw("before binding"));
    if (failure) return failure;
    if (!wire::send_frame(socket_.get(), header, std::as_bytes(std::span(bytes)), fds).ok())
      return std::optional(why_ended("while its tensors were bound"));
    HONE_TRY(failure, expect("bound", kLoadLimit_ns, "while its tensors were bound"));
    if (failure) return failure;
    return freeze("after binding");
  }

  Result<ReleaseOutcome> release(std::int64_t calls, double limit_s) override {
    const std::string go = wire::encode_frame({{"op", "go"}, {"calls", calls}});
    HONE_TRY(std::optional<Failure> failure, thaw("before a call"));
    if (failure) return ReleaseOutcome(*failure);
    // Nothing may already lie in the socket: an answer before the question is an early completion.
    char early = 0;
    if (::recv(socket_.get(), &early, 1, MSG_DONTWAIT | MSG_PEEK) > 0)
      return ReleaseOutcome(Failure{"correctness", "protocol",
                                    "the runner signalled completion before it was asked to run", {{"forged", true}}});
    const auto limit_ns = static_cast<std::int64_t>(limit_s * 1e9) + 1'000'000;
    const std::int64_t start = monotonic_ns();
    if (::send(socket_.get(), go.data(), go.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(go.size()))
      return ReleaseOutcome(why_ended("during a call"));
    auto frame = wire::receive_frame(socket_.get(), kLimits, limit_ns);
    const std::int64_t end = monotonic_ns();
    if (!frame.ok() && wire::is_timeout(frame.error())) {
      process_.kill();
      return ReleaseOutcome(Failure{"correctness", "timeout",
                                    fmt::format("{} call{} took longer than {:.3g} s", calls, calls == 1 ? "" : "s", limit_s),
                                    {{"limit_s", limit_s}}});
    }
    HONE_TRY(failure, freeze("after a call"));
    if (!frame.ok()) return ReleaseOutcome(broken(frame.error()));
    if (!frame->has_value()) return ReleaseOutcome(why_ended("during a call"));
    const Json& header = (*frame)->header;
    if (failure) return ReleaseOutcome(*failure);
    const Result<std::int64_t> ns = get_int(header, "ns", "runner");
    if (text_of(header, "op") != "done" || !ns.ok())
      return ReleaseOutcome(broken(usage_error("a completion signal expected")));
    return ReleaseOutcome(Release{static_cast<double>(end - start), static_cast<double>(*ns)});
  }

  std::int64_t peak_memory_bytes() const override { return static_cast<std::int64_t>(process_.memory_bytes()); }

  Result<std::optional<Failure>> freeze(const char* when) {
    if (const Status frozen = process_.freeze(); !frozen.ok()) return std::optional(why_ended(when));
    return std::optional<Failure>();
  }

 private:
  Result<std::optional<Failure>> thaw(const char* when) {
    if (const Status thawed = process_.thaw(); !thawed.ok()) {
      Failure failure = why_ended(when);
      if (failure.reason == "timeout" && failure.gate == "correctness")
        failure = {"correctness", "protocol", "the process ran while it had to be stopped: " + thawed.error().message,
                   Json::object()};
      return std::optional(failure);
    }
    return std::optional<Failure>();
  }

  Result<std::optional<Failure>> expect(const char* op, std::int64_t limit_ns, const char* when) {
    auto frame = wire::receive_frame(socket_.get(), kLimits, limit_ns);
    if (!frame.ok() && wire::is_timeout(frame.error())) {
      process_.kill();
      return std::optional(Failure{"correctness", "timeout", fmt::format("no answer within {} s {}", limit_ns / 1'000'000'000, when),
                                   Json::object()});
    }
    if (!frame.ok()) return std::optional(broken(frame.error()));
    if (!frame->has_value()) return std::optional(why_ended(when));
    const Json& header = (*frame)->header;
    if (text_of(header, "op") == op) return std::optional<Failure>();
    // From the load on candidate code may speak here, so nothing said is ever taken for the machine's fault.
    if (text_of(header, "op") == "error")
      return std::optional(Failure{"static", "load_error",
                                   fmt::format("the runner gave up {}: {}", when, scrub(text_of(header, "message"), 500)),
                                   Json::object()});
    return std::optional(broken(usage_error("'" + std::string(op) + "' expected")));
  }

  Failure broken(const Error& error) {
    process_.kill();
    return {"correctness", "protocol", "the runner's answer is not one: " + scrub(error.message, 300), {{"forged", true}}};
  }

  /// The process is gone, or does not stop: says how it ended.
  Failure why_ended(const char* when) {
    constexpr std::int64_t kWait_ns = 2'000'000'000;
    auto exit = process_.wait(kWait_ns);
    if (!exit.ok()) {
      process_.kill();
      return {"correctness", "timeout", fmt::format("the runner neither answers nor ends {}", when), Json::object()};
    }
    Failure failure{"correctness", "crash", fmt::format("{} {}", wire::explain(*exit), when),
                    {{"exit_code", exit->code}, {"signal", exit->signal}, {"max_rss_bytes", exit->max_rss_bytes}}};
    if (exit->signal == SIGSYS) failure.reason = "forbidden_call";
    if (exit->signal == SIGXCPU) failure.reason = "timeout";
    if (exit->signal == SIGSEGV || exit->signal == SIGBUS)
      failure.message += ": it touched memory that is not its own (tensors lie between unmapped pages)";
    if (exit->signal == SIGABRT) failure.message += ": it gave up by itself, or asked for more memory than it may have";
    if (exit->signal == 0) failure.reason = "exited";
    return failure;
  }

  const task::Task& task_;
  const Program& program_;
  wire::JailedProcess process_;
  UniqueFd socket_;
};

std::string cpu_places(const std::vector<int>& cpus) {
  std::string out;
  for (const int cpu : cpus) out += fmt::format("{}{{{}}}", out.empty() ? "" : ",", cpu);
  return out;
}

}  // namespace

Result<RunnerOutcome> start_runner_process(const RunnerStart& start) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return system_error("socketpair", errno);
  UniqueFd ours(pair[0]), theirs(pair[1]);
  wire::SpawnSpec spec;
  spec.argv = {"runner"};
  spec.fds = {theirs.get()};
  spec.cpus = start.cpus;
  spec.profile = wire::Profile::kernel;
  spec.limits.address_space_bytes = start.memory_limit_bytes;
  spec.limits.open_files = 64;
  spec.limits.file_bytes = 1;  // no kernel has a reason to write a file
  spec.env = {{"OMP_NUM_THREADS", std::to_string(start.threads)}, {"OMP_DYNAMIC", "false"}, {"LC_ALL", "C"}};
  if (start.threads > 1) {
    spec.env.emplace_back("OMP_PLACES", cpu_places(start.cpus));
    // Threads that spin for work hold a processor that the coordinator needs to see the completion signal on.
    spec.env.emplace_back("OMP_WAIT_POLICY", "passive");
  }
  HONE_TRY(wire::JailedProcess process, start.jail->spawn(spec));
  theirs.reset();
  auto runner = std::make_unique<RunnerProcess>(*start.task, *start.program, std::move(process), std::move(ours));
  HONE_TRY(std::optional<Failure> failure, runner->load(start.program->object));
  if (failure) return RunnerOutcome(*failure);
  HONE_TRY(failure, runner->freeze("after loading"));
  if (failure) return RunnerOutcome(*failure);
  return RunnerOutcome(std::unique_ptr<Runner>(std::move(runner)));
}

}  // namespace hone::runner
