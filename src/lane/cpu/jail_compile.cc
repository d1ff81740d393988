#include "lane/cpu/jail_compile.h"

#include <fmt/format.h>

#include "base/text.h"
#include "wire/sandbox.h"

namespace hone::lane {
namespace {

constexpr std::size_t kLogBytes = 16 * 1024;
constexpr int kCompilerFailed = 10, kLinkerFailed = 11;  // of our script
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kMaxMemoryBytes = std::uint64_t{3} << 30;

std::string quote(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string quote_all(const std::vector<std::string>& all) {
  std::string out;
  for (const auto& word : all) out += ' ' + quote(word);
  return out;
}

std::string prelude_flags(const CompileJob& job) {
  if (job.precompiled.empty()) return " -include prelude.h";
  return job.tools->clang ? fmt::format(" -include-pch {}/prelude.pch", kPreludeTarget)
                          : fmt::format(" -include {}/prelude.h", kPreludeTarget);
}

/// The bare linker: position-independent code needs none of the start-up files, except that local objects
/// with destructors name __dso_handle, for which any address of the object will do.
std::string link_with(const Toolchain& tools, const std::vector<std::string>& libraries) {
  return quote(tools.linker) +
         " -shared --eh-frame-hdr --as-needed --no-undefined --build-id=none --hash-style=gnu -Bsymbolic -z now -z relro"
         " -z noexecstack -o product candidate.o handle.ld" +
         quote_all(libraries);
}

/// Reading libstdc++'s names takes 8 ms of the 16 of a link, the C and mathematics libraries 5, and few kernels call
/// any: so fewer libraries first, and all of them where a name is missing, whose complaint is the one to show. What
/// an object needs is linked in the same order, so it comes out the same.
std::string link_line(const CompileJob& job) {
  const Toolchain& tools = *job.tools;
  std::vector<std::string> openmp, usual;
  for (const auto& path : tools.libraries) {
    const std::string name = std::filesystem::path(path).filename().string();
    if (name.rfind("libgomp", 0) == 0 || name.rfind("libomp", 0) == 0) openmp.push_back(path);
    if (name.rfind("libstdc++", 0) != 0 && name.rfind("libquadmath", 0) != 0) usual.push_back(path);
  }
  std::string line;
  if (job.source.find("#include") == std::string::npos) line += link_with(tools, openmp) + " 2>/dev/null || ";
  if (usual.size() < tools.libraries.size()) line += link_with(tools, usual) + " 2>/dev/null || ";
  return line + link_with(tools, tools.libraries);
}

std::string script_for(const CompileJob& job) {
  const std::string diagnostics = job.tools->clang ? " -fno-color-diagnostics -ferror-limit=5"
                                                   : " -fdiagnostics-color=never -fmax-errors=5";
  const std::string compile =
      quote(job.tools->program) + quote_all(job.flags) + diagnostics + prelude_flags(job);
  if (job.product == Product::object) return fmt::format("{} -c candidate.cpp -o product || exit {}\n", compile, kCompilerFailed);
  if (job.product == Product::program) {
    std::string inputs = " candidate.o";
    for (const auto& [name, content] : job.files) inputs += ' ' + quote(name);
    return fmt::format("{} -c candidate.cpp -o candidate.o || exit {}\n{}{}{} -o product || exit {}\n", compile,
                       kCompilerFailed, quote(job.tools->program), inputs, quote_all(job.link_flags), kLinkerFailed);
  }
  return fmt::format("{} -c candidate.cpp -o candidate.o || exit {}\n{} || exit {}\n", compile,
                     kCompilerFailed, link_line(job), kLinkerFailed);
}

wire::RunSpec jail_for(double limit_s, bool unsafe) {
  wire::RunSpec spec;
  spec.bare = true;        // #include, .incbin and the like open whatever the source names
  spec.background = true;  // builds run ahead of timing: the coordinator must never wait behind one
  // A build that embeds the day is another object each day.
  spec.env = {{"SOURCE_DATE_EPOCH", "0"}, {"TMPDIR", "/tmp"}};
  spec.limit_s = limit_s;
  spec.memory_bytes = kMaxMemoryBytes;
  spec.scratch_bytes = std::uint64_t{1} << 30;
  spec.limits.file_bytes = kMaxFileBytes;
  spec.limits.cpu_seconds = static_cast<std::uint64_t>(2 * limit_s) + 2;
  spec.limits.processes = 64;
  spec.stderr_limit = std::size_t{256} << 10;
  spec.output_limit = kMaxFileBytes;
  spec.unsafe = unsafe;
  return spec;
}

bool contains(const std::string& text, std::initializer_list<const char*> needles) {
  for (const char* needle : needles)
    if (text.find(needle) != std::string::npos) return true;
  return false;
}

candidate::Failure failure(std::string reason, std::string message, const std::string& log) {
  candidate::Failure out{"static", std::move(reason), std::move(message), Json::object()};
  out.evidence["log"] = log;
  return out;
}

/// What a run that gave no product means.
candidate::Failure judge(const wire::RunOutput& run, const std::string& log, double limit_s) {
  if (run.timed_out)
    return failure("compile_timeout", fmt::format("the compiler had not finished after {:g} s and was killed", limit_s), log);
  if (run.out_of_memory || contains(run.err, {"out of memory", "virtual memory exhausted", "Cannot allocate memory",
                                              "std::bad_alloc", "LLVM ERROR: out of memory"}))
    return failure("compile_limits",
                   fmt::format("the compiler needed more than the {} it may have", format_bytes(double(kMaxMemoryBytes))), log);
  if (run.output_truncated || run.signal == 25 || run.code == 128 + 25 ||
      contains(run.err, {"File size limit exceeded", "File too large", "No space left on device", "signal 25",
                         "SIGXFSZ", "file size limit"}))
    return failure("compile_limits",
                   fmt::format("the compiler wrote more than the {} a file may have: is there a huge initialised array?",
                               format_bytes(double(kMaxFileBytes))),
                   log);
  std::string line = first_error_line(log);
  if (line.empty()) line = run.signal != 0 ? fmt::format("the compiler was killed by signal {}", run.signal)
                                           : fmt::format("the compiler ended with status {} and said nothing", run.code);
  if (contains(line, {"No such file or directory", "file not found", "Permission denied"}))
    line += " (a compile sees the toolchain's own headers alone)";
  if (run.code == kLinkerFailed) return failure("link_error", line, log);
  return failure("compile_error", line, log);
}

}  // namespace

std::string first_error_line(const std::string& log) {
  std::string first;
  for (const auto line : split(log, '\n')) {
    const std::string text(trim(line));
    if (contains(text, {"error:", "Error:", "undefined reference"})) return text;  // the assembler's has a capital
    if (first.empty()) first = text;
  }
  return first;
}

Result<CompileResult> compile_in_jail(const CompileJob& job) {
  wire::RunSpec spec = jail_for(job.limit_s, job.unsafe);
  spec.argv = {"/bin/sh", "build.sh"};
  spec.files = job.files;
  spec.files["build.sh"] = script_for(job);
  spec.files["candidate.cpp"] = job.source;
  spec.files["handle.ld"] = "PROVIDE_HIDDEN(__dso_handle = ADDR(.text));\n";
  if (job.precompiled.empty()) {
    spec.files["prelude.h"] = job.prelude;
  } else {
    spec.read_only.push_back({job.precompiled, kPreludeTarget});
  }
  spec.output_file = "product";
  HONE_TRY(const wire::RunOutput run, wire::run_jailed(spec));
  CompileResult result;
  result.log = scrub(run.err, kLogBytes);
  result.wall_ms = run.wall_ms;
  if (run.code == 0 && !run.output.empty() && !run.output_truncated && !run.timed_out) {
    result.object = run.output;
  } else {
    result.failure = judge(run, result.log, job.limit_s);
  }
  return result;
}

Result<std::string> precompile(const std::string& text, const Toolchain& tools, const std::vector<std::string>& flags) {
  constexpr double kLimit = 60;
  wire::RunSpec spec = jail_for(kLimit, false);
  const std::string header = fmt::format("{}/prelude.h", kPreludeTarget);
  // clang remembers the path and the time of what it read, so it is made where it will be used.
  spec.files[header] = text;
  spec.files["build.sh"] = fmt::format("{}{}{} -x c++-header {} -o product\n", quote(tools.program), quote_all(flags),
                                       tools.clang ? " -Xclang -fno-pch-timestamp" : "", header);
  spec.argv = {"/bin/sh", "build.sh"};
  spec.output_file = "product";
  HONE_TRY(const wire::RunOutput run, wire::run_jailed(spec));
  if (run.code != 0 || run.output_truncated) return std::string();
  return run.output;
}

}  // namespace hone::lane
