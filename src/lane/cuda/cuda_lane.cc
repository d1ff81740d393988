// The cuda lane: NVRTC in compile workers, straight to cubin for one architecture. What comes in is
// candidate::Resolved, what goes out a cubin that only a runner loads, and its PTX for those who read it. No GPU is
// needed to compile. Read flags.h and compile_pool.h next.

#include <fmt/format.h>

#include <mutex>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "code/cubin.h"
#include "device/cuda/gpu.h"
#include "device/cuda/library.h"
#include "device/cuda/nvrtc.h"
#include "lane/cpu/jail_compile.h"
#include "lane/cpu/object_cache.h"
#include "lane/cuda/compile_pool.h"
#include "lane/cuda/flags.h"
#include "lane/definitions.h"
#include "lane/lane.h"

namespace hone::lane {

extern const char kCudaPreludeTypes[];
extern const char kCudaPreludeReference[];

namespace {

using candidate::Build;
using candidate::Failure;

constexpr std::uint64_t kMaxCacheBytes = std::uint64_t{1} << 30;
constexpr const char* kRecipe = "cuda recipe 1";  // raised when the same inputs would give another cubin
constexpr std::size_t kMaxLogBytes = 4000;

std::string prelude_for(const candidate::Resolved& resolved) {
  std::string text = kCudaPreludeTypes;
  if (speaks_hone(resolved)) text += definitions(resolved) + kCudaPreludeReference;
  return text;
}

/// Folders of headers that a kernel may include (cuda_fp16.h, mma.h), where the toolkit is.
std::vector<std::string> include_options() {
  std::vector<std::string> out;
  for (const std::string& folder : device::toolkit_folders()) {
    std::error_code none;
    const fs::path include = fs::path(folder) / "include";
    if (!fs::exists(include / "cuda_fp16.h", none)) continue;
    out.push_back("--include-path=" + include.string());
    if (fs::exists(include / "cccl", none)) out.push_back("--include-path=" + (include / "cccl").string());
    break;
  }
  return out;
}

class CudaLane final : public Lane {
 public:
  CudaLane(const CudaLaneOptions& options, std::string architecture, std::string device,
           std::unique_ptr<CompilePool> pool, const fs::path& cache)
      : options_(options),
        architecture_(std::move(architecture)),
        device_(std::move(device)),
        pool_(std::move(pool)),
        includes_(include_options()),
        objects_(cache / "cubins", kMaxCacheBytes) {}

  std::string name() const override { return "cuda"; }
  std::string device() const override { return fmt::format("{}, {}, {}", device_, architecture_, pool_->version()); }

  Result<BuildOutcome> build(const candidate::Resolved& resolved, const BuildOptions& options) override {
    if (const Status fit = check_cuda_flags(resolved.flags); !fit.ok())
      return BuildOutcome(Failure{"static", "flag_refused", fit.error().text(), Json::object()});
    if (resolved.precision == task::Precision::f64 && resolved.build == Build::oracle)
      return usage_error("a task of precision f64 has no oracle on the GPU: nothing there is wider than double",
                         "Use the cpu lane for it, or precision = \"f32\".");
    CudaCompileRequest request;
    request.source = "#line 1 \"hone_prelude\"\n" + prelude_for(resolved) + resolved.source;
    request.options = options_of(resolved);
    request.limit_s = options.limit_s;
    const std::string key = sha256(fmt::format("{}\n{}\n{}\n{}", kRecipe, pool_->version(),
                                               fmt::join(request.options, "\n"), request.source));
    if (options_.use_cache)
      if (auto known = from_cache(key, request)) return BuildOutcome(std::move(*known));
    HONE_TRY(CudaCompileReply reply, pool_->compile(request));
    return outcome_of(std::move(reply), request, key);
  }

