#include "candidate/bind.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace hone::candidate {
namespace {

using task::DType;

struct DTypeTypes {
  DType dtype;
  std::vector<std::string> types;  // the first is the one messages propose
};

// x86-64 and AArch64 Linux: long is 64 bits. f16 and bf16 may be taken as their bits.
const std::vector<DTypeTypes>& table() {
  static const std::vector<DTypeTypes> kTable = {
      {DType::f64, {"double"}},
      {DType::f32, {"float"}},
      {DType::f16, {"hone_f16", "_Float16", "half", "__half", "uint16_t", "unsigned short"}},
      {DType::bf16, {"hone_bf16", "__bf16", "nv_bfloat16", "__nv_bfloat16", "uint16_t", "unsigned short"}},
      {DType::i64, {"int64_t", "long", "long long", "ptrdiff_t", "ssize_t"}},
      {DType::i32, {"int", "int32_t"}},
      {DType::i16, {"int16_t", "short"}},
      {DType::i8, {"int8_t", "signed char", "char"}},
      {DType::u64, {"uint64_t", "unsigned long", "unsigned long long", "size_t"}},
      {DType::u32, {"uint32_t", "unsigned"}},
      {DType::u16, {"uint16_t", "unsigned short"}},
      {DType::u8, {"uint8_t", "unsigned char"}},
      {DType::boolean, {"bool", "uint8_t", "unsigned char"}},
  };
  return kTable;
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

std::string pointer_to(const std::string& type, bool is_const) {
  return fmt::format("{}{}*", is_const ? "const " : "", type);
}

std::string written(const Parameter& parameter) {
  return parameter.pointer ? pointer_to(parameter.type, parameter.is_const) : parameter.type;
}

std::string cast(const Parameter& parameter, std::size_t at) {
  return fmt::format("({})hone_arguments[{}]", written(parameter), at);
}

}  // namespace

const std::vector<std::string>& types_of(DType dtype) {
  for (const auto& row : table()) {
    if (row.dtype == dtype) return row.types;
  }
  static const std::vector<std::string> kNone = {"?"};
  return kNone;
}

bool is_dim_type(const std::string& type, bool& narrow) {
  static const std::vector<std::string> kNarrow = {"int", "int32_t", "unsigned", "uint32_t"};
  static const std::vector<std::string> kWide = {
      "int64_t", "long",     "long long",     "ptrdiff_t",         "ssize_t",
      "size_t",  "uint64_t", "unsigned long", "unsigned long long"};
  narrow = contains(kNarrow, type);
  return narrow || contains(kWide, type);
}

std::vector<Argument> argument_list(const task::Task& task, const std::vector<Scratch>& scratch) {
  std::vector<Argument> list;
  for (std::size_t i = 0; i < task.inputs.size(); ++i)
    list.push_back({Argument::Kind::input, i, task.inputs[i].name});
  for (std::size_t i = 0; i < task.outputs.size(); ++i)
    list.push_back({Argument::Kind::output, i, task.outputs[i].name});
  for (std::size_t i = 0; i < scratch.size(); ++i)
    list.push_back({Argument::Kind::scratch, i, scratch[i].name});
  std::size_t dim = 0;
  for (const auto& [name, about] : task.dims) list.push_back({Argument::Kind::dim, dim++, name});
  for (std::size_t i = 0; i < task.scalars.size(); ++i)
    list.push_back({Argument::Kind::scalar, i, task.scalars[i].name});
  return list;
}

Binder::Binder(const Candidate& candidate, const task::Task& task, Build build)
    : candidate_(candidate),
      task_(task),
      build_(build),
      arguments_(argument_list(task, candidate.scratch)) {}

Error Binder::refuse(const Function& function, const Parameter& parameter, const std::string& why,
                     std::string cure) const {
  return usage_error(
             fmt::format("{}:{}: '{}': parameter '{} {}' {}", candidate_.path, parameter.line,
                         function.name, written(parameter), parameter.name, why),
             std::move(cure))
      .with("function", function.name)
      .with("parameter", parameter.name);
}

Error Binder::unknown(const Function& function, const Parameter& parameter) const {
  std::vector<std::string> known;
  for (const Argument& argument : arguments_) known.push_back(argument.name);
  for (const Tunable& tunable : candidate_.tunables) {
    if (tunable.name == parameter.name) {
      return refuse(function, parameter, "has the name of a tunable",
                    "drop the parameter: a tunable is a constant of the source");
    }
  }
  return refuse(
      function, parameter,
      fmt::format("has no counterpart of that name{}", did_you_mean(parameter.name, known)),
      fmt::format("known here: {}", fmt::join(known, ", ")));
}

int Binder::output_over(std::size_t index) const {
  for (std::size_t i = 0; i < task_.outputs.size(); ++i) {
    if (!task_.outputs[i].inout.empty() && task_.outputs[i].inout == task_.inputs[index].name)
      return static_cast<int>(i);
  }
  return -1;
}

Result<std::string> Binder::input(const Function& function, const Parameter& parameter,
                                  std::size_t index, std::size_t at) {
  const task::Tensor& tensor = task_.inputs[index];
  const auto& types = types_of(tensor.dtype);
  if (!parameter.pointer) {
    return refuse(function, parameter, "is a value, yet the input is a tensor",
                  fmt::format("take it as const {}*", types[0]));
  }
  if (!contains(types, parameter.type)) {
    return refuse(function, parameter,
                  fmt::format("does not match the input's dtype {}", name_of(tensor.dtype)),
                  parameter.type.starts_with("HONE_")
                      ? fmt::format("inputs keep their storage type: const {}*", types[0])
                      : fmt::format("take it as const {}*", fmt::join(types, "* or const ")));
  }
  const int over = output_over(index);
  if (!parameter.is_const) {
    if (over < 0) {
      return refuse(function, parameter, "may be written, yet inputs are read-only",
                    fmt::format("take it as const {}*", parameter.type));
    }
    if (is_reference()) {
      return refuse(function, parameter,
                    fmt::format("holds the old values; the new ones go to '{}'",
                                task_.outputs[static_cast<std::size_t>(over)].name),
                    fmt::format("take it as const {}*, and '{}' as HONE_OUT*", parameter.type,
                                task_.outputs[static_cast<std::size_t>(over)].name));
    }
    written_.insert(task_.outputs[static_cast<std::size_t>(over)].name);
  }
  named_.insert(tensor.name);
  return cast(parameter, at);
}

Result<std::string> Binder::output(const Function& function, const Parameter& parameter,
                                   std::size_t index, std::size_t at) {
  const task::Tensor& tensor = task_.outputs[index];
  const bool floating = task::is_floating(tensor.dtype);
  const auto& types = types_of(tensor.dtype);
  const std::string wanted = floating && is_reference() ? "HONE_OUT" : types[0];
  if (!parameter.pointer) {
    return refuse(function, parameter, "is a value, yet the output is a tensor",
                  fmt::format("take it as {}*", wanted));
  }
  const bool own_out = parameter.type == "HONE_OUT_" + tensor.name;
  const bool hone_out = floating && (parameter.type == "HONE_OUT" || own_out);
  if (floating && is_reference() && !hone_out) {
    return refuse(function, parameter,
                  "has a fixed type, yet this build of a reference needs wider outputs",
                  "floating outputs of a reference are HONE_OUT*, its arithmetic HONE_REAL");
  }
  if (!hone_out && !contains(types, parameter.type)) {
    return refuse(function, parameter,
                  fmt::format("does not match the output's dtype {}", name_of(tensor.dtype)),
                  fmt::format("take it as {}*", fmt::join(types, "* or ")));
  }
  if (hone_out && !own_out && !is_reference()) {
    // HONE_OUT is one type for the whole source: here the storage type of the first floating
    // output.
    for (const task::Tensor& other : task_.outputs) {
      if (!task::is_floating(other.dtype)) continue;
      if (other.dtype == tensor.dtype) break;
      return refuse(
          function, parameter,
          fmt::format("is HONE_OUT, which is {} here, yet the output's dtype is {}",
                      types_of(other.dtype)[0], name_of(tensor.dtype)),
          fmt::format("the outputs differ in dtype: take it as HONE_OUT_{}*", tensor.name));
    }
  }
  if (!parameter.is_const) written_.insert(tensor.name);
  named_.insert(tensor.name);
  return cast(parameter, at);
}

Result<std::string> Binder::scratch(const Function& function, const Parameter& parameter,
                                    std::size_t index, std::size_t at) {
  const Scratch& scratch = candidate_.scratch[index];
  const auto& types = types_of(scratch.dtype);
  if (!parameter.pointer || !contains(types, parameter.type)) {
    return refuse(function, parameter,
                  fmt::format("does not match the scratch's dtype {}", name_of(scratch.dtype)),
                  fmt::format("take it as {}*", fmt::join(types, "* or ")));
  }
  return cast(parameter, at);
}

Result<std::string> Binder::dim(const Function& function, const Parameter& parameter,
                                std::size_t at) {
  bool narrow = false;
  if (parameter.pointer || !is_dim_type(parameter.type, narrow)) {
    return refuse(function, parameter, "is not how a dim is taken",
                  "take it as int or int64_t, by value");
  }
  if (narrow) {
    auto& held = narrow_[parameter.name];
    if (held.empty() || parameter.type == "int" || parameter.type == "int32_t")
      held = parameter.type;
  }
  return fmt::format("({})*(const __INT64_TYPE__*)hone_arguments[{}]", parameter.type, at);
}

Result<std::string> Binder::scalar(const Function& function, const Parameter& parameter,
                                   std::size_t index, std::size_t at) {
  const task::Scalar& scalar = task_.scalars[index];
  const auto& types = types_of(scalar.dtype);
  if (parameter.pointer) {
    return refuse(function, parameter, "is a pointer, yet the scalar is passed by value",
                  fmt::format("take it as {}", types[0]));
  }
  const bool real = task::is_floating(scalar.dtype) && parameter.type == "HONE_REAL";
  if (!real && !contains(types, parameter.type)) {
    return refuse(function, parameter,
                  fmt::format("does not match the scalar's dtype {}", name_of(scalar.dtype)),
                  fmt::format("take it as {}", fmt::join(types, " or ")));
  }
  if (real) {
    // Through float, because the prelude's half types convert to nothing else. It is exact.
    const bool half = scalar.dtype == DType::f16 || scalar.dtype == DType::bf16;
    return fmt::format("(HONE_REAL){}*(const {}*)hone_arguments[{}]", half ? "(float)" : "",
                       types[0], at);
  }
  return fmt::format("*(const {}*)hone_arguments[{}]", parameter.type, at);
}

Result<std::string> Binder::one(const Function& function, const Parameter& parameter, bool select) {
  for (std::size_t at = 0; at < arguments_.size(); ++at) {
    const Argument& argument = arguments_[at];
    if (argument.name != parameter.name) continue;
    static constexpr const char* kKinds[] = {"input", "output", "scratch", "dim", "scalar"};
    if (select &&
        (argument.kind == Argument::Kind::output || argument.kind == Argument::Kind::scratch)) {
      return refuse(
          function, parameter,
          fmt::format("is {} {}", argument.kind == Argument::Kind::output ? "an" : "a",
                      kKinds[static_cast<int>(argument.kind)]),
          "a function that finds a selected value takes inputs, dims, scalars, element and index");
    }
    lines_.push_back(fmt::format("{}: {}={} {} as {}", function.name, parameter.name,
                                 kKinds[static_cast<int>(argument.kind)], argument.index,
                                 written(parameter)));
    bound_.push_back({at, parameter.type, parameter.pointer});
    switch (argument.kind) {
      case Argument::Kind::input:
        return input(function, parameter, argument.index, at);
      case Argument::Kind::output:
        return output(function, parameter, argument.index, at);
      case Argument::Kind::scratch:
        return scratch(function, parameter, argument.index, at);
      case Argument::Kind::dim:
        return dim(function, parameter, at);
      case Argument::Kind::scalar:
        return scalar(function, parameter, argument.index, at);
    }
  }
  return unknown(function, parameter);
}

Result<std::vector<std::string>> Binder::bind(const Function& function) {
  std::vector<std::string> bound;
  for (const Parameter& parameter : function.parameters) {
    HONE_TRY(auto text, one(function, parameter, false));
    bound.push_back(std::move(text));
  }
  return bound;
}

Result<std::vector<std::string>> Binder::bind_select(const code::Signature& signature) {
  Function function;
  function.name = signature.name;
  std::vector<std::string> bound;
  bool element = false, index = false;
  for (const auto& p : signature.parameters) {
    const Parameter parameter{p.name, p.type, p.pointer, p.is_const, p.line};
    if (p.name == "element" || p.name == "index") {
      bool narrow = false;
      if (p.pointer || !is_dim_type(p.type, narrow)) {
        return refuse(function, parameter, "is not how it is taken",
                      fmt::format("take it as int64_t {}", p.name));
      }
      (p.name == "element" ? element : index) = true;
      bound.push_back(fmt::format("({})hone_{}", p.type, p.name));
      continue;
    }
    HONE_TRY(auto text, one(function, parameter, true));
    bound.push_back(std::move(text));
  }
  if (!element || !index) {
    return usage_error(fmt::format("{}:{}: '{}' takes no '{}'", candidate_.path, signature.line,
                                   signature.name, element ? "index" : "element"),
                       "a function that finds a selected value takes int64_t element (of the "
                       "output, flat) and int64_t index");
  }
  return bound;
}

Status Binder::check_complete() const {
  for (const task::Tensor& output : task_.outputs) {
    if (written_.contains(output.name)) continue;
    const bool named =
        named_.contains(output.name) || (!output.inout.empty() && named_.contains(output.inout));
    const std::string type =
        task::is_floating(output.dtype) && is_reference() ? "HONE_OUT" : types_of(output.dtype)[0];
    return usage_error(
        fmt::format("{}: no function {} the output '{}'", candidate_.path,
                    named ? "may write" : "takes", output.name),
        fmt::format("{} {}* {}", named ? "outputs are not const:" : "add the parameter", type,
                    output.name));
  }
  return {};
}

bool Binder::in_place() const {
  if (is_reference()) return false;
  for (const task::Tensor& output : task_.outputs) {
    if (output.inout.empty()) continue;
    if (build_ == Build::candidate || !named_.contains(output.name) ||
        !named_.contains(output.inout))
      return true;
  }
  return false;
}

}  // namespace hone::candidate
