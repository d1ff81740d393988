#include "runner/shared_object.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/text.h"

namespace hone::runner {

Result<SharedObject> SharedObject::load_fd(int fd) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  SharedObject object;
  object.handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object.handle_) {
    const char* why = ::dlerror();
    return usage_error("the shared object does not load: " + scrub(why ? why : "unknown reason", 500));
  }
  object.entry_ = reinterpret_cast<Entry>(::dlsym(object.handle_, "hone_entry"));
  if (!object.entry_) return usage_error("the shared object has no hone_entry");
  return object;
}

Result<SharedObject> SharedObject::load(std::string_view bytes) {
  const int fd = ::memfd_create("hone-object", MFD_CLOEXEC);
  if (fd < 0) return system_error("memfd_create", errno);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      ::close(fd);
      return system_error("writing a shared object to memory", error);
    }
    done += static_cast<std::size_t>(n);
  }
  auto object = load_fd(fd);
  if (!object.ok()) {
    ::close(fd);
    return object;
  }
  object->fd_ = fd;
  return object;
}

SharedObject::SharedObject(SharedObject&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), fd_(std::exchange(other.fd_, -1)), entry_(other.entry_) {}
SharedObject& SharedObject::operator=(SharedObject&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(fd_, other.fd_);
  std::swap(entry_, other.entry_);
  return *this;
}
SharedObject::~SharedObject() {
  if (handle_) ::dlclose(handle_);
  if (fd_ >= 0) ::close(fd_);
}

Result<SharedObject::Select> SharedObject::select(std::size_t output) const {
  const std::string name = "hone_select_" + std::to_string(output);
  auto* f = reinterpret_cast<Select>(::dlsym(handle_, name.c_str()));
  if (!f) return bug_error("the reference build has no " + name);
  return f;
}

}  // namespace hone::runner
