#include "device/cuda/nvrtc.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"

namespace hone::device {

struct Nvrtc::Functions {
  using Code = int;
  struct ProgramObject;
  using Program = ProgramObject*;
  Code (*version)(int*, int*);
  Code (*count_archs)(int*);
  Code (*archs)(int*);
  const char* (*error_text)(Code);
  Code (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  Code (*destroy)(Program*);
  Code (*compile)(Program, int, const char* const*);
  Code (*log_size)(Program, std::size_t*);
  Code (*log)(Program, char*);
  Code (*cubin_size)(Program, std::size_t*);
  Code (*cubin)(Program, char*);
  Code (*ptx_size)(Program, std::size_t*);
  Code (*ptx)(Program, char*);
};

namespace {

constexpr int kCompilation = 6;  // NVRTC_ERROR_COMPILATION
constexpr int kOptionInvalid = 5;
constexpr const char* kCure =
    "Install the CUDA toolkit, or NVIDIA's PyPI package nvidia-cuda-nvrtc; or name the library in HONE_NVRTC.";

}  // namespace

std::vector<std::string> nvrtc_libraries() {
  const char* own = std::getenv("HONE_NVRTC");
  return own && *own ? std::vector<std::string>{own} : library_candidates("libnvrtc.so");
}

Result<Nvrtc> Nvrtc::load(const std::string& wanted) {
  const std::vector<std::string> names = wanted.empty() ? nvrtc_libraries() : std::vector<std::string>{wanted};
  HONE_TRY(const Library library, Library::open(names, "NVRTC (libnvrtc.so)", kCure));
  static Functions functions;
  std::string missing;
  const auto bind = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library.symbol(name));
    if (!function && missing.empty()) missing = name;
  };
  bind(functions.version, "nvrtcVersion");
  bind(functions.count_archs, "nvrtcGetNumSupportedArchs");
  bind(functions.archs, "nvrtcGetSupportedArchs");
  bind(functions.error_text, "nvrtcGetErrorString");
  bind(functions.create, "nvrtcCreateProgram");
  bind(functions.destroy, "nvrtcDestroyProgram");
  bind(functions.compile, "nvrtcCompileProgram");
  bind(functions.log_size, "nvrtcGetProgramLogSize");
  bind(functions.log, "nvrtcGetProgramLog");
  bind(functions.cubin_size, "nvrtcGetCUBINSize");
  bind(functions.cubin, "nvrtcGetCUBIN");
  bind(functions.ptx_size, "nvrtcGetPTXSize");
  bind(functions.ptx, "nvrtcGetPTX");
  if (!missing.empty())
    return environment_error(fmt::format("{} is too old: it has no {}", library.path(), missing), kCure);
  Nvrtc nvrtc;
  nvrtc.functions_ = &functions;
  nvrtc.path = library.path();
  if (functions.version(&nvrtc.major, &nvrtc.minor) != 0)
    return environment_error(library.path() + " does not tell its version", kCure);
  int count = 0;
  if (functions.count_archs(&count) == 0 && count > 0) {
    nvrtc.architectures.resize(static_cast<std::size_t>(count));
    functions.archs(nvrtc.architectures.data());
    std::sort(nvrtc.architectures.begin(), nvrtc.architectures.end());
  }
  return nvrtc;
}

Result<const Nvrtc*> Nvrtc::get(const std::string& path) {
  static const Result<Nvrtc> nvrtc = load(path);
  if (!nvrtc.ok()) return Error(nvrtc.error());
  return &*nvrtc;
}

Result<NvrtcOutput> Nvrtc::compile(const NvrtcJob& job) const {
  const Functions& f = *functions_;
  const std::int64_t start = monotonic_ns();
  std::vector<const char*> texts, names, options;
  for (const auto& [name, text] : job.headers) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  for (const std::string& option : job.options) options.push_back(option.c_str());
  Functions::Program program = nullptr;
  if (const int code = f.create(&program, job.source.c_str(), job.name.c_str(), static_cast<int>(names.size()),
                                texts.data(), names.data());
      code != 0)
    return bug_error(fmt::format("NVRTC did not take the source: {}", f.error_text(code)));
  const int code = f.compile(program, static_cast<int>(options.size()), options.data());
  NvrtcOutput out;
  const auto fetch = [&](auto size_of, auto copy, std::string& to, bool text) {
    std::size_t size = 0;
    if (size_of(program, &size) != 0 || size == 0) return;
    to.resize(size);
    if (copy(program, to.data()) != 0) to.clear();
    while (text && !to.empty() && to.back() == '\0') to.pop_back();
  };
  fetch(f.log_size, f.log, out.log, true);
  out.compiled = code == 0;
  if (out.compiled) {
    fetch(f.cubin_size, f.cubin, out.cubin, false);
    if (job.want_ptx) fetch(f.ptx_size, f.ptx, out.ptx, true);
  }
  f.destroy(&program);
  out.ms = static_cast<double>(monotonic_ns() - start) / 1e6;
  if (code != 0 && code != kCompilation) {
    const std::string what = fmt::format("NVRTC {}.{}: {}: {}", major, minor, f.error_text(code), out.log);
    return code == kOptionInvalid ? usage_error(what) : environment_error(what);
  }
  return out;
}

std::string architecture_name(int major, int minor) {
  return fmt::format("sm_{}{}{}", major, minor, major >= 9 ? "a" : "");
}

}  // namespace hone::device
