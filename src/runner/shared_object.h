#pragma once
// Loads a shared object from bytes and finds its entry. Used by the oracle for our reference builds and by the
// jailed runner for candidates; never by the coordinator.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hone::runner {

class SharedObject {
 public:
  using Entry = void (*)(void* const* arguments, const int* threads);
  /// hone_select_K: the value that `index` selects for output element `element` (DESIGN.md §5, select).
  using Select = double (*)(void* const* arguments, long long element, long long index);

  static Result<SharedObject> load(std::string_view bytes);
  /// From a descriptor that stays open while the object is loaded.
  static Result<SharedObject> load_fd(int fd);
  SharedObject(SharedObject&& other) noexcept;
  SharedObject& operator=(SharedObject&& other) noexcept;
  ~SharedObject();

  Entry entry() const { return entry_; }
  Result<Select> select(std::size_t output) const;

 private:
  SharedObject() = default;
  void* handle_ = nullptr;
  int fd_ = -1;
  Entry entry_ = nullptr;
};

}  // namespace hone::runner
