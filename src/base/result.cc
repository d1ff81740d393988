#include "base/result.h"

#include <cstring>

namespace hone {

std::string Error::text() const {
  std::string out = message;
  if (!cure.empty()) out += (out.empty() || out.back() == '.' ? " " : ". ") + cure;
  return out;
}

Error usage_error(std::string message, std::string cure) {
  return Error{ErrorCode::usage, std::move(message), std::move(cure), {}};
}
Error environment_error(std::string message, std::string cure) {
  return Error{ErrorCode::environment, std::move(message), std::move(cure), {}};
}
Error bug_error(std::string message) {
  return Error{ErrorCode::bug, std::move(message),
               "This is a fault of Hone itself; please report it with the command you ran", {}};
}
Error system_error(std::string what, int error_number, std::string cure) {
  return environment_error(std::move(what) + ": " + std::strerror(error_number), std::move(cure));
}

int exit_code(const Error& error) {
  switch (error.code) {
    case ErrorCode::usage: return 2;
    case ErrorCode::environment: return 3;
    case ErrorCode::bug: return 4;
    case ErrorCode::cancelled: return 130;
  }
  return 4;
}

const char* name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage: return "usage";
    case ErrorCode::environment: return "environment";
    case ErrorCode::bug: return "bug";
    case ErrorCode::cancelled: return "cancelled";
  }
  return "bug";
}

}  // namespace hone
