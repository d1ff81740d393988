#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "device/cpu.h"
#include "device/cuda/gpu.h"
#include "engine/document.h"
#include "engine/resolution.h"
#include "lane/cpu/sanitize.h"
#include "report/health.h"
#include "stats/summary.h"
#include "store/archive.h"
#include "wire/sandbox.h"

namespace hone {
namespace {

using report::Check;

Check compiler_check(const std::string& name) {
  const auto version = device::compiler_version(name);
  if (version.ok()) return {name, Check::State::ok, *version, ""};
  return {name, Check::State::missing, version.error().message, version.error().cure};
}

Check sanitizer_check(lane::Tool tool) {
  Check check{std::string("sanitizer: ") + lane::name_of(tool), Check::State::ok, "", ""};
  const auto tested = lane::self_test(tool);
  if (!tested.ok()) {
    check.state = Check::State::missing;
    check.detail = tested.error().message;
    check.cure = tested.error().cure;
  } else if (tested->state != lane::SanitizeOutcome::State::clean) {
    check.state = Check::State::limited;
    check.detail = tested->message;
  } else {
    check.detail = "catches a planted fault and passes a clean kernel";
  }
  return check;
}

Check archive_check(const Common& common) {
  const fs::path file = common.archive.empty() ? store::default_archive() : fs::path(common.archive);
  Check check{"archive", Check::State::ok, file.string(), ""};
  std::error_code error;
  if (!fs::exists(file, error)) {
    check.detail += " (none yet)";
    return check;
  }
  const auto archive = store::Archive::open_reader(file);
  if (!archive.ok()) {
    check.state = Check::State::limited;
    check.detail = archive.error().message;
    check.cure = archive.error().cure;
  }
  return check;
}

/// What the cuda lane loads at run time. A machine without a GPU is not ill: what is not there is a limit.
void check_cuda(report::DoctorReport& report) {
  for (const device::CudaPart& part : device::cuda_parts()) {
    const std::string name = "cuda: " + part.name;
    if (!part.found) {
      report.checks.push_back({name, Check::State::limited, fmt::format("{} (for {})", part.problem, part.use), part.cure});
      continue;
    }
    report.checks.push_back({name, Check::State::ok,
                             fmt::format("{}{}{}", part.version, part.version.empty() ? "" : ", ", part.path), ""});
  }
  const auto gpus = device::all_gpus();
  if (!gpus.ok()) return;
  for (const device::GpuFacts& gpu : *gpus)
    report.checks.push_back({fmt::format("cuda: GPU {}", gpu.index), Check::State::ok,
                             fmt::format("{}, capability {}.{}, {} multiprocessors, {} of memory, {} of L2", gpu.name,
                                         gpu.major, gpu.minor, gpu.multiprocessors,
                                         format_bytes(static_cast<double>(gpu.memory_bytes)),
                                         format_bytes(static_cast<double>(gpu.l2_bytes))),
                             ""});
}

Result<report::Resolution> resolve(const engine::Ruler& ruler, double seconds, const DoctorRequest& request) {
  HONE_TRY(const TemporaryFolder folder, TemporaryFolder::make("hone-ruler-"));
  HONE_TRY(engine::OpenRuler open, engine::open_ruler(ruler, folder.path(), request));
  constexpr double kSlots_s = 0.25;
  const int trials = std::max(3, static_cast<int>(seconds / (2 * 2 * kSlots_s)));
  engine::Trials seen;
  HONE_CHECK(engine::run_trials(open, trials, trials, kSlots_s, request.cancel, seen));
  report::Resolution r;
  r.kernel = ruler.name;
  r.trials = seen.same;
  r.covered = static_cast<double>(seen.same_held) / seen.same;
  r.planted = ruler.planted / 1000.0;
  r.found = static_cast<double>(seen.slowed_found) / seen.slowed;
  r.half_width = stats::median(seen.half_widths);
  return r;
}

}  // namespace

Result<Document> doctor(const DoctorRequest& request) {
  report::DoctorReport report;
  report.device = device::to_json(device::cpu_facts());
  const wire::SandboxReport& sandbox = wire::probe_sandbox();
  report.sandbox = sandbox.layers;
  report.checks.push_back({"sandbox", sandbox.usable ? Check::State::ok : Check::State::missing,
                           sandbox.usable ? fmt::format("{}", fmt::join(sandbox.layers, ", ")) : sandbox.problem,
                           sandbox.cure});
  const auto worker = worker_program();
  report.checks.push_back(worker.ok() ? Check{"hone-worker", Check::State::ok, worker->string(), ""}
                                      : Check{"hone-worker", Check::State::missing, worker.error().message, worker.error().cure});
  const Check gcc = compiler_check("g++"), clang = compiler_check("clang++");
  report.checks.push_back(gcc);
  report.checks.push_back(clang);
  const bool compiler = gcc.state == Check::State::ok || clang.state == Check::State::ok;
  if (compiler && worker.ok() && (sandbox.usable || request.unsafe)) report.lanes.push_back("cpu");
  if (!request.quick && sandbox.usable)
    for (const lane::Tool tool : {lane::Tool::address, lane::Tool::thread, lane::Tool::memory}) {
      engine::announce(request, std::string("trying sanitizer ") + lane::name_of(tool));
      report.checks.push_back(sanitizer_check(tool));
    }
  report.checks.push_back(archive_check(request));
  check_cuda(report);
  if (!request.quick && !report.lanes.empty()) {
    constexpr std::size_t kMeasured = 2;  // the small ones; bench/resolution measures all
    for (std::size_t i = 0; i < kMeasured; ++i) {
      const engine::Ruler& ruler = engine::rulers()[i];
      engine::announce(request, "measuring what can be resolved: " + ruler.name);
      HONE_TRY(const report::Resolution r, resolve(ruler, request.seconds / kMeasured, request));
      report.resolution.push_back(r);
    }
  }
  return engine::document_of(report, request, report::healthy(report) ? 0 : 3);
}

}  // namespace hone
