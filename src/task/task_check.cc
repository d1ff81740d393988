#include "task/task_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "task/draw.h"
#include "task/task_file.h"

namespace hone::task {
namespace {

std::string bare(const Expression& expression) {
  std::string out;
  for (const char c : expression.text())
    if (c != ' ' && c != '\t') out += c;
  return out;
}
std::string shape_text(const Tensor& tensor) {
  std::string out = "[";
  for (const Expression& extent : tensor.shape) out += (out.size() > 1 ? ", " : "") + extent.text();
  return out + "]";
}

/// Whether the dtype holds both ends of a range, and floats also its width.
bool holds(DType dtype, double low, double high) {
  const double top = max_finite(dtype);
  if (is_floating(dtype)) return low >= -top && high <= top && std::isfinite(high - low);
  const bool is_unsigned = dtype == DType::u64 || dtype == DType::u32 || dtype == DType::u16 ||
                           dtype == DType::u8 || dtype == DType::boolean;
  const double bottom = is_unsigned ? 0 : -top - (top < 0x1p60 ? 1 : 0);
  return low >= bottom && high <= top;
}

const Tensor* part_of(const Task& task, const std::string& group, std::string_view part) {
  for (const Tensor& input : task.inputs)
    if (input.values.kind == Values::Kind::csr && input.values.group == group &&
        input.values.part == part)
      return &input;
  return nullptr;
}

class Checker {
 public:
  Checker(const Task& task, const Lines& lines) : task_(task), lines_(lines) {}

  Status all() {
    HONE_CHECK(names());
    HONE_CHECK(lanes());
    for (const Tensor& input : task_.inputs) HONE_CHECK(values(input));
    for (const Scalar& scalar : task_.scalars) HONE_CHECK(scalar_values(scalar));
    HONE_CHECK(groups());
    for (const Tensor& output : task_.outputs) HONE_CHECK(output_links(output));
    if (task_.reference_torch.empty() || !task_.outputs.empty()) HONE_CHECK(presence());
    HONE_CHECK(distinct_cases());
    for (std::size_t i = 0; i < task_.cases.size(); ++i) HONE_CHECK(one_case(i));
    HONE_CHECK(work());
    return hidden();
  }

 private:
  Error wrong(const std::string& key, std::string message, std::string cure = "") const {
    return task_error(task_.file, lines_.of(key), std::move(message), std::move(cure));
  }

  Status names() const {
    std::map<std::string, std::string> seen;  // name → the place that bears it
    const auto add = [&](const std::string& name, const char* kind) -> Status {
      const std::string place = std::string(kind) + " " + name;
      const auto [old, fresh] = seen.emplace(name, place);
      if (fresh) return {};
      return wrong(
          place,
          fmt::format(
              "the name '{}' is used twice: by {} (line {}) and by {}, expected each name once",
              name, old->second, lines_.of(old->second), place));
    };
    for (const auto& [name, about] : task_.dims) HONE_CHECK(add(name, "dim"));
    for (const Tensor& input : task_.inputs) HONE_CHECK(add(input.name, "input"));
    for (const Scalar& scalar : task_.scalars) HONE_CHECK(add(scalar.name, "scalar"));
    for (const Tensor& output : task_.outputs) HONE_CHECK(add(output.name, "output"));
    return {};
  }

  Status lanes() const {
    for (const std::string& lane : task_.lanes) {
      if (lane == "host" ? !task_.reference_torch.empty() : task_.reference.count(lane) > 0)
        continue;
      return wrong(
          "task lanes",
          fmt::format("[task], key 'lanes': lane '{}' has no reference, expected {} in [reference]",
                      lane, lane == "host" ? "torch = \"file.py:Class\"" : "source." + lane));
    }
    if (task_.precision == Precision::integer)
      for (const Tensor& output : task_.outputs)
        if (is_floating(output.dtype))
          return wrong("output " + output.name + " dtype",
                       fmt::format("[[output]] '{}', key 'dtype': found {}, expected an integer "
                                   "dtype, for the precision is int",
                                   output.name, name_of(output.dtype)),
                       "Give [task] precision the arithmetic of the floating outputs");
    return {};
  }

