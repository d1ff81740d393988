#pragma once
// base: what every room needs and nothing about kernels. Errors are values (hone/result.h, which users of the library
// see too). Read this first, then files.h, json.h.

#include "hone/result.h"

#define HONE_CONCAT_(a, b) a##b
#define HONE_CONCAT(a, b) HONE_CONCAT_(a, b)
/// `HONE_TRY(auto x, f());` binds x to the value of f() or returns its error.
#define HONE_TRY(declaration, expression)                                     \
  auto HONE_CONCAT(hone_try_, __LINE__) = (expression);                       \
  if (!HONE_CONCAT(hone_try_, __LINE__).ok())                                 \
    return std::move(HONE_CONCAT(hone_try_, __LINE__)).error();               \
  declaration = std::move(HONE_CONCAT(hone_try_, __LINE__)).value()
/// Returns the error of a Status or Result, if it is one.
#define HONE_CHECK(expression)                                                \
  do {                                                                        \
    if (auto hone_status = (expression); !hone_status.ok())                   \
      return std::move(hone_status).error();                                  \
  } while (false)
