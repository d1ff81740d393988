// Every test that needs a GPU: one program that needs the driver, the CUDA toolkit and a copy of the build folder, no
// more. Ends with 'N passed, N failed'; without a GPU it says so loudly and fails nothing.

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <string>

#include "device/cuda/driver.h"

namespace hone::device {
std::string provoke(const std::string& kind);  // memory_test.cc
}

int main(int argc, char** argv) {
  constexpr std::string_view kFault = "--hone-fault=";
  for (int i = 1; i < argc; ++i)
    if (const std::string_view word = argv[i]; word.starts_with(kFault)) {
      std::fputs(hone::device::provoke(std::string(word.substr(kFault.size()))).c_str(), stdout);
      std::fflush(stdout);
      ::_exit(0);  // a dead context may hang at exit
    }
  testing::InitGoogleTest(&argc, argv);
  const auto driver = hone::device::Driver::get();
  if (!driver.ok()) {
    std::printf("NO GPU TEST RAN: %s\n0 passed, 0 failed, %d skipped\n", driver.error().text().c_str(),
                testing::UnitTest::GetInstance()->total_test_count());
    return 0;
  }
  const int code = RUN_ALL_TESTS();
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  std::printf("%d passed, %d failed", tests.successful_test_count(), tests.failed_test_count());
  if (tests.skipped_test_count() > 0) std::printf(", %d skipped", tests.skipped_test_count());
  std::printf("\n");
  return code;
}
