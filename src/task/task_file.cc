#include "task/task_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "task/names.h"
#include "task/task_check.h"
#include "task/toml_section.h"
#include "task/toml_text.h"

namespace hone::task {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;  // a task file is written by hand

// Every case is drawn, evaluated and judged at each verification, so thousands of them would take
// it hours; a function has no thousands of parameters either.
constexpr std::size_t kMostTables = 256;

constexpr double kLeastMemory_gb = 0.001, kMostMemory_gb = 65536;
constexpr double kLeastCall_s = 0.001, kMostCall_s = 3600;

class Reader {
 public:
  Reader(fs::path file, const toml::table& root)
      : file_(std::move(file)), root_(file_, "task file", root, 1) {}

  Result<Task> read() {
    task_.file = file_;
    task_.folder = file_.parent_path();
    HONE_CHECK(root_.only({"task", "dims", "input", "scalar", "output", "reference", "baseline",
                           "work", "limits", "case", "hidden"}));
    HONE_CHECK(one("task", true, &Reader::read_head));
    HONE_CHECK(one("dims", false, &Reader::read_dims));
    HONE_CHECK(each("input", &Reader::read_input));
    HONE_CHECK(each("scalar", &Reader::read_scalar));
    HONE_CHECK(each("output", &Reader::read_output));
    HONE_CHECK(one("reference", true, &Reader::read_reference));
    HONE_CHECK(one("baseline", false, &Reader::read_baseline));
    HONE_CHECK(one("work", false, &Reader::read_work));
    HONE_CHECK(one("limits", false, &Reader::read_limits));
    HONE_CHECK(each("case", &Reader::read_case));
    HONE_CHECK(one("hidden", false, &Reader::read_hidden));
    return std::move(task_);
  }
  const Lines& lines() const { return lines_; }

 private:
  using Read = Status (Reader::*)(Section&);

  Status one(const char* key, bool required, Read reader) {
    const toml::node* node = root_.find(key);
    if (!node && !required) return {};
    if (!node || !node->is_table()) return root_.wrong(key, fmt::format("a table [{}]", key));
    Section section(file_, fmt::format("[{}]", key), *node->as_table());
    lines_.at[key] = section.line();
    return (this->*reader)(section);
  }
  Status each(const char* key, Read reader) {
    const toml::node* node = root_.find(key);
    if (!node) return {};
    const std::string expected = fmt::format("tables [[{}]]", key);
    if (!node->is_array()) return root_.wrong(key, expected);
    const std::size_t count = node->as_array()->size();
    if (count > kMostTables)
      return task_error(file_, line_of(*node->as_array()->get(kMostTables)),
                        fmt::format("[[{}]]: found {} of them, expected at most {}", key, count,
                                    kMostTables),
                        std::string(key) == "case"
                            ? "Keep the sizes that are timed and the edges that may break a kernel; "
                              "[hidden] draws fresh sizes at each verification"
                            : "");
    for (const toml::node& item : *node->as_array()) {
      if (!item.is_table())
        return task_error(
            file_, line_of(item),
            fmt::format("[[{}]]: found {}, expected {}", key, describe(item), expected));
      Section section(file_, fmt::format("[[{}]]", key), *item.as_table());
      HONE_CHECK((this->*reader)(section));
    }
    return {};
  }

  Status read_head(Section& s);
  Status read_dims(Section& s);
  Status read_input(Section& s);
  Status read_scalar(Section& s);
  Status read_output(Section& s);
  Status read_reference(Section& s);
  Status read_baseline(Section& s);
  Status read_work(Section& s);
  Status read_limits(Section& s);
  Status read_case(Section& s);
  Status read_hidden(Section& s);

  Result<std::string> read_name(Section& s, const char* kind);
  Result<Expression> read_expression(const Section& s, const char* key, const toml::node& node);
  Status read_tensor(Section& s, const char* kind, Tensor& tensor);
  Status read_values(Section& s, Tensor& tensor);
  Status read_values_table(const Section& v, Tensor& tensor);

