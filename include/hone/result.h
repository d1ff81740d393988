#pragma once
// Errors are values: Result<T> holds a T or an Error that names cause and cure.

#include <cassert>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace hone {

/// Who has to act: the user (usage), the machine (environment), or us (bug). Exit codes follow.
enum class ErrorCode { usage, environment, cancelled, bug };

/// An expected failure. `message` names the cause; `cure` what to do about it; details are key/value.
struct Error {
  ErrorCode code = ErrorCode::usage;
  std::string message;
  std::string cure;
  std::vector<std::pair<std::string, std::string>> details;

  Error with(std::string key, std::string value) && {
    details.emplace_back(std::move(key), std::move(value));
    return std::move(*this);
  }
  /// "message. cure" on one line.
  std::string text() const;
};

Error usage_error(std::string message, std::string cure = "");
Error environment_error(std::string message, std::string cure = "");
Error bug_error(std::string message);
/// An environment error with the text of errno appended.
Error system_error(std::string what, int error_number, std::string cure = "");

/// DESIGN.md §11: 2 usage, 3 environment, 130 Ctrl-C, 4 our bug.
int exit_code(const Error& error);
const char* name_of(ErrorCode code);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T result) : state_(std::in_place_index<0>, std::move(result)) {}    // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { assert(ok()); return std::get<0>(state_); }
  const T& value() const& { assert(ok()); return std::get<0>(state_); }
  T&& value() && { assert(ok()); return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const& { assert(!ok()); return std::get<1>(state_); }
  Error&& error() && { assert(!ok()); return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

/// A Result without a value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : ok_(false), error_(std::move(error)) {}  // NOLINT: implicit by design
  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const& { assert(!ok_); return error_; }
  Error&& error() && { assert(!ok_); return std::move(error_); }

 private:
  bool ok_ = true;
  Error error_;
};

}  // namespace hone
