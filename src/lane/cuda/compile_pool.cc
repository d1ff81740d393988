#include "lane/cuda/compile_pool.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "device/cuda/nvrtc.h"
#include "wire/frame.h"
#include "wire/sandbox.h"

namespace hone::lane {
namespace {

// First load of NVRTC's 100 MB from a cold disk.
constexpr std::int64_t kStartLimit_ns = 60'000'000'000;
// NVRTC keeps some memory of each program; a fresh process now and then bounds that.
constexpr int kCompilesPerWorker = 2000;
const wire::FrameLimits kLimits{.header_bytes = 64U << 10, .payload_bytes = 256ULL << 20, .fds = 0};

struct Worker {
  wire::JailedProcess process;
  UniqueFd socket;
  int compiles = 0;
};

/// The worker's claim about itself: how long each part of its payload is.
Result<std::string> part(const wire::Frame& frame, const char* key, std::size_t& at) {
  HONE_TRY(const std::int64_t length, get_int(frame.header, key, "compile worker"));
  if (length < 0 || static_cast<std::size_t>(length) > frame.bytes.size() - at)
    return usage_error("compile worker: lengths");
  std::string out = frame.bytes.substr(at, static_cast<std::size_t>(length));
  at += out.size();
  return out;
}

}  // namespace

struct CompilePool::Inner {
  CompilePoolOptions options;
  std::string library;
  std::optional<wire::Jail> jail;
  std::mutex mutex;
  std::condition_variable freed;
  std::deque<std::unique_ptr<Worker>> idle;
  int alive = 0;
  std::string version;
  std::vector<int> architectures;

