// Each tool is a row of a table: compiler, flags, environment, how a report reads. The driver around the kernel
// is compiled once a tool and process; what a run means is decided from its exit and its report.

#include "lane/cpu/sanitize.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <mutex>

#include "base/text.h"
#include "lane/cpu/flags.h"
#include "lane/cpu/jail_compile.h"
#include "lane/cpu/prelude.h"
#include "wire/sandbox.h"

namespace hone::lane {

extern const char kSanitizeDriver[];

namespace {

constexpr std::size_t kMessageBytes = 2000;
constexpr int kMessageLines = 14;
constexpr std::uint64_t kRunMemoryBytes = std::uint64_t{4} << 30;
constexpr int kInputChanged = 93, kDriverFault = 90, kDriverFaultLast = 92;  // exit statuses of the driver
constexpr std::string_view kDone = "done";

struct ToolRow {
  Tool tool;
  const char* name;
  const char* compiler;               // empty: g++, or clang++ where there is no g++
  const char* sanitize;               // value of -fsanitize=
  const char* runtime;                // how its reports call themselves
  std::vector<std::pair<std::string, std::string>> env;
};

const ToolRow& row_of(Tool tool) {
  // KMP_AFFINITY: libomp otherwise tries to pin itself at start, and ends the process where the jail denies that.
  // detect_leaks: kernels own nothing, and LSan would end the program before its outputs are out.
  static const ToolRow kRows[] = {
      {Tool::address, "address", "", "address,undefined", "AddressSanitizer",
       {{"ASAN_OPTIONS", "detect_leaks=0:exitcode=66:abort_on_error=0:detect_stack_use_after_return=0:allocator_may_return_null=1"},
        {"UBSAN_OPTIONS", "print_stacktrace=1:exitcode=66:halt_on_error=1"},
        {"OMP_WAIT_POLICY", "passive"},
        {"KMP_AFFINITY", "disabled"}}},
      {Tool::thread, "thread", "clang++", "thread", "ThreadSanitizer",
       {{"TSAN_OPTIONS", "ignore_noninstrumented_modules=1:exitcode=66:halt_on_error=1"},
        {"OMP_WAIT_POLICY", "passive"},
        {"KMP_AFFINITY", "disabled"}}},
      {Tool::memory, "memory", "clang++", "memory", "MemorySanitizer", {{"MSAN_OPTIONS", "exitcode=66:halt_on_error=1"}}},
  };
  for (const ToolRow& row : kRows)
    if (row.tool == tool) return row;
  return kRows[0];
}

SanitizeOutcome outcome(Tool tool, SanitizeOutcome::State state, std::string kind, std::string message) {
  SanitizeOutcome out;
  out.state = state;
  out.tool = name_of(tool);
  out.kind = std::move(kind);
  out.message = std::move(message);
  return out;
}

SanitizeOutcome unavailable(Tool tool, std::string why) {
  return outcome(tool, SanitizeOutcome::State::unavailable, "", std::move(why));
}

/// Of the candidate's flags those that decide what it means and which instructions it may name; the optimiser's
/// would hide accesses from the tool.
std::vector<std::string> tool_flags(const ToolRow& row, const candidate::Resolved& resolved) {
  std::vector<std::string> flags = {"-std=c++20", "-march=native"};
  for (const auto& flag : resolved.flags)
    if (flag.rfind("-D", 0) == 0 || flag.rfind("-std=", 0) == 0 || (flag.rfind("-m", 0) == 0 && flag.rfind("-mtune", 0) != 0))
      flags.push_back(flag);
  flags.insert(flags.end(), {"-O1", "-g", "-fno-omit-frame-pointer", "-ffp-contract=off", "-fno-sanitize-recover=all",
                             std::string("-fsanitize=") + row.sanitize});
  // MSan knows nothing of libomp's inside, so it sees the kernel on one thread.
  flags.push_back(resolved.openmp && row.tool != Tool::memory ? "-fopenmp" : "-fopenmp-simd");
  return flags;
}

std::vector<std::string> link_flags(const ToolRow& row, const candidate::Resolved& resolved) {
  std::vector<std::string> flags = {std::string("-fsanitize=") + row.sanitize, "-rdynamic", "-lm", "-lquadmath"};
  flags.push_back("-Wl,--as-needed");
  if (resolved.openmp && row.tool != Tool::memory) flags.push_back("-fopenmp");
  return flags;
}

/// The driver's object, once a tool, compiler and process.
Result<CompileResult> driver(const ToolRow& row, const Toolchain& tools, double limit_s) {
  static std::mutex mutex;
  static std::map<std::string, CompileResult> known;
  const std::scoped_lock lock(mutex);
  const std::string key = std::string(row.name) + "\n" + tools.fingerprint();
  if (const auto it = known.find(key); it != known.end()) return it->second;
  CompileJob job;
  job.tools = &tools;
  job.source = kSanitizeDriver;
  job.flags = {"-std=c++20", "-O1", "-g", "-fno-omit-frame-pointer", std::string("-fsanitize=") + row.sanitize};
  job.product = Product::object;
  job.limit_s = limit_s;
  HONE_TRY(CompileResult compiled, compile_in_jail(job));
  if (compiled.failure.reason.empty()) known.emplace(key, compiled);
  return compiled;
}

template <typename T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// What the driver reads: counts, a row an argument, thread counts, contents.
std::string request(const SanitizeInputs& inputs) {
  std::string bytes;
  append(bytes, static_cast<std::uint32_t>(inputs.arguments.size()));
  append(bytes, static_cast<std::uint32_t>(inputs.threads.size()));
  append(bytes, static_cast<std::uint32_t>(inputs.calls));
  for (const auto& argument : inputs.arguments) {
    append(bytes, std::uint64_t{argument.size});
    append(bytes, std::uint64_t{argument.bytes.size()});
    append(bytes, std::uint64_t{argument.align < 16 ? 16 : argument.align});
    append(bytes, std::uint64_t{(argument.writable ? 1u : 0u) | (argument.output ? 2u : 0u)});
  }
  for (const int count : inputs.threads) append(bytes, std::int32_t{count});
  for (const auto& argument : inputs.arguments)
    bytes.append(reinterpret_cast<const char*>(argument.bytes.data()), argument.bytes.size());
  return bytes;
}

/// What diagnostics call the source: the name in its first line, `#line 1 "rows.cpp"`, or candidate.cpp.
std::string name_in(const std::string& source) {
  constexpr std::string_view kLine = "#line 1 \"";
  if (source.rfind(kLine, 0) != 0) return "candidate.cpp";
  return source.substr(kLine.size(), source.find('"', kLine.size()) - kLine.size());
}

/// "rows.cpp:12" → 12; the first one told, which is the innermost frame of the candidate's own.
int line_in(std::string_view text, const std::string& name) {
  const auto at = text.find(name + ":");
  return at == std::string_view::npos ? 0 : std::atoi(std::string(text.substr(at + name.size() + 1, 9)).c_str());
}

/// The report in what the program printed: from its first line on, the ruler lines left out.
std::string report_lines(std::string_view text, std::size_t begin) {
  std::string out;
  int lines = 0;
  for (const auto line : split(text.substr(begin), '\n')) {
    if (trim(line).empty() || trim(line).find_first_not_of('=') == std::string_view::npos) continue;
    out += std::string(trim(line)) + "\n";
    if (++lines == kMessageLines) break;
  }
  return scrub(trim(out), kMessageBytes);
}

/// A finding when the text holds a report of this tool or of UBSan.
bool read_report(const ToolRow& row, const std::string& text, const std::string& name, SanitizeOutcome& out) {
  const std::string marks[] = {std::string("ERROR: ") + row.runtime + ": ", std::string("WARNING: ") + row.runtime + ": "};
  std::size_t at = std::string::npos;
  for (const auto& mark : marks) {
    const auto found = text.find(mark);
    if (found == std::string::npos) continue;
    at = found;
    const auto begin = found + mark.size();
    auto end = text.find_first_of("\n(", begin);
    // "heap-buffer-overflow on address …": the kind is one word there, two in "data race".
    if (row.tool == Tool::address) end = text.find_first_of(" \n", begin);
    out.kind = scrub(trim(text.substr(begin, end - begin)), 100);
  }
  const auto undefined = text.find("runtime error: ");
  if (undefined != std::string::npos && undefined < at) {
    at = text.rfind('\n', undefined);
    at = at == std::string::npos ? 0 : at + 1;
    out.kind = "undefined behaviour";
  }
  if (at == std::string::npos) return false;
  out.state = SanitizeOutcome::State::finding;
  out.message = report_lines(text, at);
  out.line = line_in(std::string_view(text).substr(at), name);
  return true;
}

/// Cuts the outputs out of what the driver wrote; false when it is not what it should have written.
bool take_outputs(const std::string& bytes, const SanitizeInputs& inputs, SanitizeOutcome& out) {
  std::size_t at = 0;
  for (const auto& argument : inputs.arguments) {
    if (!argument.output) continue;
    if (bytes.size() - at < argument.size) return false;
    out.outputs.push_back(bytes.substr(at, argument.size));
    at += argument.size;
  }
  return std::string_view(bytes).substr(at) == kDone;
}

void judge(const ToolRow& row, const wire::RunOutput& run, const SanitizeInputs& inputs, const std::string& name, double limit_s,
           SanitizeOutcome& out) {
  using State = SanitizeOutcome::State;
  out.run_ms = run.wall_ms;
  if (read_report(row, run.err, name, out)) return;
  const std::string said = scrub(trim(run.err), 600);
  if (run.err.find(std::string("FATAL: ") + row.runtime) != std::string::npos) {
    out.state = State::unavailable;
    out.message = "the tool cannot start here: " + said;
  } else if (run.timed_out) {
    out.state = State::finding;
    out.kind = "timeout";
    out.message = fmt::format("the kernel had not finished after {:g} s under the tool", limit_s);
  } else if (run.out_of_memory) {
    out.state = State::finding;
    out.kind = "memory";
    out.message = fmt::format("the kernel used more than {} under the tool", format_bytes(double(kRunMemoryBytes)));
  } else if (run.code == kInputChanged) {
    out.state = State::finding;
    out.kind = "input changed";
    out.message = "an argument that is only to be read came back changed";
  } else if (run.code >= kDriverFault && run.code <= kDriverFaultLast) {
    out.state = State::unavailable;
    out.message = fmt::format("the driver could not read its inputs or write its outputs (status {})", run.code);
  } else if (run.code != 0 || run.signal != 0) {
    out.state = State::finding;
    out.kind = "crash";
    out.message = run.signal != 0 ? fmt::format("the kernel was killed by signal {}", run.signal)
                  : run.code > 128 ? fmt::format("the kernel was killed by signal {}", run.code - 128)
                                   : fmt::format("the kernel ended its process with status {}", run.code);
    if (!said.empty()) out.message += ": " + said;
  } else if (!take_outputs(run.out, inputs, out)) {
    out.state = State::finding;
    out.kind = "exit";
    out.message = "the kernel ended its process before it returned";
    out.outputs.clear();
  }
}

Result<wire::RunOutput> run_program(const ToolRow& row, const Toolchain& tools, const std::string& program, const std::string& input,
                                    const SanitizeLimits& limits, bool fixed_addresses) {
  wire::RunSpec spec;
  spec.files["product"] = program;
  // A copy, because a file given to the jail has no name that clang's symbolizer could open. Some kernels spread
  // mappings wider than a shadow memory of fixed place can stand; setarch asks for the old layout.
  spec.argv = {"/bin/sh", "-c", fmt::format("cp product /tmp/kernel && exec {}/tmp/kernel", fixed_addresses ? "setarch x86_64 -R " : "")};
  spec.env = row.env;
  if (row.tool == Tool::thread && !tools.archer.empty()) spec.env.emplace_back("OMP_TOOL_LIBRARIES", tools.archer);
  spec.stdin_bytes = input;
  spec.limit_s = limits.run_s;
  spec.memory_bytes = kRunMemoryBytes;
  spec.stdout_limit = limits.output_bytes;
  spec.limits.cpu_seconds = static_cast<std::uint64_t>(limits.run_s * 64) + 2;
  return wire::run_jailed(spec);
}

constexpr const char* kCleanKernel = R"(
extern "C" void hone_entry(void* const* a, const int* threads) {
  const float* x = static_cast<const float*>(a[0]);
  float* y = static_cast<float*>(a[1]);
  const long n = *static_cast<const long*>(a[2]);
  float sum = 0;
  #pragma omp parallel for num_threads(threads[0]) reduction(+:sum)
  for (long i = 0; i < n; ++i) sum += x[i];
  #pragma omp parallel for num_threads(threads[0])
  for (long i = 0; i < n; ++i) y[i] = x[i] + sum;
}
)";

/// The clean kernel with one planted fault each.
std::string faulty_kernel(Tool tool) {
  std::string text = kCleanKernel;
  const auto replace = [&text](const std::string& what, const std::string& with) {
    text.replace(text.find(what), what.size(), with);
  };
  if (tool == Tool::address) replace("i < n; ++i) y[i]", "i <= n; ++i) y[i]");
  if (tool == Tool::thread) replace(" reduction(+:sum)", "");
  if (tool == Tool::memory) replace("i < n; ++i) y[i]", "i < n - 1; ++i) y[i]");
  return text;
}

Result<SanitizeOutcome> run_planted(Tool tool, const std::string& source) {
  constexpr std::int64_t kCount = 4096;
  const std::vector<float> x(kCount, 1.0F);
  candidate::Resolved resolved;
  resolved.source = source;
  resolved.openmp = true;
  SanitizeInputs inputs;
  inputs.threads = {tool == Tool::memory ? 1 : 2};
  inputs.arguments.resize(3);
  inputs.arguments[0].size = kCount * sizeof(float);
  inputs.arguments[0].bytes = std::as_bytes(std::span(x));
  inputs.arguments[1].size = kCount * sizeof(float);
  inputs.arguments[1].writable = inputs.arguments[1].output = true;
  inputs.arguments[2].size = sizeof kCount;
  inputs.arguments[2].bytes = std::as_bytes(std::span(&kCount, 1));
  return run_sanitized(tool, resolved, inputs);
}

Result<SanitizeOutcome> run_self_test(Tool tool) {
  HONE_TRY(SanitizeOutcome clean, run_planted(tool, kCleanKernel));
  if (clean.state == SanitizeOutcome::State::unavailable) return clean;
  if (clean.state == SanitizeOutcome::State::finding)
    return unavailable(tool, "the tool finds a fault in a clean kernel on this machine: " + clean.message);
  HONE_TRY(const SanitizeOutcome faulty, run_planted(tool, faulty_kernel(tool)));
  if (faulty.state == SanitizeOutcome::State::unavailable) return faulty;
  if (faulty.state != SanitizeOutcome::State::finding)
    return unavailable(tool, "the tool does not find a planted fault on this machine");
  clean.outputs.clear();
  clean.message = "caught a planted " + faulty.kind + ", passed a clean kernel";
  return clean;
}

}  // namespace

