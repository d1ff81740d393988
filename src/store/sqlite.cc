#include "store/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <system_error>

namespace hone::store {
namespace {

constexpr int kBusyMs = 5000;  // a reader's recovery or a checkpoint takes far less
constexpr const char* kElsewhere = "Name another place with HONE_ARCHIVE or --archive";

// A file: URI, in which ? # % would mean something else.
std::string uri_of(const std::filesystem::path& file, std::string_view query) {
  std::string out = "file:";
  for (const char c : std::filesystem::absolute(file).string()) {
    if (c == '?' || c == '#' || c == '%')
      out += fmt::format("%{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else
      out += c;
  }
  return out + "?" + std::string(query);
}

std::uint32_t big_endian(const char* at) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(at[i]);
  return value;
}

std::int64_t size_of_file(const std::filesystem::path& file) {
  struct stat info {};
  return ::stat(file.c_str(), &info) == 0 ? info.st_size : -1;
}

// Closed cleanly in a folder where nothing may be created, the file cannot be opened in WAL mode; and as there
// is no log beside it, it cannot change under us unseen: read it as immutable.
bool may_be_read_as_immutable(const std::filesystem::path& file) {
  const std::string wal = file.string() + "-wal";
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  return size_of_file(wal) <= 0 && ::access(folder.c_str(), W_OK) != 0;
}

}  // namespace

Error sqlite_error(int extended_code, int error_number, const std::string& text, const std::filesystem::path& file) {
  const std::string name = "the archive " + file.string();
  const std::string cause = error_number != 0 ? fmt::format(": {}", std::generic_category().message(error_number)) : "";
  const std::string kept = "Everything acknowledged before is kept; the run can be resumed";
  switch (extended_code & 0xff) {
    case SQLITE_FULL:
      return environment_error(name + " cannot grow: the disk or its quota is full",
                               "Free some space there. " + kept);
    case SQLITE_IOERR:
      return environment_error(fmt::format("{} cannot be read or written ({}{})", name, text, cause),
                               "Check the disk, its quota and `ulimit -f`. " + kept);
    case SQLITE_READONLY:
      return environment_error(name + " is read-only", fmt::format("{}, or make file and folder writable", kElsewhere));
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return environment_error(fmt::format("{} cannot be opened ({}{})", name, text, cause),
                               fmt::format("{}, or make file and folder readable and writable", kElsewhere));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return environment_error(name + " is held by another program",
                               "End that program (`fuser` on the file names it), or name another archive with HONE_ARCHIVE");
    case SQLITE_NOTADB:
      return environment_error(name + " is not an SQLite file", kElsewhere);
    case SQLITE_CORRUPT:
      return environment_error(
          fmt::format("{} is damaged ({})", name, text),
          fmt::format("Put a copy back, or save what is left with `sqlite3 {0} .recover | sqlite3 saved.db`, or move {0} away and start anew",
                      file.string()));
    case SQLITE_CONSTRAINT:
      return bug_error(fmt::format("{} refused a row: {}", name, text));
    default:
      return environment_error(fmt::format("{} failed: {} (SQLite code {})", name, text, extended_code));
  }
}

Status inspect_file(const std::filesystem::path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return {};  // SQLite will say why, or create it
  if (!S_ISREG(info.st_mode)) return usage_error("the archive " + file.string() + " is not a file", kElsewhere);
  if (info.st_size == 0) return {};
  std::ifstream in(file, std::ios::binary);
  char header[100] = {};
  in.read(header, sizeof header);
  const auto got = static_cast<std::size_t>(in.gcount());
  if (got == 0) return {};  // unreadable: SQLite will say why
  static constexpr char kMagic[] = "SQLite format 3";  // with its final zero byte: 16
  if (std::memcmp(header, kMagic, std::min(got, sizeof kMagic)) != 0)
    return sqlite_error(SQLITE_NOTADB, 0, "", file);
  if (got < sizeof header) return sqlite_error(SQLITE_CORRUPT, 0, "cut off within its header", file);
  std::int64_t page = static_cast<unsigned char>(header[16]) << 8 | static_cast<unsigned char>(header[17]);
  if (page == 1) page = 65536;
  const std::int64_t expected = page * big_endian(header + 28);
  // With a log beside it the rest may still be there.
  if (info.st_size < expected && size_of_file(file.string() + "-wal") <= 0)
    return sqlite_error(SQLITE_CORRUPT, 0,
                        fmt::format("cut off: {} of {} bytes are there", info.st_size, expected), file);
  return {};
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Result<bool> Statement::step() {
  switch (sqlite3_step(statement_.get())) {
    case SQLITE_ROW: return true;
    case SQLITE_DONE: return false;
    default: return database_->error();
  }
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
double Statement::real(int column) const {
  return is_null(column) ? std::numeric_limits<double>::quiet_NaN() : sqlite3_column_double(statement_.get(), column);
}
std::string Statement::text(int column) const { return std::string(blob(column)); }
std::string_view Statement::blob(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  if (!bytes) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}
bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

Result<Database> Database::open(const std::filesystem::path& file, Access access) {
  Database out;
  out.file_ = file;
  const auto attempt = [&](const std::string& name, int flags) {
    sqlite3* handle = nullptr;
    const int code = sqlite3_open_v2(name.c_str(), &handle, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
    out.handle_.reset(handle);
    if (handle) sqlite3_extended_result_codes(handle, 1);
    if (handle) sqlite3_busy_timeout(handle, kBusyMs);
    return code;
  };
  int code = SQLITE_OK;
  switch (access) {
    case Access::memory: code = attempt("file::memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE); break;
    case Access::write: code = attempt(uri_of(file, "mode=rwc"), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE); break;
    case Access::read:
      code = attempt(uri_of(file, "mode=ro"), SQLITE_OPEN_READONLY);
      // SQLite opens lazily; the first read tells.
      if (code == SQLITE_OK && !out.integer("PRAGMA user_version").ok() && may_be_read_as_immutable(file))
        code = attempt(uri_of(file, "mode=ro&immutable=1"), SQLITE_OPEN_READONLY);
      break;
  }
  if (code != SQLITE_OK) return out.error();
  return out;
}

Status Database::script(std::string_view sql) const {
  if (sqlite3_exec(handle_.get(), std::string(sql).c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return error();
  return {};
}

Result<std::int64_t> Database::integer(std::string_view sql) const {
  HONE_TRY(Statement statement, compile(sql));
  HONE_TRY(const bool row, statement.step());
  return row ? statement.integer(0) : 0;
}

std::int64_t Database::last_id() const { return sqlite3_last_insert_rowid(handle_.get()); }
bool Database::in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }
bool Database::is_read_only() const { return sqlite3_db_readonly(handle_.get(), "main") == 1; }

Error Database::error() const {
  sqlite3* handle = handle_.get();
  if (!handle) return environment_error("SQLite has no memory left");
  return sqlite_error(sqlite3_extended_errcode(handle), sqlite3_system_errno(handle), sqlite3_errmsg(handle), file_);
}

Result<Statement> Database::compile(std::string_view sql) const {
  Statement out;
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr) != SQLITE_OK)
    return error();
  out.statement_.reset(raw);
  out.database_ = this;
  return out;
}

Status Database::bind(Statement& s, int index, std::int64_t value) const {
  if (sqlite3_bind_int64(s.statement_.get(), index, value) != SQLITE_OK) return error();
  return {};
}
Status Database::bind(Statement& s, int index, double value) const {
  if (sqlite3_bind_double(s.statement_.get(), index, value) != SQLITE_OK) return error();
  return {};
}
Status Database::bind(Statement& s, int index, const std::string& value) const {
  if (sqlite3_bind_text64(s.statement_.get(), index, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8) != SQLITE_OK)
    return error();
  return {};
}
Status Database::bind(Statement& s, int index, Blob value) const {
  if (sqlite3_bind_blob64(s.statement_.get(), index, value.bytes.data(), value.bytes.size(), SQLITE_TRANSIENT) != SQLITE_OK)
    return error();
  return {};
}

}  // namespace hone::store
