// What a signature and a body tell of a task: pointers are tensors, integers are dims, subscripts
// are shapes. Guesses are cheap to correct and dear to hide, so each is written beside what it
// decides.

#include "engine/init.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "candidate/candidate.h"
#include "code/signature.h"
#include "engine/init_reference.h"
#include "task/task_file.h"

namespace hone::engine {
namespace {

using code::Signature;
using code::SignatureParameter;
using task::DType;

struct TypeName {
  const char* type;
  DType dtype;
};
constexpr TypeName kTypes[] = {
    {"float", DType::f32},
    {"HONE_REAL", DType::f32},
    {"HONE_OUT", DType::f32},
    {"double", DType::f64},
    {"_Float16", DType::f16},
    {"hone_f16", DType::f16},
    {"__bf16", DType::bf16},
    {"hone_bf16", DType::bf16},
    {"int", DType::i32},
    {"int32_t", DType::i32},
    {"int64_t", DType::i64},
    {"long", DType::i64},
    {"long long", DType::i64},
    {"ptrdiff_t", DType::i64},
    {"ssize_t", DType::i64},
    {"size_t", DType::u64},
    {"uint64_t", DType::u64},
    {"unsigned long", DType::u64},
    {"unsigned long long", DType::u64},
    {"unsigned", DType::u32},
    {"uint32_t", DType::u32},
    {"short", DType::i16},
    {"int16_t", DType::i16},
    {"unsigned short", DType::u16},
    {"uint16_t", DType::u16},
    {"char", DType::i8},
    {"signed char", DType::i8},
    {"int8_t", DType::i8},
    {"unsigned char", DType::u8},
    {"uint8_t", DType::u8},
    {"bool", DType::boolean},
};

std::optional<DType> dtype_of(const std::string& type) {
  for (const auto& row : kTypes) {
    if (type == row.type) return row.dtype;
  }
  return std::nullopt;
}

bool counts(const SignatureParameter& p) {
  const auto dtype = dtype_of(p.type);
  return !p.pointer && dtype &&
         (*dtype == DType::i32 || *dtype == DType::i64 || *dtype == DType::u32 ||
          *dtype == DType::u64);
}

struct Draft {
  Signature signature;
  std::vector<std::string> dims;
  std::vector<InitTensor> tensors;  // in the order of the parameters
  std::vector<SignatureParameter> scalars;
  std::set<std::string> fixed_dims;  // ranges of indices: the same in every case
  bool openmp = false;
  std::vector<std::string> guesses;
};

Error refused(const fs::path& kernel, const Signature& signature, const std::string& why,
              std::string cure) {
  return usage_error(
      fmt::format("{}:{}: '{}' {}", kernel.string(), signature.line, signature.name, why),
      std::move(cure));
}

Result<Signature> choose(const fs::path& kernel, const std::string& source,
                         const InitOptions& options) {
  HONE_TRY(auto all, code::read_signatures(source, kernel.string()));
  std::string name = options.function;
  if (name.empty()) {
    std::vector<std::string> names;
    for (const bool extern_c : {true, false}) {
      for (const Signature& s : all) {
        if (s.extern_c == extern_c && !s.is_template &&
            (extern_c || (!s.is_static && s.scope.empty())))
          names.push_back(s.name);
      }
      if (!names.empty()) break;
    }
    if (names.empty()) {
      return usage_error(
          fmt::format("{}: found no function that could be the kernel", kernel.string()),
          "it needs one such as extern \"C\" void scale(const float* x, float* y, int n) { … }");
    }
    if (names.size() > 1) {
      return usage_error(fmt::format("{}: found {} functions: {}", kernel.string(), names.size(),
                                     fmt::join(names, ", ")),
                         fmt::format("say which is the kernel: --function {}", names[0]));
    }
    name = names[0];
  }
  auto signature = code::find_function(source, kernel.string(), name);
  if (!signature) {
    Error error = std::move(signature).error();
    if (error.message.find("is a template class") != std::string::npos) {
      error.cure = "pass its data and its size, v.data() and v.size(): const float* v, int n";
    }
    return error;
  }
  if (signature->return_type != "void") {
    return refused(kernel, *signature, fmt::format("returns '{}'", signature->return_type),
                   "return nothing and write the result through a pointer: float* result");
  }
  if (!signature->scope.empty()) {
    return refused(kernel, *signature, fmt::format("lies in the namespace {}", signature->scope),
                   "move it out, or add an extern \"C\" function that calls it");
  }
  return signature;
}

Status take_parameters(const fs::path& kernel, const BodyFacts& body, Draft& draft) {
  for (const SignatureParameter& p : draft.signature.parameters) {
    const auto dtype = dtype_of(p.type);
    if (!dtype) {
      return refused(kernel, draft.signature,
                     fmt::format("has the parameter '{}' of type '{}'", p.name, p.type),
                     "tensors are pointers to numbers (float, double, int, uint8_t, …), dims are "
                     "int or int64_t");
    }
    if (counts(p)) {
      draft.dims.push_back(p.name);
    } else if (!p.pointer) {
      draft.scalars.push_back(p);
    } else {
      InitTensor tensor{p.name, p.type,
                        *dtype, p.is_const ? InitTensor::Use::input : InitTensor::Use::output,
                        {},     ""};
      const auto use = body.uses.find(p.name);
      if (!p.is_const && use != body.uses.end()) {
        if (use->second.read_first) tensor.use = InitTensor::Use::inout;
        if (use->second.passed_on)
          tensor.doubt = "handed on as a pointer: is it only written?";
        else if (!use->second.read_first && use->second.read)
          tensor.doubt = "written, then read back: if old values matter, make it inout";
        else if (use->second.read_first)
          tensor.doubt =
              "read before it is written, so taken as in place; if not, drop the input and inout";
      }
      draft.tensors.push_back(std::move(tensor));
    }
  }
  if (std::none_of(draft.tensors.begin(), draft.tensors.end(),
                   [](const auto& t) { return t.use != InitTensor::Use::input; })) {
    return refused(kernel, draft.signature, "writes to no pointer",
                   "an output is a pointer that is not const: float* y");
  }
  return {};
}

void guess_shapes(const BodyFacts& body, Draft& draft) {
  std::set<std::string> used;
  for (InitTensor& tensor : draft.tensors) {
    const auto found = body.shapes.find(tensor.name);
    if (found == body.shapes.end()) continue;
    for (const std::string& extent : found->second) {
      if (std::find(draft.dims.begin(), draft.dims.end(), extent) == draft.dims.end()) break;
      tensor.shape.push_back(extent);
    }
    if (tensor.shape.size() != found->second.size()) tensor.shape.clear();
    used.insert(tensor.shape.begin(), tensor.shape.end());
  }
  for (InitTensor& tensor : draft.tensors) {
    if (!tensor.shape.empty()) continue;
    const bool gathered = body.gathered.contains(tensor.name);
    if (gathered) {
      // Indexed by data: the dim that no loop explains is its length, and indices must stay below
      // it.
      for (const std::string& dim : draft.dims) {
        if (!used.contains(dim)) tensor.shape = {dim};
      }
    }
    if (tensor.shape.empty()) tensor.shape = draft.dims;  // too large is safe, too small is not
    if (gathered && !tensor.shape.empty()) draft.fixed_dims.insert(tensor.shape.back());
  }
}

std::string toml_list(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", name);
  return "[" + text + "]";
}

std::string precision_of(const Draft& draft) {
  bool f64 = false, f32 = false, f16 = false, bf16 = false;
  for (const auto& tensor : draft.tensors) {
    f64 = f64 || tensor.dtype == DType::f64;
    f32 = f32 || tensor.dtype == DType::f32;
    f16 = f16 || tensor.dtype == DType::f16;
    bf16 = bf16 || tensor.dtype == DType::bf16;
  }
  return f32 ? "f32" : f64 ? "f64" : f16 ? "f16" : bf16 ? "bf16" : "int";
}

/// A tensor's lines; `name` may differ from the parameter's (the old values of an inout pair).
std::string tensor_text(Draft& draft, const InitTensor& tensor, const std::string& name,
                        bool input) {
  std::string text = fmt::format("[[{}]]\nname = \"{}\"\ndtype = \"{}\"\n",
                                 input ? "input" : "output", name, task::name_of(tensor.dtype));
  text += fmt::format("shape = {}  # check: guessed from {}\n", toml_list(tensor.shape),
                      draft.dims.size() > 1 ? "the subscripts and loops" : "the only dim");
  if (!input || tensor.use == InitTensor::Use::input)
    draft.guesses.push_back(fmt::format("shape of {}: {}", name, toml_list(tensor.shape)));
  if (input && task::is_floating(tensor.dtype)) {
    text +=
        "values = { kind = \"normal\", mean = 0.0, std = 1.0 }  # check: what real inputs look "
        "like\n";
  } else if (input && tensor.dtype != DType::boolean) {
    text +=
        "values = { kind = \"integers\", low = 0, high = 9 }  # check: indices must stay within "
        "what they index\n";
    draft.guesses.push_back(fmt::format("values of {}: whole numbers 0 to 9", name));
  }
  if (!input && tensor.use == InitTensor::Use::inout)
    text += fmt::format("inout = \"{}\"\n", tensor.name + "_old");
  if (!input && !tensor.doubt.empty()) {
    text += fmt::format("# check: {}\n", tensor.doubt);
    draft.guesses.push_back(fmt::format("{}: {}", name, tensor.doubt));
  }
  return text + "\n";
}

std::string case_text(const Draft& draft, const std::vector<std::int64_t>& values, bool time) {
  std::string text = "[[case]]\n";
  for (std::size_t i = 0; i < draft.dims.size(); ++i) {
    text += fmt::format("{} = {}\n", draft.dims[i],
                        draft.fixed_dims.contains(draft.dims[i]) ? 64 : values[i % values.size()]);
  }
  return text + (time ? "\n" : "time = false\n\n");
}

std::string task_text(Draft& draft, const std::string& name) {
  std::string text = fmt::format(
      "# Written by hone init from the signature of {}. Lines with \"check:\" are guesses.\n\n",
      draft.signature.name);
  text += fmt::format(
      "[task]\nname = \"{}\"\nabout = \"\"\nlanes = [\"cpu\"]\nprecision = \"{}\"\n\n[dims]\n",
      name, precision_of(draft));
  for (const auto& dim : draft.dims)
    text += fmt::format(
        "{} = \"\"  # check: a size; if it is a plain number, make it a [[scalar]]\n", dim);
  text += "\n";
  for (const auto& tensor : draft.tensors) {
    if (tensor.use == InitTensor::Use::input) text += tensor_text(draft, tensor, tensor.name, true);
    if (tensor.use == InitTensor::Use::inout)
      text += tensor_text(draft, tensor, tensor.name + "_old", true);
  }
  for (const auto& scalar : draft.scalars) {
    const DType dtype = *dtype_of(scalar.type);
    text += fmt::format(
        "[[scalar]]\nname = \"{}\"\ndtype = \"{}\"\nvalue = {}  # check: a usual value\n\n",
        scalar.name, task::name_of(dtype), task::is_floating(dtype) ? "1.5" : "1");
    draft.guesses.push_back(fmt::format("value of {}", scalar.name));
  }
  for (const auto& tensor : draft.tensors) {
    if (tensor.use != InitTensor::Use::input)
      text += tensor_text(draft, tensor, tensor.name, false);
  }
  text += fmt::format(
      "[reference]\nsource = {{ cpu = \"reference.cpp\" }}\n\n[limits]\nthreads = {}\n\n",
      draft.openmp ? 2 : 1);
  const std::int64_t timed = draft.dims.size() <= 1   ? 1 << 20
                             : draft.dims.size() == 2 ? 512
                             : draft.dims.size() == 3 ? 128
                                                      : 24;
  text += "# check: the sizes that matter to you, timed; edges, only checked.\n";
  text += case_text(draft, {timed}, true) + case_text(draft, {1}, false) +
          case_text(draft, {3, 17, 5}, false) + case_text(draft, {67, 31, 13}, false);
  if (!draft.dims.empty()) {
    text += "[hidden]\ndraws = 2\n";
    for (const auto& dim : draft.dims)
      text +=
          fmt::format("{} = {}\n", dim,
                      draft.fixed_dims.contains(dim) ? "[64, 64]" : fmt::format("[1, {}]", timed));
  }
  draft.guesses.push_back(fmt::format("sizes: {} in the timed case", timed));
  return text;
}

/// Everything must read and bind before anything is written.
Status check(const fs::path& folder, const std::string& task_toml, const std::string& reference,
             const std::string& kernel_text, const fs::path& kernel) {
  HONE_TRY(auto task, task::parse_task(task_toml, folder / "task.toml", false));
  const auto resolves = [&](const std::string& text, const std::string& path,
                            candidate::Build build) -> Status {
    HONE_TRY(auto parsed, candidate::parse(text, path));
    HONE_TRY(auto assignment, candidate::default_assignment(parsed, task));
    HONE_CHECK(candidate::resolve(parsed, assignment, task, build));
    return {};
  };
  for (const auto build :
       {candidate::Build::oracle, candidate::Build::rounded, candidate::Build::baseline}) {
    HONE_CHECK(resolves(reference, (folder / "reference.cpp").string(), build));
  }
  return resolves(kernel_text, kernel.string(), candidate::Build::candidate);
}

std::string task_name(const fs::path& kernel) {
  std::string name = kernel.stem().string();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-') c = '_';
  }
  return name.empty() ? "kernel" : name;
}

}  // namespace

