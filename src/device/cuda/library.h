#pragma once
// Shared libraries found at run time: the driver, NVRTC, nvJitLink, NVML, CUPTI. None is needed to build or start.

#include <string>
#include <vector>

#include "base/result.h"

namespace hone::device {

/// A library held open for the life of the process: the driver cannot be unloaded safely.
class Library {
 public:
  /// The first of `names` that loads: absolute paths, or names for the loader's own search. `what` and `cure` make the
  /// environment error where none does.
  static Result<Library> open(const std::vector<std::string>& names, const std::string& what, const std::string& cure);
  /// nullptr when there is none of that name.
  void* symbol(const char* name) const;
  const std::string& path() const { return path_; }  ///< as the loader resolved it

 private:
  void* handle_ = nullptr;
  std::string path_;
};

/// Folders in which a CUDA toolkit's libraries may lie, nearest first: $CUDA_HOME, $CUDA_PATH, the folder of nvcc in
/// PATH, /usr/local/cuda, /usr/local/cuda-*, NVIDIA's Python packages of the running user's python3.
std::vector<std::string> toolkit_folders();
/// `file` in each of those folders' library subfolders where it exists, then plain names for the loader. `file` may be a
/// prefix of versioned names ("libnvrtc.so" finds libnvrtc.so.13).
std::vector<std::string> library_candidates(const std::string& file);

}  // namespace hone::device
