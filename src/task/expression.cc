#include "task/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/text.h"

namespace hone::task {
namespace {

// Recursion is bounded so that a hostile text cannot overflow the stack, length so that errors stay
// short.
constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxLength = 4096;

enum class Op {
  integer,
  decimal,
  name,
  add,
  subtract,
  multiply,
  divide,
  modulo,
  negate,
  logical_not,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  ceil_div,
  minimum,
  maximum,
  log2,
  to_bool,
  and_then,
  or_else,
};

}  // namespace

// The expression is kept as a postfix program: chains like 1+1+… then need no recursion to
// evaluate.
struct Expression::Node {
  Op op;
  std::int64_t integer = 0;  // value, index into names, or the target of a jump
  double real = 0;
};
struct Expression::State {
  std::string text;
  std::vector<Node> program;
  std::vector<std::string> names;
};

namespace {

template <typename Node>
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Status parse() {
    HONE_CHECK(logic_or());
    skip_blanks();
    if (at_ < text_.size()) return wrong("an operator or the end");
    return {};
  }
  std::vector<Node> program;
  std::vector<std::string> names;

 private:
  Error wrong(std::string_view expected) {
    const std::string found =
        at_ < text_.size() ? "'" + scrub(text_.substr(at_, 1)) + "'" : std::string("the end");
    return usage_error(fmt::format("expression '{}': found {} at character {}, expected {}",
                                   scrub(text_, 200), found, at_ + 1, expected));
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool accept(std::string_view token) {
    skip_blanks();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void emit(Op op, std::int64_t integer = 0, double real = 0) {
    program.push_back({op, integer, real});
  }

  // a && b: a, and_then → past b, b, to_bool. The jump skips b, so that "N == 0 || M / N > 2" is
  // safe.
  Status logic_or() {
    HONE_CHECK(logic_and());
    while (accept("||")) HONE_CHECK(second_operand(Op::or_else));
    return {};
  }
  Status logic_and() {
    HONE_CHECK(comparison());
    while (accept("&&")) HONE_CHECK(second_operand(Op::and_then));
    return {};
  }
  Status second_operand(Op op) {
    const std::size_t jump = program.size();
    emit(op);
    HONE_CHECK(op == Op::or_else ? logic_and() : comparison());
    emit(Op::to_bool);
    program[jump].integer = static_cast<std::int64_t>(program.size());
    return {};
  }

  // Comparisons do not chain: a < b < c means in C what no one writing it means.
  Status comparison() {
    static constexpr std::pair<std::string_view, Op> kOps[] = {
        {"==", Op::equal},         {"!=", Op::not_equal}, {"<=", Op::less_equal},
        {">=", Op::greater_equal}, {"<", Op::less},       {">", Op::greater}};
    HONE_CHECK(sum());
    for (const auto& [token, op] : kOps) {
      if (!accept(token)) continue;
      HONE_CHECK(sum());
      emit(op);
      skip_blanks();
      for (const auto& [other, unused] : kOps)
        if (text_.substr(at_, other.size()) == other)
          return wrong("&&, || or the end: comparisons do not chain");
      return {};
    }
    return {};
  }
  Status sum() {
    HONE_CHECK(product());
    for (;;) {
      if (accept("+")) {
        HONE_CHECK(product());
        emit(Op::add);
      } else if (accept("-")) {
        HONE_CHECK(product());
        emit(Op::subtract);
      } else {
        return {};
      }
    }
  }
  Status product() {
    HONE_CHECK(unary());
    for (;;) {
      const Op op = accept("*")   ? Op::multiply
                    : accept("/") ? Op::divide
                    : accept("%") ? Op::modulo
                                  : Op::name;
      if (op == Op::name) return {};
      HONE_CHECK(unary());
      emit(op);
    }
  }
  Status unary() {
    if (++depth_ > kMaxDepth)
      return usage_error(
          fmt::format("expression '{}' is nested deeper than {}", scrub(text_, 200), kMaxDepth));
    HONE_CHECK(unary_inner());
    --depth_;
    return {};
  }
  Status unary_inner() {
    skip_blanks();
    if (accept("-")) {
      HONE_CHECK(unary());
      emit(Op::negate);
      return {};
    }
    if (text_.substr(at_, 1) == "!" && text_.substr(at_, 2) != "!=") {
      ++at_;
      HONE_CHECK(unary());
      emit(Op::logical_not);
      return {};
    }
    if (accept("(")) {
      HONE_CHECK(logic_or());
      if (!accept(")")) return wrong("')'");
      return {};
    }
    return atom();
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_word(char c) {
    return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }
  Status atom() {
    if (at_ >= text_.size()) return wrong("a number, a name or '('");
    const char c = text_[at_];
    if (is_digit(c) || c == '.') return number();
    if (!is_word(c)) return wrong("a number, a name or '('");
    const std::size_t start = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    if (accept("(")) return call(word, start);
    const auto place = std::find(names.begin(), names.end(), word);
    emit(Op::name, place - names.begin());
    if (place == names.end()) names.emplace_back(word);
    return {};
  }
  Status number() {
    std::size_t end = at_;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    const bool whole =
        end == text_.size() || (text_[end] != '.' && text_[end] != 'e' && text_[end] != 'E');
    const char* first = text_.data() + at_;
    const char* last = text_.data() + text_.size();
    if (whole) {
      std::int64_t value = 0;
      const auto [stop, error] = std::from_chars(first, text_.data() + end, value);
      if (error != std::errc()) return wrong("an integer below 2^63");
      at_ = end;
      emit(Op::integer, value, static_cast<double>(value));
    } else {
      double value = 0;
      const auto [stop, error] = std::from_chars(first, last, value);
      if (error != std::errc()) return wrong("a decimal number");
      at_ += static_cast<std::size_t>(stop - first);
      emit(Op::decimal, 0, value);
    }
    if (at_ < text_.size() && is_word(text_[at_])) return wrong("an operator after the number");
    return {};
  }
  Status call(std::string_view word, std::size_t start) {
    static const std::vector<std::string> kFunctions = {"ceil_div", "min", "max", "log2"};
    const Op op = word == "ceil_div" ? Op::ceil_div
                  : word == "min"    ? Op::minimum
                  : word == "max"    ? Op::maximum
                                     : Op::log2;
    if (op == Op::log2 && word != "log2") {
      at_ = start;
      return wrong(fmt::format("a function among {}{}", fmt::join(kFunctions, ", "),
                               did_you_mean(word, kFunctions)));
    }
    HONE_CHECK(logic_or());
    int count = 1;
    while (accept(",")) {
      HONE_CHECK(logic_or());
      ++count;
      if (op == Op::minimum || op == Op::maximum) emit(op);
    }
    if (op == Op::ceil_div && count != 2) return wrong("two arguments of ceil_div");
    if (op == Op::log2 && count != 1) return wrong("one argument of log2");
    if (op == Op::ceil_div || op == Op::log2) emit(op);
    if (!accept(")")) return wrong("',' or ')'");
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

// What went wrong in an operation; null: nothing.
using Fault = const char*;
constexpr Fault kOverflow = "overflows 64 bits";
constexpr Fault kZero = "divides by zero";

/// What whole and real numbers share: comparisons, the smaller, the greater.
template <typename Number>
Fault choose(Op op, Number a, Number b, Number& out) {
  switch (op) {
    case Op::less:
      out = a < b;
      return nullptr;
    case Op::less_equal:
      out = a <= b;
      return nullptr;
    case Op::greater:
      out = a > b;
      return nullptr;
    case Op::greater_equal:
      out = a >= b;
      return nullptr;
    case Op::equal:
      out = a == b;
      return nullptr;
    case Op::not_equal:
      out = a != b;
      return nullptr;
    case Op::minimum:
      out = std::min(a, b);
      return nullptr;
    case Op::maximum:
      out = std::max(a, b);
      return nullptr;
    default:
      return "is broken";
  }
}

Fault apply(Op op, std::int64_t a, std::int64_t b, std::int64_t& out) {
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
  switch (op) {
    case Op::add:
      return __builtin_add_overflow(a, b, &out) ? kOverflow : nullptr;
    case Op::subtract:
      return __builtin_sub_overflow(a, b, &out) ? kOverflow : nullptr;
    case Op::multiply:
      return __builtin_mul_overflow(a, b, &out) ? kOverflow : nullptr;
    case Op::divide:
    case Op::modulo:
    case Op::ceil_div:
      if (b == 0) return kZero;
      if (a == lowest && b == -1) return kOverflow;
      out = op == Op::modulo ? a % b : a / b;
      // Truncation already rounds a negative quotient up; a positive one with a rest needs one
      // more.
      if (op == Op::ceil_div && a % b != 0 && (a < 0) == (b < 0)) ++out;
      return nullptr;
    default:
      return choose(op, a, b, out);
  }
}
Fault apply(Op op, double a, double b, double& out) {
  switch (op) {
    case Op::add:
      out = a + b;
      return nullptr;
    case Op::subtract:
      out = a - b;
      return nullptr;
    case Op::multiply:
      out = a * b;
      return nullptr;
    case Op::divide:
    case Op::modulo:
    case Op::ceil_div:
      if (b == 0) return kZero;
      out = op == Op::modulo ? std::fmod(a, b) : op == Op::divide ? a / b : std::ceil(a / b);
      return nullptr;
    default:
      return choose(op, a, b, out);
  }
}
Fault negate(std::int64_t a, std::int64_t& out) {
  return __builtin_sub_overflow(std::int64_t{0}, a, &out) ? kOverflow : nullptr;
}
Fault negate(double a, double& out) {
  out = -a;
  return nullptr;
}
Fault logarithm(std::int64_t, std::int64_t&) {
  return "uses log2, which only work expressions may";
}
Fault logarithm(double a, double& out) {
  if (!(a > 0)) return "takes log2 of a number that is not above 0";
  out = std::log2(a);
  return nullptr;
}
Fault decimal(double, std::int64_t&) { return "has a decimal number, expected whole ones"; }
Fault decimal(double value, double& out) {
  out = value;
  return nullptr;
}

template <typename T, typename State>
Result<T> run(const State& state, const Dims& names) {
  const auto wrong = [&](Fault fault) {
    return usage_error(fmt::format("expression '{}' {}", scrub(state.text, 200), fault));
  };
  std::vector<T> stack;
  const auto& program = state.program;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const auto& node = program[i];
    Fault fault = nullptr;
    switch (node.op) {
      case Op::integer:
        stack.push_back(static_cast<T>(node.integer));
        break;
      case Op::decimal:
        fault = decimal(node.real, stack.emplace_back());
        break;
      case Op::name: {
        const std::string& name = state.names[static_cast<std::size_t>(node.integer)];
        const auto found = names.find(name);
        if (found == names.end()) {
          std::vector<std::string> known;
          for (const auto& [key, value] : names) known.push_back(key);
          return usage_error(
              fmt::format("expression '{}': unknown name '{}'{}, expected one of {}",
                          scrub(state.text, 200), name, did_you_mean(name, known),
                          known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
        }
        stack.push_back(static_cast<T>(found->second));
        break;
      }
      case Op::negate:
        fault = negate(stack.back(), stack.back());
        break;
      case Op::logical_not:
        stack.back() = stack.back() == 0;
        break;
      case Op::to_bool:
        stack.back() = stack.back() != 0;
        break;
      case Op::log2:
        fault = logarithm(stack.back(), stack.back());
        break;
      case Op::and_then:
      case Op::or_else:
        if ((stack.back() != 0) == (node.op == Op::or_else)) {
          stack.back() = node.op == Op::or_else;
          i = static_cast<std::size_t>(node.integer) - 1;
        } else {
          stack.pop_back();
        }
        break;
      default: {
        const T b = stack.back();
        stack.pop_back();
        fault = apply(node.op, stack.back(), b, stack.back());
      }
    }
    if (fault) return wrong(fault);
  }
  return stack.back();
}

}  // namespace

Expression::Expression() : Expression(constant(0)) {}

Expression Expression::constant(std::int64_t value) {
  // Default-made expressions are many (one a tensor and more): they share one state.
  static const std::shared_ptr<const State> zero =
      std::make_shared<const State>(State{"0", {Node{Op::integer, 0, 0}}, {}});
  if (value == 0) return Expression(zero);
  return Expression(std::make_shared<const State>(
      State{std::to_string(value), {Node{Op::integer, value, static_cast<double>(value)}}, {}}));
}

Result<Expression> Expression::parse(std::string_view text) {
  if (text.size() > kMaxLength)
    return usage_error(fmt::format("an expression of {} characters, at most {} are read",
                                   text.size(), kMaxLength));
  Parser<Node> parser(text);
  HONE_CHECK(parser.parse());
  // Names sorted for the caller; the program refers to them by place, so places move along.
  std::vector<std::string> sorted = parser.names;
  std::sort(sorted.begin(), sorted.end());
  for (Node& node : parser.program)
    if (node.op == Op::name)
      node.integer = std::lower_bound(sorted.begin(), sorted.end(),
                                      parser.names[static_cast<std::size_t>(node.integer)]) -
                     sorted.begin();
  return Expression(std::make_shared<const State>(
      State{std::string(trim(text)), std::move(parser.program), std::move(sorted)}));
}

Result<std::int64_t> Expression::evaluate(const Dims& names) const {
  return run<std::int64_t>(*state_, names);
}
Result<double> Expression::evaluate_real(const Dims& names) const {
  return run<double>(*state_, names);
}
const std::vector<std::string>& Expression::names() const { return state_->names; }
const std::string& Expression::text() const { return state_->text; }

}  // namespace hone::task