const char* name_of(Tool tool) { return row_of(tool).name; }

Result<SanitizeOutcome> run_sanitized(Tool tool, const candidate::Resolved& resolved, const SanitizeInputs& inputs,
                                      const SanitizeLimits& limits) {
  const ToolRow& row = row_of(tool);
  HONE_CHECK(check_flags(resolved.flags));
  // The address tool follows the candidate's compiler, whose extensions its source may use.
  const std::string compiler = *row.compiler != '\0' ? row.compiler : is_compiler_name(resolved.compiler) ? resolved.compiler : "";
  const auto tools = find_toolchain(compiler);
  if (!tools.ok()) return unavailable(tool, tools.error().text());
  if (tool == Tool::thread && resolved.openmp && tools->archer.empty())
    return unavailable(tool, "without libarcher every OpenMP barrier looks like a race. Install it: apt-get install libomp-14-dev");
  HONE_TRY(const CompileResult main_object, driver(row, *tools, limits.compile_s));
  if (!main_object.failure.reason.empty())
    return unavailable(tool, "the tool's compiler does not work here: " + main_object.failure.message);
  CompileJob job;
  job.tools = &*tools;
  job.source = resolved.source;
  job.prelude = prelude_for(resolved).text;
  job.flags = tool_flags(row, resolved);
  job.product = Product::program;
  job.files["driver.o"] = main_object.object;
  job.link_flags = link_flags(row, resolved);
  job.limit_s = limits.compile_s;
  HONE_TRY(const CompileResult compiled, compile_in_jail(job));
  if (!compiled.failure.reason.empty())
    return unavailable(tool, "the source does not build under the tool: " + compiled.failure.message);
  SanitizeOutcome out = outcome(tool, SanitizeOutcome::State::clean, "", "");
  out.compile_ms = compiled.wall_ms;
  const std::string input = request(inputs);
  HONE_TRY(wire::RunOutput run, run_program(row, *tools, compiled.object, input, limits, false));
  if (run.err.find(std::string("FATAL: ") + row.runtime) != std::string::npos) {
    HONE_TRY(run, run_program(row, *tools, compiled.object, input, limits, true));
  }
  judge(row, run, inputs, name_in(resolved.source), limits.run_s, out);
  return out;
}

Result<SanitizeOutcome> self_test(Tool tool) {
  static std::mutex mutex;
  static std::map<Tool, SanitizeOutcome> known;
  const std::scoped_lock lock(mutex);
  if (const auto it = known.find(tool); it != known.end()) return it->second;
  HONE_TRY(const SanitizeOutcome result, run_self_test(tool));
  known.emplace(tool, result);
  return result;
}

}  // namespace hone::lane
