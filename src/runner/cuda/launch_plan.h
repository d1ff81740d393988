#pragma once
// A cuda plan ready to run: which kernels, in which shapes, with what parameters. Oracle and runner pack alike.

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "candidate/candidate.h"
#include "device/cuda/context.h"
#include "task/task.h"

namespace hone::runner {

/// A cubin and how to launch it, as it crosses to a worker.
struct GpuProgram {
  std::string cubin;
  candidate::Resolved plan;  ///< launches, selects, scratch, narrow dims, in_place; no source
};
Json plan_to_json(const candidate::Resolved& plan);
Result<candidate::Resolved> plan_from_json(const Json& json);

/// One entry of candidate::argument_list(): a device address, a dim or a scalar.
struct GpuValue {
  device::cu::Pointer address = 0;
  std::int64_t dim = 0;
  double scalar = 0;
};

/// A kernel with packed parameters. Not movable once packed: the driver is given addresses within.
struct ReadyLaunch {
  device::GpuKernel kernel;
  device::GpuLaunch how;
  bool empty = false;                        ///< an extent of the grid is 0: nothing to launch
  std::vector<std::array<std::byte, 16>> storage;
  std::vector<void*> parameters;
};

/// The plan's kernels for a case. `real_bytes` is what HONE_REAL means (4 or 8). What the device refuses (too many
/// threads, registers, shared memory) is found at launch. Errors: a shape that is negative or beyond 32 bits; a kernel
/// whose parameters are not those of the plan (asked of the driver).
Result<std::vector<std::unique_ptr<ReadyLaunch>>> prepare_launches(const device::GpuModule& module,
                                                                   const candidate::Resolved& plan,
                                                                   const task::Task& task, const task::Dims& dims,
                                                                   const std::vector<GpuValue>& values,
                                                                   std::size_t real_bytes);
/// A 16-byte slot a parameter of `launch`, its value at the front.
Result<std::vector<std::array<std::byte, 16>>> pack_arguments(const candidate::Launch& launch,
                                                              const std::vector<GpuValue>& values,
                                                              const candidate::Resolved& plan, const task::Task& task,
                                                              std::size_t real_bytes);
/// Bytes of one parameter of this declared type.
std::size_t parameter_bytes(const candidate::LaunchArgument& argument, std::size_t real_bytes);

}  // namespace hone::runner
