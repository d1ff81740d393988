#include "device/cuda/driver.h"

#include <fmt/format.h>

#include "device/cuda/library.h"

namespace hone::device {
namespace {

constexpr int kOldestDriver = 12040;  // cuFuncGetParamInfo

Result<Driver> load() {
  HONE_TRY(const Library library,
           Library::open({"libcuda.so.1"}, "the CUDA driver (libcuda.so.1)",
                         "Install NVIDIA's driver, or use the cpu lane: it needs no GPU."));
  Driver driver;
  driver.path = library.path();
  std::string missing;
#define HONE_CUDA_LOAD(name, exported, parameters)                                                \
  driver.name = reinterpret_cast<decltype(driver.name)>(library.symbol(exported));                \
  if (!driver.name && missing.empty()) missing = exported;
  HONE_CUDA_DRIVER(HONE_CUDA_LOAD)
#undef HONE_CUDA_LOAD
  if (driver.DriverGetVersion) driver.DriverGetVersion(&driver.version);
  if (!missing.empty() || driver.version < kOldestDriver)
    return environment_error(
        fmt::format("the CUDA driver {} is for CUDA {} and too old{}", driver.path, cuda_version_text(driver.version),
                    missing.empty() ? "" : fmt::format(": it has no {}", missing)),
        fmt::format("Install a driver for CUDA {} or later.", cuda_version_text(kOldestDriver)));
  if (const cu::Code code = driver.Init(0); code != cu::kSuccess)
    return environment_error("the CUDA driver does not start: " + driver.explain(code),
                             code == cu::kNoDevice ? "No GPU is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES."
                                                   : "Check nvidia-smi, and that /dev/nvidia* can be opened.");
  HONE_CHECK(driver.check(driver.DeviceGetCount(&driver.devices), "counting devices"));
  if (driver.devices == 0)
    return environment_error("the CUDA driver sees no GPU", "Check nvidia-smi and CUDA_VISIBLE_DEVICES.");
  return driver;
}

}  // namespace

std::string cuda_version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

Result<const Driver*> Driver::get() {
  static const Result<Driver> driver = load();
  if (!driver.ok()) return Error(driver.error());
  return &*driver;
}

std::string Driver::explain(cu::Code code) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (GetErrorName) GetErrorName(code, &name);
  if (GetErrorString) GetErrorString(code, &text);
  return fmt::format("{} ({}){}{}", name ? name : "CUDA error", code, text ? ": " : "", text ? text : "");
}

Status Driver::check(cu::Code code, const std::string& what) const {
  if (code == cu::kSuccess) return {};
  return environment_error(what + ": " + explain(code));
}

}  // namespace hone::device
