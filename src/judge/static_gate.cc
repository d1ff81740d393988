#include "judge/static_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "judge/reasons.h"
#include "wire/sandbox.h"

namespace hone::judge {
namespace {

using candidate::Failure;

constexpr std::size_t kListingBytes = std::size_t{64} << 20;

Failure banned(const code::Finding& finding) {
  Failure out{"static", finding.reason, fmt::format("{}: {}", finding.what, finding.why), Json::object()};
  if (!finding.where.empty()) out.message += " (" + finding.where + ")";
  out.evidence = {{"what", finding.what}, {"where", finding.where}, {"why", finding.why}};
  if (const Reason* reason = find_reason("static", finding.reason)) out.evidence["next"] = reason->next;
  return out;
}

std::vector<task::DType> storage_of(const task::Task& task) {
  std::vector<task::DType> out;
  for (const auto* tensors : {&task.inputs, &task.outputs})
    for (const task::Tensor& t : *tensors) out.push_back(t.dtype);
  return out;
}

const char* objdump_program() {
  for (const char* path : {"/usr/bin/objdump", "/usr/bin/llvm-objdump", "/usr/bin/llvm-objdump-14"})
    if (std::error_code error; fs::exists(path, error)) return path;
  return nullptr;
}

struct Listing {
  std::string text;     // of objdump; empty when `problem`
  std::string problem;
};

Result<Listing> disassemble(const std::string& object, bool unsafe) {
  const char* program = objdump_program();
  if (!program) return Listing{"", "objdump is not installed (package binutils)"};
  wire::RunSpec spec;
  spec.background = true;
  spec.argv = {program, "-d", "--no-show-raw-insn", "candidate.so"};
  spec.files["candidate.so"] = object;
  spec.limit_s = 20;
  spec.memory_bytes = std::uint64_t{2} << 30;
  spec.limits.cpu_seconds = 20;
  spec.limits.processes = 8;
  spec.stdout_limit = kListingBytes;
  spec.unsafe = unsafe;
  HONE_TRY(wire::RunOutput out, wire::run_jailed(spec));
  if (out.timed_out || out.out_of_memory || out.out_truncated)
    return Listing{"", "the listing of its instructions is too long to read"};
  if (out.code != 0) return Listing{"", "objdump cannot read it: " + scrub(out.err, 200)};
  return Listing{std::move(out.out), ""};
}

// The same object is screened, re-timed and verified: one census of it is enough.
class CensusCache {
 public:
  std::optional<code::Census> find(const std::string& hash) {
    const std::lock_guard lock(mutex_);
    const auto it = kept_.find(hash);
    return it == kept_.end() ? std::nullopt : std::optional(it->second);
  }
  void keep(const std::string& hash, const code::Census& census) {
    const std::lock_guard lock(mutex_);
    if (kept_.size() >= kMost) kept_.clear();
    kept_.emplace(hash, census);
  }

 private:
  static constexpr std::size_t kMost = 64;
  std::mutex mutex_;
  std::map<std::string, code::Census> kept_;
};

CensusCache& census_cache() {
  static CensusCache cache;
  return cache;
}

Result<std::optional<code::Census>> census_of(const lane::Built& built, const std::string& object, bool unsafe,
                                              StaticReport* report) {
  if (!built.machine_code_hash.empty())
    if (auto known = census_cache().find(built.machine_code_hash)) return known;
  HONE_TRY(const Listing listing, disassemble(object, unsafe));
  if (!listing.problem.empty()) {
    report->skipped = listing.problem;
    return std::optional<code::Census>();
  }
  auto census = code::read_census(listing.text);
  if (!census.ok()) {
    report->skipped = census.error().message;
    return std::optional<code::Census>();
  }
  if (!built.machine_code_hash.empty()) census_cache().keep(built.machine_code_hash, *census);
  return std::optional(std::move(*census));
}

void take_first_ban(StaticReport* report) {
  if (report->failure) return;
  for (const code::Finding& finding : report->findings)
    if (finding.banned) {
      report->failure = banned(finding);
      return;
    }
}

}  // namespace

std::uint64_t answer_bytes(const task::Task& task) {
  std::uint64_t least = 0;
  for (const task::Case& one : task.cases) {
    if (!one.time) continue;
    std::uint64_t bytes = 0;
    for (const task::Tensor& output : task.outputs)
      if (auto n = task::bytes_of(output, one.dims); n.ok()) bytes += static_cast<std::uint64_t>(*n);
    if (bytes > 0 && (least == 0 || bytes < least)) least = bytes;
  }
  return least;
}

Result<StaticReport> static_gate(const task::Task& task, const lane::Built& built, const std::string& object,
                                 const StaticOptions& options) {
  StaticReport report;
  const auto elf = code::read_elf(object);
  if (!elf.ok()) {
    report.failure = Failure{"static", "broken_object", elf.error().text(), Json::object()};
    return report;
  }
  const std::uint64_t answer = answer_bytes(task);
  report.findings = code::elf_findings(*elf, answer);
  const std::uint64_t writable = code::writable_bytes(*elf);
  if (answer > 0 && writable >= std::max(answer, kLeastState))
    report.findings.push_back({"state", fmt::format("{} bytes", writable), "",
                               fmt::format("writable globals of {} bytes could keep the answer, which takes {}",
                                           writable, answer),
                               true});
  take_first_ban(&report);
  if (report.failure || !options.instructions) return report;

  HONE_TRY(const std::optional<code::Census> census, census_of(built, object, options.unsafe, &report));
  if (!census) return report;
  const auto lower = code::lower_precision_for(task.precision, storage_of(task));
  for (code::Finding& finding : code::census_findings(*census, lower)) report.findings.push_back(std::move(finding));
  for (const code::Census::Instruction& one : census->notable)
    if (lower.contains(one.kind)) report.lower_precision.push_back(one);
  take_first_ban(&report);
  return report;
}

Json to_json(const StaticReport& report) {
  Json out = {{"findings", Json::array()}, {"lower_precision", report.lower_precision.size()}};
  for (const code::Finding& f : report.findings)
    out["findings"].push_back(
        {{"reason", f.reason}, {"what", f.what}, {"where", f.where}, {"why", f.why}, {"banned", f.banned}});
  if (!report.skipped.empty()) out["skipped"] = report.skipped;
  return out;
}

}  // namespace hone::judge