  Result<std::unique_ptr<Worker>> start_worker() {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return system_error("socketpair", errno);
    auto worker = std::make_unique<Worker>();
    worker->socket = UniqueFd(pair[0]);
    const UniqueFd theirs(pair[1]);
    wire::SpawnSpec spec;
    spec.argv = {"compile-cuda", library};
    spec.env = {{"LC_ALL", "C"}, {"HOME", "/tmp"}};
    spec.fds = {theirs.get()};
    spec.profile = wire::Profile::tools;
    spec.memory_bytes = options.memory_bytes;
    spec.limits.file_bytes = 256ULL << 20;
    HONE_TRY(worker->process, jail->spawn(spec));
    auto frame = wire::receive_frame(worker->socket.get(), kLimits, kStartLimit_ns);
    if (!frame.ok() || !frame->has_value()) {
      auto exit = worker->process.wait(1'000'000'000);
      return environment_error(fmt::format("a compile worker did not start: {}",
                                           exit.ok() ? wire::explain(*exit) : exit.error().message),
                               "See hone doctor for what this machine lacks.");
    }
    const Json& header = (*frame)->header;
    if (header.value("op", "") != "ready") {
      return error_from_json(header);
    }
    const std::lock_guard<std::mutex> lock(mutex);
    version = fmt::format("NVRTC {}.{}", header.value("major", 0), header.value("minor", 0));
    architectures = header.value("architectures", std::vector<int>());
    return worker;
  }

  /// An idle worker, a new one where there may be more, else the next that becomes idle.
  Result<std::unique_ptr<Worker>> take() {
    {
      std::unique_lock<std::mutex> lock(mutex);
      freed.wait(lock, [&] { return !idle.empty() || alive < options.workers; });
      if (!idle.empty()) {
        auto worker = std::move(idle.front());
        idle.pop_front();
        return worker;
      }
      ++alive;
    }
    auto worker = start_worker();
    if (!worker.ok()) lose();
    return worker;
  }

  void give(std::unique_ptr<Worker> worker) {
    if (++worker->compiles >= kCompilesPerWorker) {
      worker.reset();
      lose();
      return;
    }
    const std::lock_guard<std::mutex> lock(mutex);
    idle.push_front(std::move(worker));  // the warmest first
    freed.notify_one();
  }

  void lose() {
    const std::lock_guard<std::mutex> lock(mutex);
    --alive;
    freed.notify_one();
  }
};

CompilePool::CompilePool(std::unique_ptr<Inner> inner) : inner_(std::move(inner)) {}
CompilePool::~CompilePool() = default;

Result<std::unique_ptr<CompilePool>> CompilePool::start(const CompilePoolOptions& options) {
  auto inner = std::make_unique<Inner>();
  inner->options = options;
  if (inner->options.workers <= 0)
    inner->options.workers = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  inner->library = options.nvrtc;
  wire::JailSpec spec;
  spec.unsafe = options.unsafe;
  spec.scratch_bytes = 512ULL << 20;
  // The jail sees /usr; a toolkit elsewhere (a Python package, a home folder) is shown by its own folder.
  if (inner->library.empty()) inner->library = device::nvrtc_libraries().front();
  if (const fs::path file = inner->library; file.is_absolute() && !inner->library.starts_with("/usr/"))
    spec.read_only.push_back({file.parent_path(), file.parent_path().string()});
  HONE_TRY(inner->jail, wire::Jail::start(spec));
  HONE_TRY(auto worker, inner->take());
  inner->give(std::move(worker));
  return std::unique_ptr<CompilePool>(new CompilePool(std::move(inner)));
}

Result<CudaCompileReply> CompilePool::compile(const CudaCompileRequest& request) {
  Json header = {{"op", "compile"},
                 {"name", request.name},
                 {"source", request.source.size()},
                 {"options", request.options},
                 {"headers", Json::array()}};
  std::string bytes = request.source;
  for (const auto& [name, text] : request.headers) {
    header["headers"].push_back({{"name", name}, {"bytes", text.size()}});
    bytes += text;
  }
  HONE_TRY(std::unique_ptr<Worker> worker, inner_->take());
  CudaCompileReply reply;
  const std::int64_t start = monotonic_ns();
  const auto limit_ns = static_cast<std::int64_t>(request.limit_s * 1e9);
  const Status sent =
      wire::send_frame(worker->socket.get(), header, std::as_bytes(std::span(bytes)), {}, limit_ns);
  Result<std::optional<wire::Frame>> frame = std::optional<wire::Frame>();
  if (sent.ok()) frame = wire::receive_frame(worker->socket.get(), kLimits, limit_ns);
  reply.ms = static_cast<double>(monotonic_ns() - start) / 1e6;
  const auto lost = [&](CudaCompileReply::State state, std::string log) {
    reply.state = state;
    reply.log = std::move(log);
    worker.reset();
    inner_->lose();
    return reply;
  };
  if (!frame.ok() && wire::is_timeout(frame.error()))
    return lost(CudaCompileReply::State::timeout, fmt::format("compiling took longer than {:.3g} s", request.limit_s));
  if (!sent.ok() || !frame.ok() || !frame->has_value()) {
    auto exit = worker->process.wait(1'000'000'000);
    return lost(CudaCompileReply::State::crashed,
                exit.ok() ? wire::explain(*exit) : !frame.ok() ? frame.error().message : exit.error().message);
  }
  const Json& answer = (*frame)->header;
  const std::string op = answer.value("op", Json()).is_string() ? answer["op"].get<std::string>() : "";
  // The compiler has read untrusted text by now: nothing it says is taken for the machine's fault.
  if (op == "error") return lost(CudaCompileReply::State::crashed, error_from_json(answer).message);
  std::size_t at = 0;
  auto cubin = part(**frame, "cubin", at);
  auto ptx = part(**frame, "ptx", at);
  auto log = part(**frame, "log", at);
  if ((op != "done" && op != "refused") || !cubin.ok() || !ptx.ok() || !log.ok())
    return lost(CudaCompileReply::State::crashed, "the compile worker's answer is not one");
  reply.state = op == "done" ? CudaCompileReply::State::done : CudaCompileReply::State::refused;
  reply.cubin = std::move(cubin).value();
  reply.ptx = std::move(ptx).value();
  reply.log = std::move(log).value();
  inner_->give(std::move(worker));
  return reply;
}

const std::string& CompilePool::version() const { return inner_->version; }
const std::vector<int>& CompilePool::architectures() const { return inner_->architectures; }
std::vector<std::string> CompilePool::layers() const { return inner_->jail->layers(); }

}  // namespace hone::lane
