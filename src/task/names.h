#pragma once
// What may be a name in a task file, and what may be the path of a file that it names.

#include <string>
#include <string_view>

namespace hone::task {

/// What `name` should have been to name a tensor, scalar or dim; empty: it can.
std::string name_fault(std::string_view name);

/// What `path` should have been to name a file of the task's folder; empty: it can. A symbolic link in that folder may
/// lead elsewhere: who placed it there chose so.
std::string path_fault(std::string_view path);
inline constexpr const char* kPathCure =
    "Copy the file into the task's folder, or link it there (ln -s); then name it relative to that folder";

}  // namespace hone::task