  Status values(const Tensor& input) const {
    using Kind = Values::Kind;
    const Values& v = input.values;
    const std::size_t rank = input.shape.size();
    const auto fault = [&](std::string_view found, std::string_view expected) {
      return wrong("input " + input.name + " values",
                   fmt::format("[[input]] '{}', values: found {}, expected {}", input.name, found,
                               expected));
    };
    const bool square = v.kind == Kind::symmetric || v.kind == Kind::positive_definite;
    if ((square || v.kind == Kind::triangular) && rank < 2)
      return fault(fmt::format("kind {} with shape {}", name_of(v.kind), shape_text(input)),
                   "at least two axes");
    if (square && bare(input.shape[rank - 1]) != bare(input.shape[rank - 2]))
      return fault(fmt::format("kind {} with shape {}", name_of(v.kind), shape_text(input)),
                   "equal last two axes");
    if ((v.kind == Kind::permutation || v.kind == Kind::sorted) && rank < 1)
      return fault(fmt::format("kind {} with shape []", name_of(v.kind)), "at least one axis");
    const bool ranged =
        v.kind == Kind::integers || v.kind == Kind::uniform || v.kind == Kind::sorted;
    if (ranged || v.kind == Kind::constant) {
      const double low = ranged ? v.low : v.value, high = ranged ? v.high : v.value;
      if (!holds(input.dtype, low, high))
        return fault(fmt::format("values from {} to {}", low, high),
                     fmt::format("what {} can hold", name_of(input.dtype)));
    } else if (is_floating(input.dtype) && v.kind != Kind::file) {
      // Beyond six standard deviations lies one value in 500 million.
      const double far = std::abs(v.mean) + 6 * v.std;
      if (!holds(input.dtype, -far, far))
        return fault(fmt::format("mean = {} and std = {}", v.mean, v.std),
                     fmt::format("|mean| + 6 std within what {} can hold, {:g}",
                                 name_of(input.dtype), max_finite(input.dtype)));
    }
    if (!is_floating(input.dtype) && v.kind == Kind::constant && v.value != std::floor(v.value))
      return fault(fmt::format("{}", v.value),
                   fmt::format("a whole number, for the dtype is {}", name_of(input.dtype)));
    return {};
  }

  Status scalar_values(const Scalar& scalar) const {
    const double low = scalar.fixed ? scalar.value : std::min(scalar.low, scalar.value);
    const double high = scalar.fixed ? scalar.value : std::max(scalar.high, scalar.value);
    if (holds(scalar.dtype, low, high)) return {};
    return wrong("scalar " + scalar.name,
                 fmt::format("[[scalar]] '{}': found {}, expected what {} can hold", scalar.name,
                             low == high ? fmt::format("{}", low)
                                         : fmt::format("values from {} to {}", low, high),
                             name_of(scalar.dtype)));
  }

  Status groups() const {
    std::set<std::string> done;
    const auto fault_at = [&](const Tensor& input, std::string_view found,
                              std::string_view expected) {
      return wrong("input " + input.name + " values",
                   fmt::format("[[input]] '{}', csr group '{}': found {}, expected {}", input.name,
                               input.values.group, found, expected));
    };
    for (const Tensor& input : task_.inputs) {
      if (input.values.kind != Values::Kind::csr) continue;
      const std::string& group = input.values.group;
      if (part_of(task_, group, input.values.part) != &input)
        return fault_at(input, fmt::format("a second part {}", input.values.part),
                        "each part once");
      if (input.shape.size() != 1)
        return fault_at(input, fmt::format("shape {}", shape_text(input)), "one axis");
      const bool is_rowptr = input.values.part == "rowptr";
      if (!is_rowptr && !task_.dims.count(bare(input.shape[0])))
        return fault_at(input, fmt::format("shape {}", shape_text(input)),
                        "the number of stored values, which must be a dim");
    }
    for (const Tensor& input : task_.inputs) {
      if (input.values.kind != Values::Kind::csr || !done.insert(input.values.group).second)
        continue;
      const std::string& group = input.values.group;
      for (const char* part : {"rowptr", "col", "val"})
        if (!part_of(task_, group, part))
          return fault_at(input, fmt::format("no part {}", part), "the parts rowptr, col and val");
      const Tensor& col = *part_of(task_, group, "col");
      const Tensor& val = *part_of(task_, group, "val");
      if (bare(col.shape.at(0)) != bare(val.shape.at(0)))
        return fault_at(
            input,
            fmt::format("col of shape {} and val of shape {}", shape_text(col), shape_text(val)),
            "equal shapes");
    }
    return {};
  }

