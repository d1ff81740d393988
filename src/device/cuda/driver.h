#pragma once
// The CUDA driver API, loaded at run time. Types and numbers are declared here, so that the build needs no toolkit; a
// test compares them with cuda.h where it is installed. Names are the driver's own without "cu".

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace hone::device::cu {

using Code = int;                       ///< CUresult
using Device = int;
using Pointer = unsigned long long;     ///< CUdeviceptr
struct ContextObject; struct ModuleObject; struct FunctionObject; struct StreamObject; struct GraphObject;
struct GraphExecObject; struct EventObject;
using Context = ContextObject*;
using Module = ModuleObject*;
using Function = FunctionObject*;
using Stream = StreamObject*;
using Graph = GraphObject*;
using GraphExec = GraphExecObject*;
using Event = EventObject*;
using Memory = unsigned long long;      ///< CUmemGenericAllocationHandle

struct Uuid { char bytes[16]; };
struct MemLocation { int type; int id; };
struct MemProperties {                  ///< CUmemAllocationProp
  int type, handle_types;
  MemLocation location;
  void* win32;
  struct { unsigned char compression, rdma; unsigned short usage; unsigned char reserved[4]; } flags;
};
struct MemAccess { MemLocation location; int flags; };
struct LaunchAttribute { int id; char pad[4]; union { char pad[64]; int number; struct { unsigned x, y, z; } dim; } value; };
struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

// Numbers of cuda.h.
inline constexpr Code kSuccess = 0, kOutOfMemory = 2, kNoDevice = 100, kIllegalAddress = 700, kLaunchOutOfResources = 701,
                      kLaunchTimeout = 702, kMisalignedAddress = 716, kIllegalInstruction = 715, kLaunchFailed = 719,
                      kHardwareStackError = 714, kInvalidAddressSpace = 717, kInvalidPc = 718, kNotReady = 600,
                      kAssert = 710;
inline constexpr int kPinned = 1, kPosixFd = 1, kLocationDevice = 1, kAccessRead = 1, kAccessReadWrite = 3;
inline constexpr int kAttributeCooperative = 2, kAttributeCluster = 4;
enum Attribute {
  kMaxThreadsPerBlock = 1, kMaxBlockX = 2, kMaxBlockY = 3, kMaxBlockZ = 4, kMaxGridX = 5, kMaxGridY = 6, kMaxGridZ = 7,
  kSharedPerBlock = 8, kWarpSize = 10, kRegistersPerBlock = 12, kClockKhz = 13, kMultiprocessors = 16, kEcc = 32,
  kMemoryClockKhz = 36, kMemoryBusBits = 37, kL2Bytes = 38, kMaxThreadsPerMultiprocessor = 39, kMajor = 75, kMinor = 76,
  kSharedPerMultiprocessor = 81, kRegistersPerMultiprocessor = 82, kCooperativeLaunch = 95, kSharedPerBlockOptIn = 97,
  kVirtualMemory = 102, kPosixFdHandles = 103, kMaxBlocksPerMultiprocessor = 106, kReservedSharedPerBlock = 111,
  kClusterLaunch = 120
};
enum FunctionAttribute {
  kFuncMaxThreads = 0, kFuncSharedBytes = 1, kFuncConstBytes = 2, kFuncLocalBytes = 3, kFuncRegisters = 4,
  kFuncPtxVersion = 5, kFuncBinaryVersion = 6, kFuncMaxDynamicShared = 8, kFuncClusterMustBeSet = 10,
  kFuncClusterWidth = 11, kFuncClusterHeight = 12, kFuncClusterDepth = 13, kFuncNonPortableCluster = 14
};
inline constexpr int kLimitStack = 0, kLimitPrintf = 1, kLimitMallocHeap = 2, kLimitPersistingL2 = 6;

// One line a function: name, exported symbol, parameters.
#define HONE_CUDA_DRIVER(X)                                                                                      \
  X(Init, "cuInit", (unsigned))                                                                                  \
  X(DriverGetVersion, "cuDriverGetVersion", (int*))                                                              \
  X(GetErrorName, "cuGetErrorName", (Code, const char**))                                                        \
  X(GetErrorString, "cuGetErrorString", (Code, const char**))                                                    \
  X(DeviceGet, "cuDeviceGet", (Device*, int))                                                                    \
  X(DeviceGetCount, "cuDeviceGetCount", (int*))                                                                  \
  X(DeviceGetName, "cuDeviceGetName", (char*, int, Device))                                                      \
  X(DeviceGetUuid, "cuDeviceGetUuid_v2", (Uuid*, Device))                                                        \
  X(DeviceTotalMem, "cuDeviceTotalMem_v2", (std::size_t*, Device))                                               \
  X(DeviceGetAttribute, "cuDeviceGetAttribute", (int*, int, Device))                                             \
  X(DeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char*, int, Device))                                              \
  X(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (Context*, Device))                                      \
  X(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (Device))                                           \
  X(CtxSetCurrent, "cuCtxSetCurrent", (Context))                                                                 \
  X(CtxSynchronize, "cuCtxSynchronize", ())                                                                      \
  X(CtxSetLimit, "cuCtxSetLimit", (int, std::size_t))                                                            \
  X(CtxResetPersistingL2Cache, "cuCtxResetPersistingL2Cache", ())                                                \
  X(ModuleLoadData, "cuModuleLoadData", (Module*, const void*))                                                  \
  X(ModuleUnload, "cuModuleUnload", (Module))                                                                    \
  X(ModuleGetFunction, "cuModuleGetFunction", (Function*, Module, const char*))                                  \
  X(FuncGetAttribute, "cuFuncGetAttribute", (int*, int, Function))                                               \
  X(FuncSetAttribute, "cuFuncSetAttribute", (Function, int, int))                                                \
  X(FuncGetParamInfo, "cuFuncGetParamInfo", (Function, std::size_t, std::size_t*, std::size_t*))                 \
  X(OccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                    \
    (int*, Function, int, std::size_t))                                                                          \
  X(OccupancyMaxActiveClusters, "cuOccupancyMaxActiveClusters", (int*, Function, const LaunchConfig*))           \
  X(LaunchKernelEx, "cuLaunchKernelEx", (const LaunchConfig*, Function, void**, void**))                         \
  X(MemGetInfo, "cuMemGetInfo_v2", (std::size_t*, std::size_t*))                                                 \
  X(MemAlloc, "cuMemAlloc_v2", (Pointer*, std::size_t))                                                          \
  X(MemFree, "cuMemFree_v2", (Pointer))                                                                          \
  X(MemHostAlloc, "cuMemHostAlloc", (void**, std::size_t, unsigned))                                             \
  X(MemFreeHost, "cuMemFreeHost", (void*))                                                                       \
  X(MemCreate, "cuMemCreate", (Memory*, std::size_t, const MemProperties*, unsigned long long))                  \
  X(MemRelease, "cuMemRelease", (Memory))                                                                        \
  X(MemAddressReserve, "cuMemAddressReserve", (Pointer*, std::size_t, std::size_t, Pointer, unsigned long long)) \
  X(MemAddressFree, "cuMemAddressFree", (Pointer, std::size_t))                                                  \
  X(MemMap, "cuMemMap", (Pointer, std::size_t, std::size_t, Memory, unsigned long long))                         \
  X(MemUnmap, "cuMemUnmap", (Pointer, std::size_t))                                                              \
  X(MemSetAccess, "cuMemSetAccess", (Pointer, std::size_t, const MemAccess*, std::size_t))                       \
  X(MemExportToShareableHandle, "cuMemExportToShareableHandle", (void*, Memory, int, unsigned long long))        \
  X(MemImportFromShareableHandle, "cuMemImportFromShareableHandle", (Memory*, void*, int))                       \
  X(MemGetAllocationGranularity, "cuMemGetAllocationGranularity", (std::size_t*, const MemProperties*, int))     \
  X(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (Pointer, const void*, std::size_t, Stream))                        \
  X(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void*, Pointer, std::size_t, Stream))                              \
  X(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (Pointer, Pointer, std::size_t, Stream))                            \
  X(MemsetD8Async, "cuMemsetD8Async", (Pointer, unsigned char, std::size_t, Stream))                             \
  X(MemsetD32Async, "cuMemsetD32Async", (Pointer, unsigned, std::size_t, Stream))                                \
  X(StreamCreate, "cuStreamCreate", (Stream*, unsigned))                                                         \
  X(StreamDestroy, "cuStreamDestroy_v2", (Stream))                                                               \
  X(StreamSynchronize, "cuStreamSynchronize", (Stream))                                                          \
  X(StreamQuery, "cuStreamQuery", (Stream))                                                                      \
  X(StreamBeginCapture, "cuStreamBeginCapture_v2", (Stream, int))                                                \
  X(StreamEndCapture, "cuStreamEndCapture", (Stream, Graph*))                                                    \
  X(EventCreate, "cuEventCreate", (Event*, unsigned))                                                            \
  X(EventDestroy, "cuEventDestroy_v2", (Event))                                                                  \
  X(EventRecord, "cuEventRecord", (Event, Stream))                                                               \
  X(EventSynchronize, "cuEventSynchronize", (Event))                                                             \
  X(EventElapsedTime, "cuEventElapsedTime", (float*, Event, Event))                                              \
  X(GraphInstantiate, "cuGraphInstantiateWithFlags", (GraphExec*, Graph, unsigned long long))                    \
  X(GraphUpload, "cuGraphUpload", (GraphExec, Stream))                                                           \
  X(GraphLaunch, "cuGraphLaunch", (GraphExec, Stream))                                                           \
  X(GraphExecDestroy, "cuGraphExecDestroy", (GraphExec))                                                         \
  X(GraphDestroy, "cuGraphDestroy", (Graph))


struct Functions {
#define HONE_CUDA_MEMBER(name, symbol, parameters) Code(*name) parameters = nullptr;
  HONE_CUDA_DRIVER(HONE_CUDA_MEMBER)
#undef HONE_CUDA_MEMBER
};

}  // namespace hone::device::cu

namespace hone::device {

/// The driver's functions. cuInit was called; no context was made.
class Driver : public cu::Functions {
 public:
  /// Once a process. Environment error with cause and cure where there is no driver, one too old, or no device.
  static Result<const Driver*> get();

  int version = 0;       ///< 13000 is CUDA 13.0
  std::string path;      ///< of libcuda
  int devices = 0;

  /// "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered"
  std::string explain(cu::Code code) const;
  /// Ok, or an environment error "WHAT: CUDA_ERROR_…".
  Status check(cu::Code code, const std::string& what) const;
};

/// "13.0" of 13000.
std::string cuda_version_text(int version);

}  // namespace hone::device
