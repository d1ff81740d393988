#include "runner/cuda/gpu_runner_client.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/clock.h"
#include "base/text.h"
#include "runner/codec.h"
#include "runner/cuda/launch_plan.h"
#include "runner/layout.h"
#include "runner/session_builds.h"
#include "runner/truth.h"
#include "wire/frame.h"

namespace hone::runner {
namespace {

using candidate::Failure;

constexpr std::int64_t kStartLimit_ns = 30'000'000'000;
const wire::FrameLimits kLimits{.header_bytes = 64U << 10, .payload_bytes = 0, .fds = 0};

/// Bytes of HONE_REAL in a program: references and baselines are candidates in this.
std::size_t real_bytes_of(const candidate::Resolved& resolved) {
  return resolved.build == candidate::Build::oracle ? truth_real_bytes(resolved.precision)
                                                     : rounded_real_bytes(resolved.precision);
}

class GpuRunnerProcess final : public Runner {
 public:
  GpuRunnerProcess(const task::Task& task, const Program& program, wire::JailedProcess process, UniqueFd socket)
      : task_(task), program_(program), process_(std::move(process)), socket_(std::move(socket)) {}

  Result<std::optional<Failure>> start(int gpu) {
    HONE_TRY(std::optional<Failure> failure,
             ask({{"op", "start"}, {"task", task_.text}, {"file", task_.file.string()}, {"gpu", gpu}}, {}, {}, "started",
                 "while it opened the GPU"));
    if (failure) return environment_error("a GPU runner did not start: " + failure->message, "See hone doctor.");
    return ask({{"op", "load"}, {"plan", plan_to_json(program_.resolved)}, {"real_bytes", real_bytes_of(program_.resolved)}},
               program_.object, {}, "loaded", "while it loaded the cubin");
  }

  Result<std::optional<Failure>> bind(const Arenas& arenas, const task::Dims& dims,
                                      const std::vector<double>& scalars) override {
    Json header = {{"op", "bind"}, {"layout", to_json(arenas.layout)}, {"dims", to_json(dims)}};
    header["inputs"] = input_aliases(task_, program_.resolved);
    header["scalars"] = Json::array();
    for (const double s : scalars) header["scalars"].push_back(number(s));
    std::vector<int> fds;
    for (const auto* list : {&arenas.inputs, &arenas.outputs})
      for (const UniqueFd& fd : *list) fds.push_back(fd.get());
    return ask(header, {}, fds, "bound", "while its tensors were bound");
  }

  Result<ReleaseOutcome> release(std::int64_t calls, double limit_s) override {
    const auto limit_ns = static_cast<std::int64_t>(limit_s * 1e9) + 1'000'000;
    const std::int64_t start = monotonic_ns();
    if (!wire::send_frame(socket_.get(), {{"op", "go"}, {"calls", calls}}).ok())
      return ReleaseOutcome(why_ended("before a call"));
    auto frame = wire::receive_frame(socket_.get(), kLimits, limit_ns);
    const std::int64_t end = monotonic_ns();
    if (!frame.ok() && wire::is_timeout(frame.error())) {
      process_.kill();
      return ReleaseOutcome(Failure{"correctness", "timeout",
                                    fmt::format("{} call{} took longer than {:.3g} s", calls, calls == 1 ? "" : "s", limit_s),
                                    {{"limit_s", limit_s}}});
    }
    if (!frame.ok() || !frame->has_value()) return ReleaseOutcome(why_ended("during a call"));
    const Json& header = (*frame)->header;
    if (header.value("op", "") == "fault") return ReleaseOutcome(failure_of(header));
    HONE_TRY(const std::int64_t ns, get_int(header, "ns", "GPU runner"));
    return ReleaseOutcome(Release{static_cast<double>(end - start), static_cast<double>(ns)});
  }

  std::int64_t peak_memory_bytes() const override { return static_cast<std::int64_t>(process_.memory_bytes()); }

