#pragma once
// The tables of the archive and how an older file becomes a newer one. Internal to the store.

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "store/sqlite.h"

namespace hone::store {

inline constexpr std::int64_t kApplicationId = 0x486f6e65;  // "Hone" at offset 68 of the file

/// The version this program writes: the number of migrations.
std::int64_t newest_schema();
/// SQL that leads from version `from` to `from + 1`; `from` counts from 0.
std::string_view migration(std::int64_t from);

/// 0 for a file without tables; foreign files and newer schemas are errors.
Result<std::int64_t> schema_version(const Database& database);
/// Creates or migrates, in one transaction.
Status migrate(const Database& database);

}  // namespace hone::store