  Status output_links(const Tensor& output) const {
    const auto fault = [&](const char* key, std::string_view found, std::string_view expected) {
      return wrong(fmt::format("output {} {}", output.name, key),
                   fmt::format("[[output]] '{}', key '{}': found {}, expected {}", output.name, key,
                               found, expected));
    };
    if (output.select && is_floating(output.dtype))
      return fault("select", fmt::format("it on an output of {}", name_of(output.dtype)),
                   "an integer dtype, for it is an index");
    if (output.inout.empty()) return {};
    const auto input = std::find_if(task_.inputs.begin(), task_.inputs.end(),
                                    [&](const Tensor& t) { return t.name == output.inout; });
    if (input == task_.inputs.end()) {
      std::vector<std::string> known;
      for (const Tensor& t : task_.inputs) known.push_back(t.name);
      return fault("inout", fmt::format("'{}'", output.inout),
                   fmt::format("the name of an input{}", did_you_mean(output.inout, known)));
    }
    if (input->dtype != output.dtype)
      return fault("inout",
                   fmt::format("dtype {} beside {} of the input", name_of(output.dtype),
                               name_of(input->dtype)),
                   "equal dtypes");
    const bool same = std::equal(
        input->shape.begin(), input->shape.end(), output.shape.begin(), output.shape.end(),
        [](const Expression& a, const Expression& b) { return bare(a) == bare(b); });
    if (!same)
      return fault(
          "inout",
          fmt::format("shape {} beside {} of the input", shape_text(output), shape_text(*input)),
          "equal shapes");
    if (input->is_static)
      return fault("inout", fmt::format("'{}', which is static", output.inout),
                   "an input that may change");
    for (const Tensor& other : task_.outputs)
      if (&other != &output && other.inout == output.inout)
        return fault("inout",
                     fmt::format("'{}', which '{}' overwrites too", output.inout, other.name),
                     "each input overwritten once");
    return {};
  }

  Status presence() const {
    if (task_.outputs.empty())
      return wrong("task", "the task has no [[output]], expected at least one");
    if (std::none_of(task_.cases.begin(), task_.cases.end(), [](const Case& c) { return c.time; }))
      return wrong(
          task_.cases.empty() ? "task" : "case 0",
          fmt::format("the task has {} [[case]], none of them timed, expected at least one timed",
                      task_.cases.size()));
    return {};
  }

  // A case that is there twice costs its time twice and weighs twice in the mean speed-up.
  Status distinct_cases() const {
    std::map<Dims, std::size_t> seen;
    for (std::size_t i = 0; i < task_.cases.size(); ++i) {
      const auto [first, fresh] = seen.emplace(task_.cases[i].dims, i);
      if (fresh) continue;
      const std::string other = fmt::format("case {}", first->second);
      const std::string label = task_.cases[i].label;
      return wrong(fmt::format("case {}", i),
                   fmt::format("[[case]] {}{} is the same as [[case]] {} (line {}), expected each once",
                               i + 1, label.empty() ? "" : " (" + label + ")", first->second + 1,
                               lines_.of(other)),
                   "Remove one of them; a timed case is checked as well");
    }
    return {};
  }

