#pragma once
// What a task file must satisfy beyond the form of each key: names, shapes, groups, cases, files.

#include <map>
#include <string>

#include "base/result.h"
#include "task/task.h"

namespace hone::task {

/// Where things were written: "input x", "input x shape", "case 0", "hidden N", … → line.
struct Lines {
  std::map<std::string, int> at;
  /// Line of the longest prefix (by words) that is known, else 1.
  int of(std::string key) const;
};

/// "file:line: message".
Error task_error(const std::filesystem::path& file, int line, std::string message,
                 std::string cure = "");

Status check_task(const Task& task, const Lines& lines);
/// Files that the task names exist, and .npy files fit their inputs in every case.
Status check_files(const Task& task, const Lines& lines);
/// The largest number that a permutation or a CSR part holds at a case fits its dtype.
Status indices_fit(const Task& task, const Tensor& input, const Dims& dims);
/// Rows, columns and stored values of a CSR group at a case; error when they cannot be.
struct CsrSize {
  std::int64_t rows = 0, columns = 0, stored = 0;
};
Result<CsrSize> csr_size(const Task& task, const std::string& group, const Dims& dims);

}  // namespace hone::task
