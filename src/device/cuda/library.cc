#include "device/cuda/library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"

namespace hone::device {
namespace {

void add(std::vector<std::string>& folders, const fs::path& folder) {
  std::error_code none;
  if (folder.empty() || !fs::is_directory(folder, none)) return;
  std::string real = fs::canonical(folder, none).string();
  if (none || std::find(folders.begin(), folders.end(), real) != folders.end()) return;
  folders.push_back(std::move(real));
}

void add_environment(std::vector<std::string>& folders, const char* name) {
  if (const char* value = std::getenv(name); value && *value) add(folders, value);
}

/// Subfolders of `parent` whose name begins with `prefix`, the last in order first (newer versions sort later).
std::vector<fs::path> children(const fs::path& parent, const std::string& prefix) {
  std::vector<fs::path> out;
  std::error_code none;
  for (fs::directory_iterator it(parent, none), end; !none && it != end; it.increment(none))
    if (it->path().filename().string().starts_with(prefix)) out.push_back(it->path());
  std::sort(out.rbegin(), out.rend());
  return out;
}

/// NVIDIA's wheels install below site-packages/nvidia/…; their folder is found without starting Python.
void add_wheels(std::vector<std::string>& folders) {
  if (const char* value = std::getenv("HONE_CUDA_WHEELS"); value && *value)
    for (const fs::path& part : children(value, "")) add(folders, part);
  for (const char* root : {"/usr/local/lib", "/usr/lib"})
    for (const fs::path& python : children(root, "python3"))
      for (const char* packages : {"site-packages", "dist-packages"})
        for (const fs::path& part : children(python / packages / "nvidia", "")) add(folders, part);
}

}  // namespace

Result<Library> Library::open(const std::vector<std::string>& names, const std::string& what, const std::string& cure) {
  std::string why;
  for (const std::string& name : names) {
    Library library;
    library.handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library.handle_) {
      if (const char* message = ::dlerror()) why = message;
      continue;
    }
    link_map* map = nullptr;
    library.path_ = ::dlinfo(library.handle_, RTLD_DI_LINKMAP, &map) == 0 && map ? map->l_name : name;
    return library;
  }
  return environment_error(what + " could not be loaded" + (why.empty() ? "" : ": " + scrub(why, 300)), cure);
}

void* Library::symbol(const char* name) const { return handle_ ? ::dlsym(handle_, name) : nullptr; }

std::vector<std::string> toolkit_folders() {
  std::vector<std::string> folders;
  add_environment(folders, "CUDA_HOME");
  add_environment(folders, "CUDA_PATH");
  if (const std::string nvcc = find_program("nvcc"); !nvcc.empty()) {
    std::error_code none;
    add(folders, fs::canonical(nvcc, none).parent_path().parent_path());
  }
  add(folders, "/usr/local/cuda");
  for (const fs::path& versioned : children("/usr/local", "cuda-")) add(folders, versioned);
  add_wheels(folders);
  return folders;
}

std::vector<std::string> library_candidates(const std::string& file) {
  std::vector<std::string> out;
  for (const std::string& folder : toolkit_folders())
    for (const char* sub : {"lib64", "lib", "extras/CUPTI/lib64", "targets/x86_64-linux/lib"})
      for (const fs::path& found : children(fs::path(folder) / sub, file)) {
        // libnvrtc.so, libnvrtc.so.13, not libnvrtc.alt.so or libnvrtc_static.a
        const std::string rest = found.filename().string().substr(file.size());
        if (!rest.empty() && rest[0] != '.') continue;
        std::error_code none;
        std::string real = fs::canonical(found, none).string();
        if (!none && std::find(out.begin(), out.end(), real) == out.end()) out.push_back(std::move(real));
      }
  out.push_back(file);
  return out;
}

}  // namespace hone::device
