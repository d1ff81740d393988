#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <mutex>

#include "base/clock.h"
#include "base/files.h"
#include "wire/cell.h"
#include "wire/filter.h"
#include "wire/launch.h"
#include "wire/sandbox.h"

namespace hone::wire {
namespace {

constexpr int kOutputFd = 3, kStatusFd = 4, kFilterFd = 5, kFirstDataFd = 6;
constexpr std::int64_t kMemoryPoll_ns = 25'000'000;

/// A file that exists only as a descriptor, at its start.
Result<UniqueFd> memory_file(const std::string& bytes) {
  UniqueFd file(::memfd_create("input", MFD_CLOEXEC));
  if (!file.valid()) return system_error("making an input file failed", errno);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno != EINTR) return system_error("writing an input file failed", errno);
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

Result<const FilterProgram*> tools_filter() {
  static std::mutex mutex;
  static std::optional<FilterProgram> program;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!program) {
    HONE_TRY(program, compile_filter(Filter::tools));
  }
  return &*program;
}

/// The program through a pipe, as bubblewrap wants it. It is a few KiB and fits.
Result<UniqueFd> filter_pipe() {
  HONE_TRY(const FilterProgram* program, tools_filter());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("making a pipe failed", errno);
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  const std::size_t bytes = program->size() * sizeof(sock_filter);
  if (::write(write_end.get(), program->data(), bytes) != static_cast<ssize_t>(bytes))
    return system_error("handing over the system-call filter failed", errno);
  return read_end;
}

/// One stream that the jailed program writes: kept up to a limit, drained beyond.
struct Stream {
  UniqueFd read_end, write_end;
  std::string* kept = nullptr;
  bool* truncated = nullptr;
  std::size_t limit = 0;

  static Result<Stream> make(std::string* kept, bool* truncated, std::size_t limit) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("making a pipe failed", errno);
    return Stream{UniqueFd(ends[0]), UniqueFd(ends[1]), kept, truncated, limit};
  }

  /// False when it is closed.
  bool drain() {
    static thread_local std::array<char, 65536> buffer;
    const ssize_t got = ::read(read_end.get(), buffer.data(), buffer.size());
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    if (got == 0) return false;
    const std::size_t room = limit - std::min(limit, kept->size());
    const auto count = static_cast<std::size_t>(got);
    kept->append(buffer.data(), std::min(room, count));
    if (count > room) *truncated = true;
    return true;
  }
};

/// Resident memory of a process and all below it.
std::uint64_t tree_memory(int pid, int depth = 0) {
  if (depth > 16) return 0;
  std::uint64_t sum = 0;
  if (std::FILE* statm = std::fopen(fmt::format("/proc/{}/statm", pid).c_str(), "re")) {
    unsigned long long total = 0, resident = 0;
    if (std::fscanf(statm, "%llu %llu", &total, &resident) == 2)
      sum = resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    std::fclose(statm);
  }
  if (std::FILE* children =
          std::fopen(fmt::format("/proc/{0}/task/{0}/children", pid).c_str(), "re")) {
    for (int child = 0; std::fscanf(children, "%d", &child) == 1;)
      sum += tree_memory(child, depth + 1);
    std::fclose(children);
  }
  return sum;
}

class Run {
 public:
  explicit Run(const RunSpec& spec) : spec_(spec) {}

  Result<RunOutput> operator()() {
    if (spec_.argv.empty()) return bug_error("nothing to run");
    if (!spec_.unsafe && bubblewrap().program.empty()) return no_sandbox("");
    launch_.user = unused_user();
    launch_.cpus = spec_.cpus;
    launch_.background = spec_.background;
    HONE_CHECK(open_streams());
    HONE_CHECK(spec_.unsafe ? prepare_unsafe() : prepare_jail());
    start_ns_ = monotonic_ns();
    HONE_TRY(child_, launch(launch_));
    close_child_ends();
    watch();
    return finish();
  }

 private:
  Status open_streams() {
    HONE_TRY(stdin_, memory_file(spec_.stdin_bytes));
    HONE_TRY(streams_[0], Stream::make(&result_.out, &result_.out_truncated, spec_.stdout_limit));
    HONE_TRY(streams_[1], Stream::make(&result_.err, &result_.err_truncated, spec_.stderr_limit));
    HONE_TRY(streams_[2],
             Stream::make(&result_.output, &result_.output_truncated, spec_.output_limit));
    HONE_TRY(streams_[3], Stream::make(&status_, &status_truncated_, 4096));
    launch_.fds = {
        {stdin_.get(), 0}, {streams_[0].write_end.get(), 1}, {streams_[1].write_end.get(), 2}};
    if (!spec_.output_file.empty())
      launch_.fds.emplace_back(streams_[2].write_end.get(), kOutputFd);
    return {};
  }