  Task task_;
  Lines lines_;
  fs::path file_;
  Section root_;  // refers to file_
};

Status Reader::read_head(Section& s) {
  HONE_CHECK(s.only({"name", "about", "op", "lanes", "precision"}));
  HONE_TRY(task_.name, s.text("name", "a name such as 'softmax_rows'"));
  const bool plain = !task_.name.empty() && task_.name.size() <= 100 && task_.name[0] != '.' &&
                     std::all_of(task_.name.begin(), task_.name.end(), [](unsigned char c) {
                       return std::isalnum(c) || c == '_' || c == '-' || c == '.';
                     });
  if (!plain) return s.wrong("name", "letters, digits, _, - and . only, for it names folders");
  HONE_TRY(task_.about, s.text_or("about", ""));
  HONE_TRY(task_.op, s.text_or("op", ""));
  HONE_TRY(const std::string precision, s.text_or("precision", "f32", "a word such as 'f32'"));
  auto known = precision_from(precision);
  if (!known.ok()) return s.at("precision", known.error());
  task_.precision = *known;
  lines_.at["task lanes"] = s.line("lanes");
  if (const toml::node* lanes = s.find("lanes")) {
    static const std::vector<std::string> kLanes = {"cpu", "cuda", "host"};
    const std::string expected = "an array of cpu, cuda, host";
    if (!lanes->is_array() || lanes->as_array()->empty()) return s.wrong("lanes", expected);
    for (const toml::node& lane : *lanes->as_array()) {
      const std::string name = lane.is_string() ? lane.as_string()->get() : "";
      if (std::find(kLanes.begin(), kLanes.end(), name) == kLanes.end())
        return s.at("lanes", usage_error(fmt::format("found {}, expected {}{}", describe(lane),
                                                     expected, did_you_mean(name, kLanes))));
      if (std::find(task_.lanes.begin(), task_.lanes.end(), name) != task_.lanes.end())
        return s.at("lanes",
                    usage_error(fmt::format("found '{}' twice, expected each lane once", name)));
      task_.lanes.push_back(name);
    }
  }
  return {};
}

Status Reader::read_dims(Section& s) {
  if (s.table().size() > kMostTables)
    return task_error(file_, s.line(), fmt::format("[dims]: found {} names, expected at most {}",
                                                   s.table().size(), kMostTables));
  for (auto&& [key, node] : s.table()) {
    const std::string name(key.str());
    std::string fault = name_fault(name);
    if (name == "time" || name == "draws") fault = "a name that is no key of [[case]] or [hidden]";
    if (name == "min" || name == "max" || name == "ceil_div" || name == "log2")
      fault = "a name that is no function of expressions";
    if (!fault.empty())
      return task_error(
          file_, std::max(1, line_of(node)),
          fmt::format("[dims]: found the name '{}', expected {}", scrub(name, 80), fault));
    if (!node.is_string()) return s.wrong(name.c_str(), "a string that says what the dim means");
    task_.dims[name] = node.as_string()->get();
    lines_.at["dim " + name] = line_of(node);
  }
  return {};
}

Result<std::string> Reader::read_name(Section& s, const char* kind) {
  HONE_TRY(const std::string name, s.text("name", "a name"));
  if (const std::string fault = name_fault(name); !fault.empty()) return s.wrong("name", fault);
  s.set_title(fmt::format("[[{}]] '{}'", kind, name));
  const std::string place = std::string(kind) + " " + name;
  // The first place stays, so that an error about a second use can name both.
  lines_.at.emplace(place, s.line("name"));
  for (auto&& [key, node] : s.table())
    lines_.at.emplace(place + " " + std::string(key.str()), line_of(node));
  return name;
}

Result<Expression> Reader::read_expression(const Section& s, const char* key,
                                           const toml::node& node) {
  if (node.is_integer()) return Expression::constant(node.as_integer()->get());
  if (!node.is_string())
    return s.at(
        key, usage_error(fmt::format("found {}, expected an integer or an expression over the dims",
                                     describe(node))));
  auto parsed = Expression::parse(node.as_string()->get());
  if (!parsed.ok()) return s.at(key, parsed.error());
  for (const std::string& name : parsed->names())
    if (!task_.dims.count(name)) {
      const auto known = task_.dim_names();
      return s.at(key, usage_error(fmt::format(
                           "expression '{}': found the name '{}', expected a dim{} of [dims]{}",
                           parsed->text(), name, did_you_mean(name, known),
                           known.empty() ? ", which has none"
                                         : fmt::format(": {}", fmt::join(known, ", ")))));
    }
  return parsed;
}

Status Reader::read_tensor(Section& s, const char* kind, Tensor& tensor) {
  HONE_TRY(tensor.name, read_name(s, kind));
  HONE_TRY(const std::string dtype, s.text("dtype", "a dtype such as 'f32'"));
  auto known = dtype_from(dtype);
  if (!known.ok()) return s.at("dtype", known.error());
  tensor.dtype = *known;
  const toml::node* shape = s.find("shape");
  if (!shape || !shape->is_array())
    return s.wrong("shape", "an array of dims and expressions, [] for one element");
  if (shape->as_array()->size() > 8)
    return s.at("shape", usage_error("found more than 8 extents, expected at most 8"));
  for (const toml::node& extent : *shape->as_array()) {
    HONE_TRY(Expression expression, read_expression(s, "shape", extent));
    tensor.shape.push_back(std::move(expression));
  }
  if (s.find("align")) {
    HONE_TRY(tensor.align, s.integer("align", 1, 4096));
    const auto align = static_cast<std::uint64_t>(tensor.align);
    if ((align & (align - 1)) != 0 || align < size_of(tensor.dtype))
      return s.wrong("align", fmt::format("a power of two from {} (the size of an element) to 4096",
                                          size_of(tensor.dtype)));
  }
  return {};
}

struct KindRow {
  Values::Kind kind;
  std::vector<std::string> keys;
  bool floating_only;
};
const std::vector<KindRow>& kind_rows() {
  using Kind = Values::Kind;
  static const std::vector<KindRow> rows = {
      {Kind::normal, {"mean", "std"}, true},
      {Kind::uniform, {"low", "high"}, false},
      {Kind::integers, {"low", "high"}, false},
      {Kind::permutation, {}, false},
      {Kind::sorted, {"low", "high"}, false},
      {Kind::csr, {"group", "part", "columns", "mean", "std"}, false},
      {Kind::triangular, {"mean", "std", "upper"}, true},
      {Kind::symmetric, {"mean", "std"}, true},
      {Kind::positive_definite, {"std"}, true},
      {Kind::constant, {"value"}, false},
      {Kind::specials, {"mean", "std"}, true},
      {Kind::heavy_tailed, {"mean", "std"}, true},
      {Kind::file, {"file", "shuffle"}, false},
  };
  return rows;
}

Status Reader::read_values(Section& s, Tensor& tensor) {
  const toml::node* node = s.find("values");
  if (!node) {
    if (is_floating(tensor.dtype)) return {};  // standard normal
    return s.wrong("values",
                   "how an input of an integer dtype is drawn, such as { kind = \"integers\", low "
                   "= 0, high = 9 }");
  }
  if (!node->is_table()) return s.wrong("values", "a table such as { kind = \"normal\" }");
  const Section v(file_, s.title() + ", values", *node->as_table(), line_of(*node));
  return read_values_table(v, tensor);
}

Status Reader::read_values_table(const Section& v, Tensor& tensor) {
  Values& values = tensor.values;
  const bool only_file = !v.find("kind") && v.find("file");
  HONE_TRY(const std::string kind,
           only_file ? Result<std::string>("file") : v.text("kind", "a kind of values"));
  const auto names = kind_names();
  const auto place = std::find(names.begin(), names.end(), kind);
  if (place == names.end())
    return v.wrong("kind",
                   fmt::format("one of {}{}", fmt::join(names, ", "), did_you_mean(kind, names)));
  values.kind = static_cast<Values::Kind>(place - names.begin());
  const KindRow& row = kind_rows()[static_cast<std::size_t>(values.kind)];
  std::vector<std::string> keys = row.keys;
  keys.insert(keys.begin(), "kind");
  HONE_CHECK(v.only(keys));
  if (row.floating_only && !is_floating(tensor.dtype))
    return v.wrong(
        "kind",
        fmt::format(
            "a kind for integers, for the dtype is {}: integers, uniform, permutation, sorted, "
            "constant, csr or file",
            name_of(tensor.dtype)));
  const std::pair<const char*, double*> numbers[] = {{"mean", &values.mean},
                                                     {"std", &values.std},
                                                     {"low", &values.low},
                                                     {"high", &values.high},
                                                     {"value", &values.value}};
  for (const auto& [key, target] : numbers)
    if (v.find(key)) {
      HONE_TRY(*target, v.number(key));
    }
  if (values.std < 0) return v.wrong("std", "a number of at least 0");
  HONE_TRY(values.upper, v.flag_or("upper", false));
  HONE_TRY(values.shuffle, v.flag_or("shuffle", true));
  HONE_TRY(values.group, v.text_or("group", ""));
  HONE_TRY(values.part, v.text_or("part", ""));
  HONE_TRY(values.file, v.text_or("file", ""));
  switch (values.kind) {
    case Values::Kind::constant:
      if (!v.find("value")) return v.wrong("value", "a number");
      break;
    case Values::Kind::file:
      if (values.file.empty()) return v.wrong("file", "the name of a .npy file");
      if (const std::string fault = path_fault(values.file); !fault.empty())
        return v.wrong("file", fault, kPathCure);
      break;
    case Values::Kind::integers:
      if (!v.find("low") || !v.find("high"))
        return v.wrong(v.find("low") ? "high" : "low", "a whole number");
      [[fallthrough]];
    case Values::Kind::uniform:
    case Values::Kind::sorted: {
      if (values.high < values.low)
        return v.wrong("high", fmt::format("at least low, which is {}", values.low));
      if (values.kind == Values::Kind::integers || !is_floating(tensor.dtype)) {
        if (tensor.dtype != DType::boolean && (!v.find("low") || !v.find("high")))
          return v.wrong(v.find("low") ? "high" : "low", "a whole number");
        for (const char* key : {"low", "high"}) {
          const double x = key[0] == 'l' ? values.low : values.high;
          if (x != std::floor(x) || std::abs(x) > 0x1p53)
            return v.wrong(key, "a whole number of at most 2^53");
        }
      }
      break;
    }
    case Values::Kind::csr: {
      if (!is_identifier(values.group)) return v.wrong("group", "the group's name, an identifier");
      HONE_TRY(values.part, v.choice("part", {"rowptr", "col", "val"}));
      if ((values.part == "val") != is_floating(tensor.dtype))
        return v.wrong("part", values.part == "val" ? "a floating dtype for part val"
                                                    : "an integer dtype for rowptr and col");
      const toml::node* columns = v.find("columns");
      if ((values.part == "col") != (columns != nullptr))
        return v.wrong("columns", values.part == "col"
                                      ? "the number of columns, a dim or an expression"
                                      : "it at part col only");
      if (columns) {
        HONE_TRY(values.columns, read_expression(v, "columns", *columns));
      }
      break;
    }
    default:
      break;
  }
  return {};
}

Status Reader::read_input(Section& s) {
  HONE_CHECK(s.only({"name", "dtype", "shape", "values", "align", "static", "vary", "specials"}));
  Tensor tensor;
  HONE_CHECK(read_tensor(s, "input", tensor));
  HONE_TRY(tensor.is_static, s.flag_or("static", false));
  HONE_TRY(tensor.vary, s.flag_or("vary", true));
  HONE_TRY(tensor.specials, s.flag_or("specials", false));
  if (tensor.specials && !is_floating(tensor.dtype))
    return s.wrong("specials",
                   fmt::format("false, for {} has no NaN or infinity", name_of(tensor.dtype)));
  if (tensor.dtype == DType::boolean) tensor.values.kind = Values::Kind::integers;  // 0..1
  if (tensor.dtype != DType::boolean || s.find("values")) HONE_CHECK(read_values(s, tensor));
  task_.inputs.push_back(std::move(tensor));
  return {};
}

Status Reader::read_scalar(Section& s) {
  HONE_CHECK(s.only({"name", "dtype", "value", "values"}));
  Scalar scalar;
  HONE_TRY(scalar.name, read_name(s, "scalar"));
  HONE_TRY(const std::string dtype, s.text("dtype", "a dtype such as 'f32'"));
  auto known = dtype_from(dtype);
  if (!known.ok()) return s.at("dtype", known.error());
  scalar.dtype = *known;
  const toml::node* values = s.find("values");
  if (!values && !s.find("value"))
    return s.wrong("value", "a number, or values = { kind = \"uniform\", low, high }");
  if (values) {
    if (!values->is_table())
      return s.wrong("values", "a table such as { kind = \"uniform\", low = 0, high = 1 }");
    const Section v(file_, s.title() + ", values", *values->as_table(), line_of(*values));
    HONE_CHECK(v.only({"kind", "low", "high"}));
    HONE_TRY(const std::string kind, v.choice("kind", {"uniform", "integers"}));
    HONE_TRY(scalar.low, v.number("low"));
    HONE_TRY(scalar.high, v.number("high"));
    if (scalar.high < scalar.low)
      return v.wrong("high", fmt::format("at least low, which is {}", scalar.low));
    scalar.integers = kind == "integers" || !is_floating(scalar.dtype);
    if (scalar.integers &&
        (scalar.low != std::floor(scalar.low) || scalar.high != std::floor(scalar.high) ||
         std::max(std::abs(scalar.low), std::abs(scalar.high)) > 0x1p53))
      return v.wrong(scalar.low != std::floor(scalar.low) ? "low" : "high",
                     "a whole number of at most 2^53");
    scalar.fixed = false;
    // The middle stands for the scalar where nothing is redrawn.
    scalar.value = scalar.low + 0.5 * (scalar.high - scalar.low);
    if (scalar.integers) scalar.value = std::floor(scalar.value);
  }
  if (s.find("value")) {
    HONE_TRY(scalar.value, s.number("value"));
    if (!is_floating(scalar.dtype) && scalar.value != std::floor(scalar.value))
      return s.wrong("value",
                     fmt::format("a whole number, for the dtype is {}", name_of(scalar.dtype)));
  }
  task_.scalars.push_back(std::move(scalar));
  return {};
}

Status Reader::read_output(Section& s) {
  HONE_CHECK(s.only({"name", "dtype", "shape", "align", "inout", "select"}));
  Tensor tensor;
  tensor.role = Role::output;
  HONE_CHECK(read_tensor(s, "output", tensor));
  HONE_TRY(tensor.inout, s.text_or("inout", "", "the name of an input"));
  if (const toml::node* select = s.find("select")) {
    if (select->is_boolean()) {
      tensor.select = select->as_boolean()->get();
      if (tensor.select) tensor.selects = tensor.name + "_value";
    } else if (select->is_string() && name_fault(select->as_string()->get()).empty()) {
      tensor.select = true;
      tensor.selects = select->as_string()->get();
    } else {
      return s.wrong("select",
                     "true or false without quotation marks, or the name of a function in the reference");
    }
  }
  task_.outputs.push_back(std::move(tensor));
  return {};
}

Status Reader::read_reference(Section& s) {
  HONE_CHECK(s.only({"source", "torch"}));
  if (s.find("torch")) {
    HONE_TRY(task_.reference_torch, s.text("torch", "'file.py:Class'"));
    const auto colon = task_.reference_torch.rfind(':');
    if (colon == std::string::npos || colon == 0 ||
        !is_identifier(task_.reference_torch.substr(colon + 1)))
      return s.wrong("torch", "'file.py:Class'");
    if (const std::string fault = path_fault(task_.reference_torch.substr(0, colon)); !fault.empty())
      return s.wrong("torch", fault, kPathCure);
    if (s.find("source")) return s.wrong("source", "either source or torch");
    return {};
  }
  const toml::node* source = s.find("source");
  if (!source || !source->is_table())
    return s.wrong("source", "a table such as { cpu = \"reference.cpp\" }");
  const Section lanes(file_, "[reference], source", *source->as_table(), line_of(*source));
  HONE_CHECK(lanes.only({"cpu", "cuda"}));
  for (auto&& [key, node] : lanes.table()) {
    const std::string lane(key.str());
    if (!node.is_string() || node.as_string()->get().empty())
      return lanes.wrong(lane.c_str(), "the name of a source file");
    if (const std::string fault = path_fault(node.as_string()->get()); !fault.empty())
      return lanes.wrong(lane.c_str(), fault, kPathCure);
    task_.reference[lane] = node.as_string()->get();
  }
  lines_.at["reference source"] = line_of(*source);
  if (task_.reference.empty()) return s.wrong("source", "at least one of cpu, cuda");
  return {};
}

Status Reader::read_baseline(Section& s) {
  HONE_CHECK(s.only({"use"}));
  HONE_TRY(task_.baseline, s.text("use", "reference, a file, torch.eager, torch.compile, …"));
  static const std::vector<std::string> kTorch = {"torch.eager", "torch.compile",
                                                  "torch.compile.max-autotune", "torch.best"};
  if (task_.baseline.rfind("torch", 0) == 0 &&
      std::find(kTorch.begin(), kTorch.end(), task_.baseline) == kTorch.end())
    return s.wrong("use", fmt::format("reference, a file, or one of {}{}", fmt::join(kTorch, ", "),
                                      did_you_mean(task_.baseline, kTorch)));
  if (task_.baseline.empty()) return s.wrong("use", "reference or a file");
  lines_.at["baseline use"] = s.line("use");
  // A PyTorch module is what these time, so without one they mean nothing.
  if (task_.baseline.rfind("torch", 0) == 0) {
    if (task_.reference_torch.empty())
      return s.wrong("use",
                     "\"reference\" or the name of a source file, the baselines of the lanes cpu and cuda",
                     "Torch baselines time a PyTorch module, in the lane host: [reference] torch = "
                     "\"model.py:Model\"");
    return {};
  }
  if (const std::string fault = path_fault(task_.baseline); !fault.empty())
    return s.wrong("use", fault, kPathCure);
  return {};
}

Status Reader::read_work(Section& s) {
  HONE_CHECK(s.only({"bytes", "flops", "min_flops"}));
  const std::pair<const char*, std::string*> keys[] = {{"bytes", &task_.work.bytes},
                                                       {"flops", &task_.work.flops},
                                                       {"min_flops", &task_.work.min_flops}};
  for (const auto& [key, target] : keys) {
    const toml::node* node = s.find(key);
    if (!node) continue;
    lines_.at[std::string("work ") + key] = s.line(key);
    if (target == &task_.work.bytes && node->is_string() &&
        (node->as_string()->get() == "auto" || node->as_string()->get() == "traced")) {
      *target = node->as_string()->get();
      continue;
    }
    const std::string word = node->is_string() ? node->as_string()->get() : "";
    if (target == &task_.work.bytes && is_identifier(word) && !task_.dims.count(word)) {
      std::vector<std::string> known = task_.dim_names();
      known.insert(known.begin(), {"auto", "traced"});
      return s.wrong(key, fmt::format("auto, traced or an expression over the dims{}",
                                      did_you_mean(word, known)));
    }
    HONE_TRY(const Expression expression, read_expression(s, key, *node));
    *target = expression.text();
  }
  return {};
}

Status Reader::read_limits(Section& s) {
  HONE_CHECK(s.only({"threads", "memory_gb", "gpu_gb", "scratch_bytes", "call_s"}));
  Limits& limits = task_.limits;
  if (s.find("threads")) {
    HONE_TRY(const std::int64_t threads, s.integer("threads", 1, 1024));
    limits.threads = static_cast<int>(threads);
  }
  if (s.find("scratch_bytes")) {
    HONE_TRY(limits.scratch_bytes, s.integer("scratch_bytes", 0, std::int64_t{1} << 40));
  }
  HONE_TRY(limits.memory_gb, s.number_or("memory_gb", limits.memory_gb, kLeastMemory_gb,
                                         kMostMemory_gb, "a number of GiB"));
  HONE_TRY(limits.gpu_gb, s.number_or("gpu_gb", limits.gpu_gb, kLeastMemory_gb, kMostMemory_gb,
                                      "a number of GiB"));
  HONE_TRY(limits.call_s,
           s.number_or("call_s", limits.call_s, kLeastCall_s, kMostCall_s, "a number of seconds"));
  return {};
}

Status Reader::read_case(Section& s) {
  Case one;
  std::vector<std::string> known = task_.dim_names();
  known.emplace_back("time");
  s.set_title(fmt::format("[[case]] {}", task_.cases.size() + 1));
  lines_.at[fmt::format("case {}", task_.cases.size())] = s.line();
  HONE_CHECK(s.only(known));
  HONE_TRY(one.time, s.flag_or("time", true));
  for (const std::string& name : task_.dim_names()) {
    HONE_TRY(one.dims[name], s.integer(name.c_str(), 0, INT64_MAX));
    one.label += fmt::format("{}{}={}", one.label.empty() ? "" : " ", name, one.dims[name]);
  }
  task_.cases.push_back(std::move(one));
  return {};
}

Status Reader::read_hidden(Section& s) {
  std::vector<std::string> known = task_.dim_names();
  known.emplace_back("draws");
  HONE_CHECK(s.only(known));
  HONE_TRY(const std::int64_t draws,
           s.find("draws") ? s.integer("draws", 0, 64) : Result<std::int64_t>(3));
  task_.hidden.draws = static_cast<int>(draws);
  for (const std::string& name : task_.dim_names()) {
    const toml::node* node = s.find(name.c_str());
    if (!node) continue;
    const toml::array* pair = node->as_array();
    const char* expected = "a range [low, high] with 0 <= low <= high";
    if (!pair || pair->size() != 2 || !pair->get(0)->is_integer() || !pair->get(1)->is_integer())
      return s.wrong(name.c_str(), expected);
    const std::int64_t low = pair->get(0)->as_integer()->get(),
                       high = pair->get(1)->as_integer()->get();
    if (low < 0 || high < low)
      return s.at(name.c_str(),
                  usage_error(fmt::format("found [{}, {}], expected {}", low, high, expected)));
    task_.hidden.ranges[name] = {low, high};
    lines_.at["hidden " + name] = s.line(name.c_str());
  }
  if (task_.hidden.draws > 0 && task_.hidden.ranges.empty())
    return task_error(file_, s.line(),
                      "[hidden]: no dim has a range, expected at least one such as N = [1, 4096]");
  return {};
}

// Names of the files that decide a verdict, in a fixed order.
std::vector<std::string> files_of(const Task& task) {
  std::vector<std::string> out;
  for (const auto& [lane, file] : task.reference) out.push_back(file);
  if (!task.reference_torch.empty())
    out.push_back(task.reference_torch.substr(0, task.reference_torch.rfind(':')));
  if (task.baseline != "reference" && task.baseline.rfind("torch.", 0) != 0)
    out.push_back(task.baseline);
  for (const Tensor& input : task.inputs)
    if (input.values.kind == Values::Kind::file) out.push_back(input.values.file);
  return out;
}

Result<std::string> digest(const Task& task, bool with_files) {
  std::string all = identity_hash(task.text);
  for (const std::string& file : files_of(task)) {
    all += "\n" + file + " ";
    if (!with_files) continue;
    HONE_TRY(const std::string bytes, read_file(task.folder / file));
    all += identity_hash(bytes);
  }
  return identity_hash(all);
}

// The first line whose text up to there makes the parser break an assertion.
int line_of_fault(std::string_view text) {
  std::vector<std::size_t> ends;
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
    ends.push_back(at);
  const auto breaks = [&](std::size_t end) {
    try {
      (void)toml::parse(text.substr(0, end));
    } catch (const TomlFault&) {
      return true;
    } catch (const std::exception&) {
    }
    return false;
  };
  const auto first =
      std::partition_point(ends.begin(), ends.end(), [&](std::size_t end) { return !breaks(end); });
  return static_cast<int>(first - ends.begin()) + 1;
}

Result<toml::table> parse_toml(std::string_view text, const fs::path& file) {
  const AsciiToml ascii = to_ascii(text);
  if (ascii.bad_line > 0)
    return task_error(
        file, ascii.bad_line,
        "not TOML: found a character beyond ASCII, expected such in strings and comments only");
  try {
    return toml::parse(ascii.text);
  } catch (const toml::parse_error& error) {
    const auto line = static_cast<int>(error.source().begin.line);
    return task_error(file, std::max(1, line), "not TOML: " + scrub(error.description(), 300));
  } catch (const std::exception&) {
    return task_error(file, line_of_fault(ascii.text),
                      "not TOML: found what no key or value can begin with");
  }
}

}  // namespace