 private:
  std::vector<std::string> options_of(const candidate::Resolved& resolved) const {
    std::vector<std::string> out = {"--gpu-architecture=" + architecture_, "--std=c++17", "-default-device",
                                    "--generate-line-info"};
    out.insert(out.end(), includes_.begin(), includes_.end());
    out.insert(out.end(), resolved.flags.begin(), resolved.flags.end());
    // The oracle's t and r: no contraction, no relaxed arithmetic, whatever the defaults are.
    if (resolved.build == Build::oracle || resolved.build == Build::rounded)
      out.insert(out.end(), {"--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"});
    return out;
  }

  Result<BuildOutcome> outcome_of(CudaCompileReply reply, const CudaCompileRequest& request, const std::string& key) {
    using State = CudaCompileReply::State;
    const std::string log = scrub(reply.log, kMaxLogBytes);
    switch (reply.state) {
      case State::refused:
        return BuildOutcome(Failure{"static", "compile_error", first_error_line(log), {{"log", log}}});
      case State::timeout:
        return BuildOutcome(Failure{"static", "compile_timeout",
                                    fmt::format("NVRTC did not finish within {:.3g} s", request.limit_s),
                                    {{"limit_s", request.limit_s}}});
      case State::crashed:
        return BuildOutcome(Failure{"static", "compile_error", "NVRTC ended on this source: " + log, {{"log", log}}});
      case State::done: break;
    }
    Built built;
    HONE_TRY(const code::Cubin cubin, code::read_cubin(reply.cubin));
    built.machine_code_hash = code::machine_code_hash(cubin);
    built.command = command_of(request);
    built.object = std::move(reply.cubin);
    built.text = std::move(reply.ptx);
    built.log = log;
    built.compile_ms = reply.ms;
    if (options_.use_cache)
      objects_.store(key, {{{"machine_code_hash", built.machine_code_hash}, {"log", built.log}, {"ptx", built.text}},
                           built.object});
    return BuildOutcome(std::move(built));
  }

  static std::vector<std::string> command_of(const CudaCompileRequest& request) {
    std::vector<std::string> command = {"nvrtc"};
    for (const std::string& option : request.options)
      if (!option.starts_with("--include-path=")) command.push_back(option);
    command.push_back("candidate.cu");
    return command;
  }

  std::optional<Built> from_cache(const std::string& key, const CudaCompileRequest& request) {
    auto entry = objects_.find(key);
    if (!entry) return std::nullopt;
    const auto hash = get_string(entry->meta, "machine_code_hash", "object cache");
    const auto log = get_string(entry->meta, "log", "object cache");
    const auto ptx = get_string(entry->meta, "ptx", "object cache");
    if (!hash.ok() || !log.ok() || !ptx.ok()) return std::nullopt;
    Built built;
    built.command = command_of(request);
    built.machine_code_hash = *hash;
    built.log = *log;
    built.text = *ptx;
    built.object = std::move(entry->object);
    built.from_cache = true;
    return built;
  }

  CudaLaneOptions options_;
  std::string architecture_, device_;
  std::unique_ptr<CompilePool> pool_;
  std::vector<std::string> includes_;
  ObjectCache objects_;
};

}  // namespace

Result<std::unique_ptr<Lane>> make_cuda_lane(const CudaLaneOptions& options) {
  std::string architecture = options.architecture, device = "no GPU";
  if (architecture.empty()) {
    HONE_TRY(const device::GpuFacts gpu, device::gpu_facts(options.gpu));
    architecture = device::architecture_name(gpu.major, gpu.minor);
    device = gpu.name;
  }
  CompilePoolOptions pool_options;
  pool_options.workers = options.workers;
  pool_options.unsafe = options.unsafe;
  HONE_TRY(auto pool, CompilePool::start(pool_options));
  const fs::path cache = options.cache.empty() ? cache_folder() : fs::path(options.cache);
  return std::unique_ptr<Lane>(new CudaLane(options, std::move(architecture), std::move(device), std::move(pool), cache));
}

}  // namespace hone::lane