  /// The command, behind `prlimit` for the limits and a line of shell for the output file.
  std::vector<std::string> command() const {
    std::vector<std::string> words;
    const ProcessLimits& limits = spec_.limits;
    words = {"/usr/bin/prlimit", "--core=0"};
    const auto add = [&](const char* name, std::uint64_t value) {
      if (value != 0) words.push_back(fmt::format("--{}={}", name, value));
    };
    add("as", limits.address_space_bytes);
    add("cpu", limits.cpu_seconds);
    add("nproc", limits.processes);
    add("fsize", limits.file_bytes);
    add("nofile", limits.open_files);
    add("stack", limits.stack_bytes);
    words.push_back("--");
    if (!spec_.output_file.empty()) {
      const char* script = "\"$@\" 3>&-; r=$?; cat -- \"$0\" >&3 2>/dev/null; exit $r";
      words.insert(words.end(), {"/bin/sh", "-c", script, spec_.output_file});
    }
    words.insert(words.end(), spec_.argv.begin(), spec_.argv.end());
    return words;
  }

  Status prepare_jail() {
    Cell cell;
    cell.command_is_init = false;
    cell.new_session = !spec_.background;
    cell.read_only = spec_.read_only;
    cell.bare = spec_.bare;
    cell.env = {{"PATH", "/usr/bin:/bin"}, {"LC_ALL", "C"}};
    cell.env.insert(cell.env.end(), spec_.env.begin(), spec_.env.end());
    cell.scratch_bytes = spec_.scratch_bytes;
    cell.shm_bytes = 1 << 20;
    cell.filter_fd = kFilterFd;
    cell.status_fd = kStatusFd;
    cell.other_user = launch_.user.has_value();
    HONE_TRY(filter_, filter_pipe());
    launch_.fds.emplace_back(streams_[3].write_end.get(), kStatusFd);
    launch_.fds.emplace_back(filter_.get(), kFilterFd);
    for (const auto& [path, bytes] : spec_.files) {
      HONE_TRY(UniqueFd file, memory_file(bytes));
      const int target = kFirstDataFd + static_cast<int>(data_.size());
      launch_.fds.emplace_back(file.get(), target);
      data_.push_back(std::move(file));
      cell.data.emplace_back(
          target, path.starts_with('/') ? path : fmt::format("{}/{}", kWorkFolder, path));
    }
    HONE_TRY(launch_.argv, bubblewrap_arguments(cell));
    const auto words = command();
    launch_.argv.insert(launch_.argv.end(), words.begin(), words.end());
    launch_.program = bubblewrap().program;
    return {};
  }

  /// A folder of its own, limits and the filter; no walls.
  Status prepare_unsafe() {
    HONE_TRY(TemporaryFolder folder, TemporaryFolder::make("hone-run"));
    const fs::path work = folder.path();
    folder_.emplace(std::move(folder));
    for (const auto& [path, bytes] : spec_.files) {
      if (path.starts_with('/') || path.find("..") != std::string::npos)
        return usage_error(fmt::format("without a sandbox the file {} cannot be given", path),
                           "Install bubblewrap.");
      HONE_CHECK(make_folder((work / path).parent_path()));
      HONE_CHECK(write_file(work / path, bytes));
      ::chmod((work / path).c_str(), 0555);
    }
    if (launch_.user && ::chown(work.c_str(), *launch_.user, *launch_.user) != 0)
      return system_error("giving away the work folder failed", errno);
    launch_.folder = work.string();
    launch_.env = {"PATH=/usr/bin:/bin", "LC_ALL=C", "TMPDIR=" + work.string()};
    for (const auto& [key, value] : spec_.env) launch_.env.push_back(key + "=" + value);
    launch_.argv = command();
    launch_.program = launch_.argv[0];
    HONE_TRY(unsafe_filter_, tools_filter());
    launch_.prepare = [](void* context) {
      return load_filter(*static_cast<const FilterProgram*>(context));
    };
    launch_.context = const_cast<FilterProgram*>(unsafe_filter_);
    return {};
  }

  void close_child_ends() {
    for (Stream& stream : streams_) stream.write_end.reset();
    data_.clear();
    filter_.reset();
    stdin_.reset();
  }