  Status one_case(std::size_t index) const {
    const Case& one = task_.cases[index];
    const std::string place = fmt::format("case {}", index);
    const auto place_it = [&](const Error& error) {
      return wrong(place, fmt::format("[[case]] {}: {}", index + 1, error.message), error.cure);
    };
    const auto total = total_bytes(task_, one.dims);
    if (!total.ok()) return place_it(total.error());
    if (6.0 * static_cast<double>(*total) > task_.limits.memory_gb * 0x1p30)
      return wrong(
          place,
          fmt::format("[[case]] {} ({}): six times its tensors are {}, expected at most [limits] "
                      "memory_gb = {}",
                      index + 1, one.label, format_bytes(6.0 * static_cast<double>(*total)),
                      task_.limits.memory_gb),
          "Raise memory_gb or make the case smaller");
    for (const Tensor& input : task_.inputs) {
      if (input.values.kind == Values::Kind::csr && input.values.part == "rowptr") {
        const auto size = csr_size(task_, input.values.group, one.dims);
        if (!size.ok()) return place_it(size.error());
      }
      if (const Status fits = indices_fit(task_, input, one.dims); !fits.ok())
        return wrong(place, fmt::format("[[case]] {} ({}): {}", index + 1, one.label,
                                        fits.error().message));
    }
    return {};
  }

  // Asked here, not when the first verification draws: by then minutes of building have passed.
  Status hidden() const {
    if (task_.hidden.draws == 0) return {};
    constexpr std::uint64_t kAnySeed = 1;
    const auto drawn = draw_hidden_cases(task_, kAnySeed, kMostHiddenBytes);
    if (drawn.ok()) return {};
    return wrong("hidden", "[hidden]: " + drawn.error().message, drawn.error().cure);
  }

  Status work() const {
    const std::pair<const char*, const std::string*> keys[] = {
        {"bytes", &task_.work.bytes},
        {"flops", &task_.work.flops},
        {"min_flops", &task_.work.min_flops}};
    for (const auto& [key, text] : keys) {
      if (text->empty() || *text == "auto" || *text == "traced") continue;
      HONE_TRY(const Expression expression, Expression::parse(*text));
      for (const Case& one : task_.cases) {
        if (!one.time) continue;
        const auto value = expression.evaluate_real(one.dims);
        const std::string found =
            !value.ok() ? value.error().message : fmt::format("{} at {}", *value, one.label);
        if (!value.ok() || !(*value >= 0) || !std::isfinite(*value))
          return wrong(std::string("work ") + key,
                       fmt::format("[work], key '{}': found {}, expected a number of at least 0",
                                   key, found));
      }
    }
    return {};
  }

  const Task& task_;
  const Lines& lines_;
};

Error file_fault(const Task& task, const Lines& lines, const std::string& key,
                 const std::string& what, const std::string& file,
                 std::vector<std::string> beside = {}) {
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(task.folder.empty() ? "." : task.folder, error))
    beside.push_back(entry.path().filename().string());
  return task_error(
      task.file, lines.of(key),
      fmt::format("{}: found '{}', expected a file in {}{}", what, scrub(file, 200),
                  task.folder.empty() ? "." : task.folder.string(), did_you_mean(file, beside)));
}

bool is_file(const Task& task, const std::string& name) {
  std::error_code error;
  return std::filesystem::is_regular_file(task.folder / name, error);
}

// A file serves a case when its rows are enough and all other extents are equal.
Status check_npy(const Task& task, const Lines& lines, const Tensor& input) {
  const std::string key = "input " + input.name + " values";
  const std::string what = fmt::format("[[input]] '{}', values", input.name);
  if (!is_file(task, input.values.file))
    return file_fault(task, lines, key, what + ", key 'file'", input.values.file);
  const auto npy = read_npy(task.folder / input.values.file);
  if (!npy.ok())
    return task_error(task.file, lines.of(key), what + ": " + npy.error().message,
                      npy.error().cure);
  if (is_floating(npy->dtype) && !is_floating(input.dtype))
    return task_error(task.file, lines.of(key),
                      fmt::format("{}: found a file of {}, expected integers, for the dtype is {}",
                                  what, name_of(npy->dtype), name_of(input.dtype)));
  std::vector<std::pair<std::string, Dims>> all;
  for (std::size_t i = 0; i < task.cases.size(); ++i)
    all.emplace_back(fmt::format("[[case]] {}", i + 1), task.cases[i].dims);
  if (task.hidden.draws > 0 && !task.cases.empty())
    for (const bool upper : {false, true}) {
      Dims dims = task.cases[0].dims;
      for (const auto& [name, range] : task.hidden.ranges)
        dims[name] = upper ? range.second : range.first;
      all.emplace_back(upper ? "[hidden] at its largest" : "[hidden] at its smallest",
                       std::move(dims));
    }
  for (const auto& [label, dims] : all) {
    const auto shape = shape_of(input, dims);
    if (!shape.ok()) continue;  // a hidden extreme that no draw will take
    const auto status = file_fits(input, *npy, *shape);
    if (!status.ok())
      return task_error(task.file, lines.of(key),
                        fmt::format("{}: {} ({})", what, status.error().message, label));
  }
  return {};
}

}  // namespace

