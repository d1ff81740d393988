// The cpu lane: g++ or clang++ in the jail, the bare linker after it, finished objects kept by content. What
// comes in is candidate::Resolved, what goes out the bytes of a shared object that only a runner loads. Read
// flags.h, prelude.h and jail_compile.h next.

#include <fmt/format.h>

#include <mutex>

#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "code/elf.h"
#include "device/cpu.h"
#include "lane/cpu/flags.h"
#include "lane/cpu/jail_compile.h"
#include "lane/cpu/object_cache.h"
#include "lane/cpu/prelude.h"
#include "lane/cpu/toolchain.h"
#include "lane/lane.h"

namespace hone::lane {
namespace {

using candidate::Build;

constexpr std::uint64_t kMaxCacheBytes = std::uint64_t{2} << 30;
/// Raised when the same inputs would give another object: a changed link line, say.
constexpr const char* kRecipe = "recipe 1";

class CpuLane final : public Lane {
 public:
  CpuLane(CpuLaneOptions options, Toolchain tools, std::unique_ptr<PreludeStore> preludes, const fs::path& cache)
      : options_(std::move(options)),
        tools_(std::move(tools)),
        preludes_(std::move(preludes)),
        objects_(cache / "objects", kMaxCacheBytes) {}

  std::string name() const override { return "cpu"; }

  std::string device() const override {
    const auto& facts = device::cpu_facts();
    return fmt::format("{}, {} cores, {}, {}", facts.model, facts.usable_cores.size(), facts.identity(), tools_.version);
  }

  Result<BuildOutcome> build(const candidate::Resolved& resolved, const BuildOptions& options) override {
    if (const Status fit = check_flags(resolved.flags); !fit.ok())
      return BuildOutcome(candidate::Failure{"static", "flag_refused", fit.error().text(), Json::object()});
    if (!resolved.compiler.empty() && !is_compiler_name(resolved.compiler))
      return BuildOutcome(candidate::Failure{
          "static", "compiler_refused",
          fmt::format("'{}' is no compiler a candidate may ask for: expected g++ or clang++, with or without a version, as in g++-13",
                      scrub(resolved.compiler, 80)),
          Json::object()});
    HONE_TRY(const Toolchain tools, resolved.compiler.empty() ? Result<Toolchain>(tools_) : find_toolchain(resolved.compiler));
    const bool exact = resolved.build == Build::oracle || resolved.build == Build::rounded;
    const auto flags = build_flags(resolved.flags, resolved.openmp, exact ? Arithmetic::exact : Arithmetic::plain);
    const Prelude prelude = prelude_for(resolved);
    const auto expanded = tools.expand(flags);
    const std::string key = sha256(fmt::format("{}\n{}\n{}\n{}\n{}", kRecipe, tools.fingerprint(), fmt::join(expanded, "\n"),
                                               prelude.text, resolved.source));
    if (options_.use_cache)
      if (auto known = from_cache(key)) return BuildOutcome(std::move(*known));
    CompileJob job;
    job.tools = &tools;
    job.source = resolved.source;
    job.prelude = prelude.text;
    job.flags = flags;
    job.limit_s = options.limit_s;
    job.unsafe = options_.unsafe;
    if (preludes_) {
      HONE_TRY(job.precompiled, preludes_->get(prelude, tools, flags));
    }
    HONE_TRY(CompileResult compiled, compile_in_jail(job));
    if (!compiled.failure.reason.empty()) return BuildOutcome(std::move(compiled.failure));
    return finish(std::move(compiled), tools, expanded, key);
  }

 private:
  Result<BuildOutcome> finish(CompileResult compiled, const Toolchain& tools, const std::vector<std::string>& expanded,
                              const std::string& key) {
    Built built;
    HONE_TRY(const code::Elf elf, code::read_elf(compiled.object));
    built.machine_code_hash = code::machine_code_hash(elf);
    built.command = {tools.program};
    built.command.insert(built.command.end(), expanded.begin(), expanded.end());
    built.command.insert(built.command.end(), {"-shared", "candidate.cpp"});
    built.object = std::move(compiled.object);
    built.log = std::move(compiled.log);
    built.compile_ms = compiled.wall_ms;
    if (options_.use_cache)
      objects_.store(key, {{{"machine_code_hash", built.machine_code_hash}, {"command", built.command}, {"log", built.log}},
                           built.object});
    return BuildOutcome(std::move(built));
  }

  std::optional<Built> from_cache(const std::string& key) {
    auto entry = objects_.find(key);
    if (!entry) return std::nullopt;
    const auto hash = get_string(entry->meta, "machine_code_hash", "object cache");
    const auto text = get_string(entry->meta, "log", "object cache");
    if (!hash.ok() || !text.ok() || !entry->meta["command"].is_array()) return std::nullopt;
    Built built;
    for (const Json& word : entry->meta["command"])
      if (word.is_string()) built.command.push_back(word.get<std::string>());
    built.machine_code_hash = *hash;
    built.log = *text;
    built.object = std::move(entry->object);
    built.from_cache = true;
    return built;
  }

  CpuLaneOptions options_;
  Toolchain tools_;
  std::unique_ptr<PreludeStore> preludes_;
  ObjectCache objects_;
};

}  // namespace

Result<std::unique_ptr<Lane>> make_cpu_lane(const CpuLaneOptions& options) {
  HONE_TRY(Toolchain tools, find_toolchain(options.compiler));
  const fs::path cache = options.cache.empty() ? cache_folder() : fs::path(options.cache);
  std::unique_ptr<PreludeStore> preludes;
  // Without the sandbox nothing is bound, so the prelude is read as text.
  if (!options.unsafe) {
    HONE_TRY(preludes, PreludeStore::open(cache));
  }
  return std::unique_ptr<Lane>(new CpuLane(options, std::move(tools), std::move(preludes), cache));
}

}  // namespace hone::lane
