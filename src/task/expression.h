#pragma once
// Integer expressions of plans and shapes: integers, names, + - * / % ( ), comparisons, && || !,
// ceil_div(a,b) min(a,b,…) max(a,b,…). Every operation is checked for overflow; / and % by zero and
// unknown names are errors that name the expression. / truncates as C does. Real evaluation serves work
// expressions ("5*N*D"): / divides exactly, decimal numbers and log2(x) are allowed. && and || skip what
// they need not evaluate; comparisons do not chain.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "task/types.h"

namespace hone::task {

class Expression {
 public:
  Expression();  ///< the constant 0
  static Result<Expression> parse(std::string_view text);
  static Expression constant(std::int64_t value);

  /// Comparisons and logic give 0 or 1.
  Result<std::int64_t> evaluate(const Dims& names) const;
  Result<double> evaluate_real(const Dims& names) const;
  /// Names used, sorted, without repeats.
  const std::vector<std::string>& names() const;
  const std::string& text() const;

 private:
  struct Node;
  struct State;
  explicit Expression(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace hone::task
