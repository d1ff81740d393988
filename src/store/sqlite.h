#pragma once
// A thin layer over SQLite: owned connection and statements, and errors that name the file, the cause and
// the cure. Internal to the store.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hone::store {

/// Bytes bound as a BLOB.
struct Blob {
  std::string_view bytes;
};

class Statement {
 public:
  /// True while there is a row.
  Result<bool> step();
  std::int64_t integer(int column) const;
  double real(int column) const;  ///< NULL is NaN
  std::string text(int column) const;
  std::string_view blob(int column) const;
  bool is_null(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  const class Database* database_ = nullptr;
};

class Database {
 public:
  enum class Access { read, write, memory };
  static Result<Database> open(const std::filesystem::path& file, Access access);
  Database() = default;
  Database(Database&&) noexcept = default;
  Database& operator=(Database&&) noexcept = default;

  /// Several statements without parameters.
  Status script(std::string_view sql) const;
  template <typename... Values>
  Result<Statement> prepare(std::string_view sql, const Values&... values) const {
    HONE_TRY(Statement statement, compile(sql));
    int index = 0;
    Status bound;
    ((bound.ok() ? void(bound = bind(statement, ++index, values)) : void()), ...);
    HONE_CHECK(std::move(bound));
    return statement;
  }
  /// Runs one statement to its end.
  template <typename... Values>
  Status execute(std::string_view sql, const Values&... values) const {
    HONE_TRY(Statement statement, prepare(sql, values...));
    HONE_TRY(const bool row, statement.step());
    (void)row;
    return {};
  }
  /// The first column of the only row.
  Result<std::int64_t> integer(std::string_view sql) const;
  std::int64_t last_id() const;
  bool in_transaction() const;
  bool is_read_only() const;
  /// The last failure, with cause and cure.
  Error error() const;
  const std::filesystem::path& file() const { return file_; }

 private:
  Result<Statement> compile(std::string_view sql) const;
  Status bind(Statement& statement, int index, std::int64_t value) const;
  Status bind(Statement& statement, int index, double value) const;
  Status bind(Statement& statement, int index, const std::string& value) const;
  Status bind(Statement& statement, int index, Blob value) const;
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::unique_ptr<sqlite3, Close> handle_;
  std::filesystem::path file_;
};

/// What an SQLite result code means for the archive `file`; `text` is SQLite's own message.
Error sqlite_error(int extended_code, int error_number, const std::string& text, const std::filesystem::path& file);
/// Before SQLite touches it: missing, a folder, not SQLite, cut off. Empty files pass.
Status inspect_file(const std::filesystem::path& file);

}  // namespace hone::store
