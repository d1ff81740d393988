// What this machine has or lacks of CUDA, and that our declarations are the toolkit's.

#include "device/cuda/driver.h"

#include <gtest/gtest.h>

#include "device/cuda/context.h"
#include "device/cuda/gpu.h"
#include "device/cuda/library.h"
#include "device/cuda/nvrtc.h"

#ifdef HONE_CUDA_HEADERS
#include <cuda.h>
#endif

namespace hone::device {
namespace {

TEST(CudaParts, EachIsFoundOrSaysWhyAndWhatToDo) {
  const std::vector<CudaPart> parts = cuda_parts();
  ASSERT_EQ(parts.size(), 8u);
  for (const CudaPart& part : parts) {
    if (part.found) {
      EXPECT_FALSE(part.path.empty()) << part.name;
    } else {
      EXPECT_FALSE(part.problem.empty()) << part.name;
      EXPECT_FALSE(part.cure.empty()) << part.name;
    }
  }
}

TEST(Driver, WithoutAGpuItIsAnEnvironmentErrorWithACure) {
  const auto driver = Driver::get();
  if (driver.ok()) GTEST_SKIP() << "this machine has a GPU: tests/gpu covers it";
  EXPECT_EQ(driver.error().code, ErrorCode::environment);
  EXPECT_FALSE(driver.error().cure.empty());
  EXPECT_FALSE(gpu_facts(0).ok());
  EXPECT_FALSE(GpuContext::open(0).ok());
}

TEST(Library, WhatDoesNotLoadNamesCauseAndCure) {
  const auto library = Library::open({"libhone-is-not-there.so.1"}, "a library", "Install it.");
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code, ErrorCode::environment);
  EXPECT_NE(library.error().message.find("libhone-is-not-there.so.1"), std::string::npos);
  EXPECT_EQ(library.error().cure, "Install it.");
}

TEST(Library, FindsASymbol) {
  const auto library = Library::open({"libm.so.6"}, "the mathematics library", "");
  ASSERT_TRUE(library.ok());
  EXPECT_NE(library->symbol("cos"), nullptr);
  EXPECT_EQ(library->symbol("hone_is_not_there"), nullptr);
  EXPECT_NE(library->path().find("libm"), std::string::npos);
}

TEST(Nvrtc, ArchitecturesAreNamedWithTheirOwnFeatures) {
  EXPECT_EQ(architecture_name(8, 0), "sm_80");  // the a-sets begin with Hopper
  EXPECT_EQ(architecture_name(9, 0), "sm_90a");
  EXPECT_EQ(architecture_name(10, 0), "sm_100a");
}

TEST(Fault, OnlyWhatAKernelDidIsOne) {
  EXPECT_EQ(fault_of(cu::kIllegalAddress), "illegal_address");
  EXPECT_EQ(fault_of(cu::kLaunchFailed), "launch_failure");
  EXPECT_EQ(fault_of(cu::kSuccess), "");
  EXPECT_EQ(fault_of(cu::kOutOfMemory), "");
}

#ifdef HONE_CUDA_HEADERS
// The declarations of driver.h against the toolkit's header.
TEST(Driver, DeclarationsAreTheToolkits) {
  EXPECT_EQ(sizeof(cu::MemProperties), sizeof(CUmemAllocationProp));
  EXPECT_EQ(offsetof(cu::MemProperties, location), offsetof(CUmemAllocationProp, location));
  EXPECT_EQ(offsetof(cu::MemProperties, flags), offsetof(CUmemAllocationProp, allocFlags));
  EXPECT_EQ(sizeof(cu::MemAccess), sizeof(CUmemAccessDesc));
  EXPECT_EQ(sizeof(cu::Uuid), sizeof(CUuuid));
  EXPECT_EQ(sizeof(cu::LaunchConfig), sizeof(CUlaunchConfig));
  EXPECT_EQ(offsetof(cu::LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
  EXPECT_EQ(offsetof(cu::LaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
  EXPECT_EQ(sizeof(cu::LaunchAttribute), sizeof(CUlaunchAttribute));
  EXPECT_EQ(offsetof(cu::LaunchAttribute, value), offsetof(CUlaunchAttribute, value));
  EXPECT_EQ(cu::kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cu::kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_EQ(cu::kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cu::kLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_EQ(cu::kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
  EXPECT_EQ(cu::kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
  EXPECT_EQ(cu::kInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
  EXPECT_EQ(cu::kInvalidPc, CUDA_ERROR_INVALID_PC);
  EXPECT_EQ(cu::kAssert, CUDA_ERROR_ASSERT);
  EXPECT_EQ(cu::kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_EQ(cu::kNotReady, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cu::kNoDevice, CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(cu::kPinned, CU_MEM_ALLOCATION_TYPE_PINNED);
  EXPECT_EQ(cu::kPosixFd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  EXPECT_EQ(cu::kLocationDevice, CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(cu::kAccessRead, CU_MEM_ACCESS_FLAGS_PROT_READ);
  EXPECT_EQ(cu::kAccessReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_EQ(cu::kAttributeCluster, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(cu::kAttributeCooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  EXPECT_EQ(cu::kL2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  EXPECT_EQ(cu::kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(cu::kSharedPerBlockOptIn, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  EXPECT_EQ(cu::kVirtualMemory, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
  EXPECT_EQ(cu::kPosixFdHandles, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
  EXPECT_EQ(cu::kMemoryBusBits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  EXPECT_EQ(cu::kRegistersPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  EXPECT_EQ(cu::kFuncMaxDynamicShared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_EQ(cu::kFuncRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS);
  EXPECT_EQ(cu::kLimitPersistingL2, CU_LIMIT_PERSISTING_L2_CACHE_SIZE);
  EXPECT_EQ(cu::kLimitMallocHeap, CU_LIMIT_MALLOC_HEAP_SIZE);
}
#endif

}  // namespace
}  // namespace hone::device