 private:
  /// A request whose answer must be `expected`. What the runner refuses is the candidate's failure when it says usage.
  Result<std::optional<Failure>> ask(const Json& header, const std::string& bytes, const std::vector<int>& fds,
                                     const std::string& expected, const char* when) {
    if (!wire::send_frame(socket_.get(), header, std::as_bytes(std::span(bytes)), fds, kStartLimit_ns).ok())
      return std::optional(why_ended(when));
    auto frame = wire::receive_frame(socket_.get(), kLimits, kStartLimit_ns);
    if (!frame.ok() && wire::is_timeout(frame.error())) {
      process_.kill();
      return std::optional(Failure{"correctness", "timeout",
                                   fmt::format("no answer within {} s {}", kStartLimit_ns / 1'000'000'000, when), Json::object()});
    }
    if (!frame.ok() || !frame->has_value()) return std::optional(why_ended(when));
    const Json& answer = (*frame)->header;
    const std::string op = answer.value("op", "");
    if (op == expected) return std::optional<Failure>();
    if (op != "error") return bug_error(fmt::format("the GPU runner said '{}' {}", scrub(op, 40), when));
    Error error = error_from_json(answer);
    if (error.code != ErrorCode::usage && expected != "loaded") return error;
    return std::optional(Failure{"static", expected == "loaded" ? "load_error" : "bind_error", error.text(), Json::object()});
  }

  /// The runner's code is ours, so what it says of the device is what the driver said.
  Failure failure_of(const Json& header) {
    const std::string fault = header.value("fault", ""), text = header.value("text", ""), kernel = header.value("kernel", "");
    if (header.value("when", "") == "launch")
      return {"static", "launch_refused", fmt::format("the device does not launch kernel '{}': {}", kernel, text), Json::object()};
    Failure failure{"correctness", "crash", text, {{"fault", fault}}};
    if (fault == "illegal_address") failure.message += ": it touched memory that is not its own (tensors lie between unmapped gaps, and inputs cannot be written)";
    if (fault == "timeout") failure.reason = "timeout";
    return failure;
  }

  Failure why_ended(const char* when) {
    constexpr std::int64_t kWait_ns = 2'000'000'000;
    auto exit = process_.wait(kWait_ns);
    if (!exit.ok()) {
      process_.kill();
      return {"correctness", "timeout", fmt::format("the runner neither answers nor ends {}", when), Json::object()};
    }
    return {"correctness", "crash", fmt::format("{} {}", wire::explain(*exit), when),
            {{"exit_code", exit->code}, {"signal", exit->signal}}};
  }

  const task::Task& task_;
  const Program& program_;
  wire::JailedProcess process_;
  UniqueFd socket_;
};

}  // namespace

Result<RunnerOutcome> start_gpu_runner(const GpuRunnerStart& start) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return system_error("socketpair", errno);
  UniqueFd ours(pair[0]), theirs(pair[1]);
  wire::SpawnSpec spec;
  spec.argv = {"runner-cuda"};
  spec.fds = {theirs.get()};
  spec.profile = wire::Profile::device;
  spec.env = {{"LC_ALL", "C"}, {"HOME", "/tmp"}, {"CUDA_CACHE_DISABLE", "1"}};
  if (!start.driver_folder.empty()) spec.env.emplace_back("LD_LIBRARY_PATH", start.driver_folder);
  HONE_TRY(wire::JailedProcess process, start.jail->spawn(spec));
  theirs.reset();
  auto runner = std::make_unique<GpuRunnerProcess>(*start.task, *start.program, std::move(process), std::move(ours));
  HONE_TRY(std::optional<Failure> failure, runner->start(start.gpu));
  if (failure) return RunnerOutcome(*failure);
  return RunnerOutcome(std::unique_ptr<Runner>(std::move(runner)));
}

}  // namespace hone::runner
