#pragma once
// The jail in which untrusted code runs: a process of an unused user inside bubblewrap (no network,
// no files but the toolchain and what was bound), with limits, a system-call filter and Landlock on
// top.
//
// Two ways in. A `Jail` is started once and spawns many fresh workers (runners) in milliseconds: a
// trusted helper, process 1 of the jail, forks them, reaps them and reports how they ended.
// `run_jailed` is for compilers and sanitizer drivers: one fresh jail a run, everything in it
// killed at the end. Who runs candidate code calls `lock_down` right before loading it. Read next:
// launch.h (how a jail is entered), filter.h (what is denied), jail_helper.cc (the helper).

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/frame.h"

namespace hone::wire {

/// What the code inside may do.
enum class Profile {
  kernel,  ///< cpu-lane code: threads, memory; after lock_down no process, no file, no signal to
           ///< others
  tools,   ///< compilers and sanitizer drivers: may also start processes and programs of /usr
  device,  ///< our own code around device code: as tools, and what a GPU driver needs to start
};

/// Limits of one process (setrlimit); 0 leaves a limit as it is.
struct ProcessLimits {
  std::uint64_t address_space_bytes =
      0;                          ///< whole virtual size, shared tensors included; breaks ASan
  std::uint64_t cpu_seconds = 0;  ///< SIGXCPU, a second later SIGKILL
  std::uint64_t processes = 0;    ///< processes *and threads* of this jail, the helper included
  std::uint64_t file_bytes = 0;   ///< largest file that can be written
  std::uint64_t open_files = 256;
  std::uint64_t stack_bytes = 0;
};

struct Bind {
  std::filesystem::path
      source;          ///< on the host; a file that other users cannot reach is copied first
  std::string target;  ///< absolute, in the jail
};

struct JailSpec {
  std::filesystem::path worker;               ///< hone-worker; empty: base's worker_program()
  std::vector<Bind> read_only;                ///< beyond /usr and the worker
  std::vector<std::string> devices;           ///< nodes of /dev seen inside, where they exist
  std::uint64_t scratch_bytes = 64ULL << 20;  ///< size of /tmp
  std::uint64_t shm_bytes = 16ULL << 20;      ///< size of /dev/shm
  bool unsafe = false;  ///< without bubblewrap: no namespaces, limits and filters only
};

struct SpawnSpec {
  std::vector<std::string> argv;  ///< the role of hone-worker and its arguments: {"runner"}
  std::vector<std::pair<std::string, std::string>> env;  ///< the whole environment
  std::vector<int> fds;  ///< become 3, 4, … in the worker; borrowed
  ProcessLimits limits;
  std::uint64_t memory_bytes = 0;  ///< resident bound, polled every 20 ms by the helper; 0: none
  std::vector<int> cpus;           ///< pinned to these; empty: not pinned
  int output_fd = -1;              ///< standard output and error; -1: /dev/null
  Profile profile = Profile::kernel;
};

/// How a process ended. Told by the trusted helper, not by the process.
struct Exit {
  int code = -1;   ///< exit status, -1 when a signal ended it
  int signal = 0;  ///< 0 when it exited
  std::uint64_t max_rss_bytes = 0;
  std::int64_t cpu_ns = 0;     ///< user and system
  bool out_of_memory = false;  ///< memory_bytes was exceeded
};
/// "exit code 3", "killed by SIGSYS: forbidden system call", …
std::string explain(const Exit& exit);

/// One worker in a jail. Move-only; destruction kills it.
class JailedProcess {
 public:
  JailedProcess();
  JailedProcess(JailedProcess&&) noexcept;
  JailedProcess& operator=(JailedProcess&&) noexcept;
  ~JailedProcess();

  int pidfd() const;
  int host_pid() const;
  /// Stops every thread and returns when all have stopped (cgroup freezer, else SIGSTOP). Error: it
  /// has ended, or does not stop within a second.
  Status freeze();
  /// Lets it run again. Error when a thread was found not stopped: what it did meanwhile is
  /// unknown.
  Status thaw();
  /// Every thread is stopped now.
  bool frozen() const;
  /// SIGKILL; nothing when it has ended.
  void kill();
  /// Waits for its end. Error: is_timeout, or the jail itself died. May be called again.
  Result<Exit> wait(std::int64_t timeout_ns = kNoTimeout);
  /// Resident memory now, shared tensors included; 0 when it has ended.
  std::uint64_t memory_bytes() const;