Result<InitResult> scaffold_task(const fs::path& kernel, const InitOptions& options) {
  if (!fs::exists(kernel))
    return usage_error(fmt::format("{} does not exist", kernel.string()),
                       "give the path of a C or C++ source");
  HONE_TRY(auto source, read_file(kernel, std::size_t{1} << 20));
  Draft draft;
  HONE_TRY(draft.signature, choose(kernel, source, options));
  HONE_TRY(auto body, read_body(source, kernel.string(), draft.signature));
  if (!body.vector_code.empty()) {
    return usage_error(
        fmt::format(
            "{}: uses '{}': a reference is plain code, so that it can be evaluated in a wider type",
            kernel.string(), body.vector_code),
        "run hone init on a plain version, then put this one into candidates/");
  }
  draft.openmp = body.openmp;
  HONE_CHECK(take_parameters(kernel, body, draft));
  guess_shapes(body, draft);

  InitResult result;
  result.function = draft.signature.name;
  result.folder = options.folder.empty() ? fs::path(task_name(kernel)) : options.folder;
  const std::string toml = task_text(draft, task_name(kernel));
  const std::string reference = reference_text(source, draft.signature, draft.tensors, body);
  const std::string candidate_source = candidate_text(source, draft.signature, body);
  HONE_CHECK(check(result.folder, toml, reference, candidate_source, kernel));

  const std::vector<std::pair<fs::path, const std::string*>> files = {
      {result.folder / "task.toml", &toml},
      {result.folder / "reference.cpp", &reference},
      {result.folder / "candidates" / (task_name(kernel) + ".cpp"), &candidate_source}};
  if (!options.force) {
    for (const auto& [path, text] : files) {
      if (fs::exists(path))
        return usage_error(fmt::format("{} exists already", path.string()),
                           "choose another folder, or overwrite it: --force");
    }
  }
  HONE_CHECK(make_folder(result.folder));
  HONE_CHECK(make_folder(result.folder / "candidates"));
  for (const auto& [path, text] : files) {
    HONE_CHECK(write_file(path, *text));
    result.files.push_back(path);
  }
  result.guesses = draft.guesses;
  result.next_steps = {
      fmt::format("look at the lines with \"check:\" in {}",
                  (result.folder / "task.toml").string()),
      fmt::format(
          "read {}: it is your kernel with HONE_REAL for its arithmetic; it decides what is right",
          (result.folder / "reference.cpp").string()),
      fmt::format("hone verify {} {}", result.folder.string(), files[2].first.string()),
      fmt::format("add // hone:tune lines to {}, then: hone optimize {} {}",
                  files[2].first.string(), result.folder.string(), files[2].first.string()),
  };
  return result;
}

Json to_json(const InitResult& result) {
  Json json = {{"document", "init"}, {"version", 1}};
  json["folder"] = result.folder.string();
  json["function"] = result.function;
  json["files"] = Json::array();
  for (const auto& file : result.files) json["files"].push_back(file.string());
  json["guesses"] = result.guesses;
  json["next_steps"] = result.next_steps;
  return json;
}

}  // namespace hone::engine
