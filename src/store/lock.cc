#include "store/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"

namespace hone::store {
namespace {

std::filesystem::path lock_file(const std::filesystem::path& archive) { return archive.string() + ".lock"; }

// An open-file-description lock, not flock(2): it belongs to this open file as flock's does, but a reader can
// ask whether it is held (F_OFD_GETLK) without taking it, so asking can never make a writer fail.
struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

bool is_held(int fd) {
  struct flock lock = whole_file(F_RDLCK);
  return ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

std::string own_command() {
  std::string line = read_file("/proc/self/cmdline", 1 << 20).ok() ? *read_file("/proc/self/cmdline", 1 << 20) : "?";
  for (char& c : line)
    if (c == '\0' || c == '\n') c = ' ';
  return scrub(std::string(trim(line)).substr(0, 200));
}

// "KEY rest of line" of the lock file.
std::string field(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ')
      return std::string(line.substr(key.size() + 1));
  return "";
}

std::string read_all(int fd) {
  std::string out(4096, '\0');
  const ssize_t n = ::pread(fd, out.data(), out.size(), 0);
  out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return out;
}

Error held_error(const std::filesystem::path& archive, const std::string& text) {
  const std::string pid = field(text, "pid"), command = field(text, "command");
  return environment_error(
             fmt::format("the archive {} is being written by process {}{}", archive.string(), pid.empty() ? "?" : pid,
                         command.empty() ? "" : " (" + command + ")"),
             fmt::format("Wait for it, end it with `kill -INT {}`, or name another archive with HONE_ARCHIVE or --archive",
                         pid.empty() ? "PID" : pid))
      .with("pid", pid)
      .with("command", command);
}

}  // namespace

Result<WriterLock> WriterLock::take(const std::filesystem::path& archive) {
  const std::filesystem::path path = lock_file(archive);
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) {
    const int error = errno;
    if (error == EACCES || error == EROFS || error == EPERM)
      return environment_error(
          fmt::format("the folder of the archive {} is read-only ({})", archive.string(),
                      std::generic_category().message(error)),
          "Make it writable, or name another archive with HONE_ARCHIVE or --archive");
    return system_error("cannot lock the archive " + archive.string(), error,
                        error == ENOSPC || error == EDQUOT ? "Free some disk space" : "Name another with HONE_ARCHIVE");
  }
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(fd.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno == EAGAIN || errno == EACCES) return held_error(archive, read_all(fd.get()));
    return system_error("cannot lock the archive " + archive.string(), errno,
                        "Its file system knows no locks: name another place with HONE_ARCHIVE");
  }
  const std::string token = fmt::format("{:016x}", entropy64());
  const std::string text = fmt::format("pid {}\ntoken {}\ncommand {}\n", ::getpid(), token, own_command());
  if (::ftruncate(fd.get(), 0) != 0 ||
      ::pwrite(fd.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    const int error = errno;
    return system_error("cannot write " + path.string(), error, error == ENOSPC ? "Free some disk space" : "");
  }
  return WriterLock(std::move(fd), token);
}

WriterLock::~WriterLock() {
  // The file stays: unlinking it would let two writers lock two files of one name.
  if (fd_.valid() && ::ftruncate(fd_.get(), 0) != 0) return;
}

std::string living_writer(const std::filesystem::path& archive) {
  const UniqueFd fd(::open(lock_file(archive).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || !is_held(fd.get())) return "";
  return field(read_all(fd.get()), "token");
}

}  // namespace hone::store