int Lines::of(std::string key) const {
  for (;;) {
    if (const auto found = at.find(key); found != at.end()) return std::max(1, found->second);
    const auto blank = key.rfind(' ');
    if (blank == std::string::npos) return 1;
    key.resize(blank);
  }
}

Error task_error(const std::filesystem::path& file, int line, std::string message,
                 std::string cure) {
  return usage_error(fmt::format("{}:{}: {}", file.string(), line, message), std::move(cure))
      .with("file", file.string())
      .with("line", std::to_string(line));
}

Status check_task(const Task& task, const Lines& lines) { return Checker(task, lines).all(); }

Status check_files(const Task& task, const Lines& lines) {
  for (const auto& [lane, file] : task.reference)
    if (!is_file(task, file))
      return file_fault(task, lines, "reference source",
                        fmt::format("[reference], key 'source.{}'", lane), file);
  if (!task.reference_torch.empty()) {
    const std::string file = task.reference_torch.substr(0, task.reference_torch.rfind(':'));
    if (!is_file(task, file))
      return file_fault(task, lines, "reference", "[reference], key 'torch'", file);
  }
  if (task.baseline != "reference" && task.baseline.rfind("torch.", 0) != 0 &&
      !is_file(task, task.baseline))
    return file_fault(task, lines, "baseline use", "[baseline], key 'use'", task.baseline,
                      {"reference"});
  for (const Tensor& input : task.inputs)
    if (input.values.kind == Values::Kind::file) HONE_CHECK(check_npy(task, lines, input));
  return {};
}

Status indices_fit(const Task& task, const Tensor& input, const Dims& dims) {
  if (is_floating(input.dtype)) return {};
  std::int64_t largest = 0;
  if (input.values.kind == Values::Kind::permutation) {
    HONE_TRY(const auto shape, shape_of(input, dims));
    largest = shape.back() - 1;
  } else if (input.values.kind == Values::Kind::csr) {
    const auto size = csr_size(task, input.values.group, dims);
    if (!size.ok()) return {};  // told at rowptr
    largest = input.values.part == "rowptr" ? size->stored : size->columns - 1;
  }
  if (static_cast<double>(largest) <= max_finite(input.dtype)) return {};
  return usage_error(fmt::format("input '{}' holds numbers up to {}, expected what {} can hold",
                                 input.name, largest, name_of(input.dtype)));
}

Result<CsrSize> csr_size(const Task& task, const std::string& group, const Dims& dims) {
  const Tensor* rowptr = part_of(task, group, "rowptr");
  const Tensor* col = part_of(task, group, "col");
  if (!rowptr || !col)
    return usage_error(
        fmt::format("csr group '{}' lacks a part, expected rowptr, col and val", group));
  CsrSize out;
  HONE_TRY(const std::int64_t ends, elements_of(*rowptr, dims));
  HONE_TRY(out.stored, elements_of(*col, dims));
  HONE_TRY(out.columns, col->values.columns.evaluate(dims));
  out.rows = ends - 1;
  if (out.rows < 0)
    return usage_error(
        fmt::format("csr group '{}': rowptr has {} elements, expected rows + 1", group, ends));
  if (out.columns < 0)
    return usage_error(
        fmt::format("csr group '{}': {} columns, expected at least 0", group, out.columns));
  std::int64_t room = 0;
  if (!__builtin_mul_overflow(out.rows, out.columns, &room) && out.stored > room)
    return usage_error(fmt::format(
        "csr group '{}': {} stored values, expected at most rows x columns = {} x {} = {}", group,
        out.stored, out.rows, out.columns, room));
  return out;
}

}  // namespace hone::task