  void kill_all() {
    // Bubblewrap's end is the end of process 1, and that of everything in the jail.
    ::syscall(SYS_pidfd_send_signal, child_.pidfd.get(), SIGKILL, nullptr, 0);
    if (spec_.unsafe) ::kill(-child_.pid, SIGKILL);
  }

  void watch() {
    const std::int64_t end = start_ns_ + static_cast<std::int64_t>(spec_.limit_s * 1e9);
    std::int64_t drain_end = 0;
    bool killed = false;
    while (true) {
      std::array<pollfd, 5> items;
      for (std::size_t i = 0; i < streams_.size(); ++i)
        items[i] = {streams_[i].read_end.get(), POLLIN, 0};
      items[4] = {ended_ ? -1 : child_.pidfd.get(), POLLIN, 0};
      const bool open = std::any_of(streams_.begin(), streams_.end(),
                                    [](const Stream& s) { return s.read_end.valid(); });
      if (ended_ && !open) return;
      const std::int64_t now = monotonic_ns();
      if (ended_ && now > drain_end) return;
      if (!ended_ && !killed && now >= end) result_.timed_out = killed = true, kill_all();
      if (!ended_ && !killed && spec_.memory_bytes != 0 &&
          tree_memory(child_.pid) > spec_.memory_bytes)
        result_.out_of_memory = killed = true, kill_all();
      std::int64_t rest = ended_ ? drain_end - now : killed ? 1'000'000'000 : end - now;
      if (spec_.memory_bytes != 0 && !ended_) rest = std::min(rest, kMemoryPoll_ns);
      ::poll(items.data(), items.size(), static_cast<int>((rest + 999'999) / 1'000'000));
      for (std::size_t i = 0; i < streams_.size(); ++i)
        if (items[i].revents != 0 && !streams_[i].drain()) streams_[i].read_end.reset();
      if (items[4].revents != 0) {
        reap(child_, -1, &wait_status_);
        if (spec_.unsafe) ::kill(-child_.pid, SIGKILL);
        result_.wall_ms = static_cast<double>(monotonic_ns() - start_ns_) * 1e-6;
        drain_end = monotonic_ns() + 1'000'000'000;
        ended_ = true;
      }
    }
  }

  Result<RunOutput> finish() {
    if (result_.timed_out || result_.out_of_memory) {
      result_.signal = SIGKILL;
      return std::move(result_);
    }
    // Bubblewrap reports an exit code only when the command was really started.
    if (!spec_.unsafe && status_.find("exit-code") == std::string::npos) {
      if (!WIFSIGNALED(wait_status_)) return no_sandbox(result_.err);
    }
    const int code = WIFEXITED(wait_status_) ? WEXITSTATUS(wait_status_) : -1;
    if (WIFSIGNALED(wait_status_))
      result_.signal = WTERMSIG(wait_status_);
    else if (code > 128 && code <= 128 + SIGRTMAX)
      result_.signal = code - 128;
    else
      result_.code = code;
    return std::move(result_);
  }

  const RunSpec& spec_;
  LaunchSpec launch_;
  RunOutput result_;
  std::array<Stream, 4> streams_;
  UniqueFd stdin_, filter_;
  std::vector<UniqueFd> data_;
  std::optional<TemporaryFolder> folder_;
  const FilterProgram* unsafe_filter_ = nullptr;
  std::string status_;
  bool status_truncated_ = false;
  Child child_;
  int wait_status_ = 0;
  bool ended_ = false;
  std::int64_t start_ns_ = 0;
};

SandboxReport probe() {
  SandboxReport report;
  RunSpec spec;
  spec.argv = {"/usr/bin/true"};
  auto output = run_jailed(spec);
  report.usable = output.ok() && output->code == 0;
  const bool root = ::geteuid() == 0;
  report.layers = describe_layers(root ? unused_user() : std::nullopt, report.usable);
  if (report.usable) return report;
  const Error error = output.ok() ? no_sandbox(output->err) : output.error();
  report.problem = error.message;
  report.cure = error.cure;
  return report;
}

}  // namespace

Result<RunOutput> run_jailed(const RunSpec& spec) { return Run(spec)(); }

const SandboxReport& probe_sandbox() {
  static const SandboxReport report = probe();
  return report;
}

Json to_json(const SandboxReport& report) {
  Json json = {{"usable", report.usable}, {"layers", report.layers}};
  if (!report.usable) {
    json["problem"] = report.problem;
    json["cure"] = report.cure;
  }
  return json;
}

}  // namespace hone::wire