Result<Task> parse_task(std::string_view text, const fs::path& file, bool check_files_exist) {
  if (text.size() > kMaxBytes)
    return task_error(
        file, 1, fmt::format("the file has {} bytes, expected at most {}", text.size(), kMaxBytes));
  HONE_TRY(const toml::table root, parse_toml(text, file));
  Reader reader(file, root);
  HONE_TRY(Task task, reader.read());
  task.text = std::string(text);
  if (task.lanes.empty()) {
    for (const auto& [lane, source] : task.reference) task.lanes.push_back(lane);
    if (!task.reference_torch.empty()) task.lanes.emplace_back("host");
  }
  HONE_CHECK(check_task(task, reader.lines()));
  if (check_files_exist) HONE_CHECK(check_files(task, reader.lines()));
  HONE_TRY(task.identity_value, digest(task, check_files_exist));
  return task;
}

Result<Task> read_task(const fs::path& path) {
  constexpr const char* kWhatATaskIs = "Give a task.toml or the folder that holds one; hone init makes one";
  std::error_code error;
  fs::path file = path;
  if (fs::is_directory(path, error)) {
    file = path / "task.toml";
    if (!fs::exists(file, error))
      return usage_error(fmt::format("{} holds no task.toml", path.string()),
                         kWhatATaskIs);
  }
  auto text = read_file(file, kMaxBytes);
  if (!text.ok()) {
    Error why = std::move(text).error();
    if (why.cure.empty()) why.cure = kWhatATaskIs;
    return why;
  }
  return parse_task(*text, file);
}

}  // namespace hone::task