 private:
  friend class Jail;
  struct State;
  std::unique_ptr<State> state_;
};

/// A running jail. Move-only, usable from several threads; destruction kills all in it.
class Jail {
 public:
  /// 7–15 ms. Error (environment) with cause and cure where bubblewrap or user namespaces are
  /// missing.
  static Result<Jail> start(const JailSpec& spec = {});
  Jail(Jail&&) noexcept;
  Jail& operator=(Jail&&) noexcept;
  ~Jail();

  /// A fresh process of the worker program, about 2 ms.
  Result<JailedProcess> spawn(const SpawnSpec& spec);
  /// Which layers hold, e.g. {"user 1900000123", "bubblewrap 0.8.0", "namespaces user pid net ipc
  /// uts mount", "seccomp", "landlock 7", "limits", "no cgroup"}; goes into every verdict.
  std::vector<std::string> layers() const;
  /// Process 1 of the jail, as the host sees it.
  int helper_host_pid() const;

 private:
  struct State;
  explicit Jail(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The first half of lock_down: Landlock, for this thread and those it starts; call it while there
/// is only one. From then on nothing can be written by path, and only /usr, the process's own
/// /proc, the processor list and `readable` be read (Profile::tools: /tmp and /dev/shm can also be
/// written). Nothing happens on kernels without Landlock; the bind mounts hold all the same.
Status lock_files(Profile profile, std::span<const std::string> readable = {});
/// Called by a worker on itself, once, before candidate code is loaded; cannot be undone. Does
/// lock_files first unless that was done, then Profile::kernel's system-call filter for all
/// threads. Threads that are to be bound to processors must exist before: binding no longer does
/// anything. Loading a shared object from a descriptor (/proc/self/fd/N), threads and memory still
/// work. A forbidden call ends the process with SIGSYS; harmless ones fail with EPERM or ENOSYS.
Status lock_down(Profile profile, std::string_view program = {});

/// The filter program of lock_down(Profile::kernel), which takes longer to make than to load: whoever starts many
/// workers makes it once and sends it along. Empty `program` above: made on the spot.
Result<std::string> lock_down_program();
/// The version of Landlock this kernel has; 0: none.
int landlock_version();

/// One run of a program of /usr (or of a bound file) in a jail of its own.
struct RunSpec {
  std::vector<std::string> argv;  ///< argv[0] is an absolute path, or relative to the work folder
  std::vector<std::pair<std::string, std::string>> env;  ///< PATH and LC_ALL=C are there already
  std::string stdin_bytes;
  /// path → content, read-only and executable. Relative: below the work folder /tmp/work, the
  /// current folder.
  std::map<std::string, std::string> files;
  std::vector<Bind> read_only;
  std::string output_file;  ///< when not empty: its bytes come back in RunOutput::output
  std::uint64_t scratch_bytes = 256ULL << 20;  ///< size of /tmp
  std::uint64_t memory_bytes =
      0;  ///< resident memory of all processes together, polled; 0: no bound
  ProcessLimits limits;
  double limit_s = 10;  ///< wall clock; then everything is killed
  std::size_t stdout_limit = 1 << 20;
  std::size_t stderr_limit = 1 << 20;
  std::size_t output_limit = 64 << 20;
  std::vector<int> cpus;
  /// No /proc, and of /dev null alone: for programs that open by name what an untrusted text says, as compilers do.
  /// There nothing can be read without end, nor a stream of ours waited for.
  bool bare = false;
  bool background = false;          ///< gives way at once when others of ours want the processor
  bool unsafe = false;  ///< without bubblewrap; `files` must then be relative
};

struct RunOutput {
  int code = -1;   ///< exit status, -1 when a signal ended it
  int signal = 0;  ///< bubblewrap's convention: exit status 128 + n is signal n
  bool timed_out = false;
  bool out_of_memory = false;    ///< memory_bytes was exceeded
  std::string out, err, output;  ///< untrusted: base's scrub() before printing
  bool out_truncated = false, err_truncated = false, output_truncated = false;
  double wall_ms = 0;
};

/// Runs it and waits. What the program does wrong is in RunOutput; an Error is the environment's
/// fault. Usable from several threads at once.
Result<RunOutput> run_jailed(const RunSpec& spec);

/// What this machine offers, found by trying (cached for the life of the process).
struct SandboxReport {
  bool usable = false;              ///< run_jailed and Jail::start work without `unsafe`
  std::vector<std::string> layers;  ///< as Jail::layers
  std::string problem, cure;        ///< when not usable
};
const SandboxReport& probe_sandbox();
Json to_json(const SandboxReport& report);

}  // namespace hone::wire
