#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "base/unique_fd.h"

namespace hone {

Result<std::string> read_file(const fs::path& path, std::size_t max_bytes) {
  // Without O_NONBLOCK a pipe that nobody writes to holds the program up in open().
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) {
    const int error = errno;
    Error e = usage_error("cannot read " + path.string() + ": " + std::generic_category().message(error));
    if (error != ENOENT && error != ENOTDIR && error != EISDIR) e.code = ErrorCode::environment;
    return e;
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return system_error("cannot read " + path.string(), errno);
  if (S_ISDIR(info.st_mode))
    return usage_error("cannot read " + path.string() + ": it is a folder");
  if (!S_ISREG(info.st_mode))
    return usage_error("cannot read " + path.string() + ": it is a pipe or device", "Save what it gives to a file, and name that");
  std::string out;
  if (info.st_size > 0) out.reserve(static_cast<std::size_t>(info.st_size));
  char buffer[65536];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot read " + path.string(), errno);
    if (n == 0) return out;
    if (out.size() + static_cast<std::size_t>(n) > max_bytes)
      return usage_error(path.string() + " is larger than the " + std::to_string(max_bytes) + " bytes allowed here");
    out.append(buffer, static_cast<std::size_t>(n));
  }
}

Status write_file(const fs::path& path, std::string_view bytes) {
  static std::atomic<unsigned> counter{0};
  const fs::path temporary =
      path.string() + ".tmp" + std::to_string(::getpid()) + "." + std::to_string(counter++);
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd.valid())
    return system_error("cannot write " + path.string(), errno, "Check that the folder exists and is writable");
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      ::unlink(temporary.c_str());
      return system_error("cannot write " + path.string(), error,
                          error == ENOSPC ? "Free some disk space" : "");
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return system_error("cannot write " + path.string(), error);
  }
  return {};
}

Status make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return environment_error("cannot make the folder " + path.string() + ": " + error.message());
  return {};
}

fs::path cache_folder() {
  if (const char* own = std::getenv("HONE_CACHE"); own && *own) return own;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) return fs::path(xdg) / "hone";
  if (const char* home = std::getenv("HOME"); home && *home) return fs::path(home) / ".cache" / "hone";
  return fs::path("/tmp") / ("hone-" + std::to_string(::getuid()));
}

fs::path program_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path(".") : self.parent_path();
}

Result<fs::path> worker_program() {
  if (const char* own = std::getenv("HONE_WORKER"); own && *own) {
    if (::access(own, X_OK) == 0) return fs::path(own);
    return environment_error(std::string("HONE_WORKER is set to ") + own + ", which cannot be run");
  }
  const fs::path here = program_folder();
  for (const fs::path& path : {here / "hone-worker", here / ".." / "libexec" / "hone" / "hone-worker",
                               here / ".." / "hone-worker", fs::path(HONE_LIBEXEC) / "hone-worker"})
    if (::access(path.c_str(), X_OK) == 0) return fs::weakly_canonical(path);
  return environment_error("the program hone-worker was not found beside " + here.string(),
                           "Build or install Hone whole, or set HONE_WORKER to its path");
}

Result<TemporaryFolder> TemporaryFolder::make(std::string_view prefix) {
  const char* base = std::getenv("TMPDIR");
  std::string pattern = std::string(base && *base ? base : "/tmp") + "/" + std::string(prefix) + "XXXXXX";
  if (!::mkdtemp(pattern.data()))
    return system_error("cannot make a temporary folder like " + pattern, errno, "Set TMPDIR to a writable folder");
  return TemporaryFolder(fs::path(pattern));
}
TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) {
  other.path_.clear();
}
TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}
TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  std::error_code error;
  fs::remove_all(path_, error);
}

}  // namespace hone
