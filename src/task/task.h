#pragma once
// task: what must be computed. A task file becomes a Task; a Case binds its dims; a draw gives it inputs.
// Read DESIGN.md §5 beside this. Nothing here knows how a kernel is built or run.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/expression.h"
#include "task/types.h"

namespace hone::task {

/// How the values of an input are drawn. Parameters not of the kind are ignored.
struct Values {
  enum class Kind {
    normal,       // mean, std
    uniform,      // low, high (half open for floats, both ends for integers)
    integers,     // low..high inclusive, whole numbers in any dtype
    permutation,  // of 0..n-1 over the last axis (each row its own)
    sorted,       // ascending over the last axis; by quantile of uniform(low, high)
    csr,          // sparse: group, part = rowptr | col | val; NNZ is a dim
    triangular,   // lower (or upper = true) triangle of normal, zero elsewhere; last two axes
    symmetric,    // last two axes, equal dims
    positive_definite,  // symmetric and strictly diagonally dominant
    constant,     // value
    specials,     // normal mixed with NaN, infinities, denormals, signed zeros
    heavy_tailed, // normal times 2^k, k geometric: rare large values
    file,         // .npy, widened to the input's dtype; rows in an order keyed by the seed
  };
  Kind kind = Kind::normal;
  double mean = 0, std = 1, low = 0, high = 1, value = 0;
  bool upper = false;
  bool shuffle = true;      // file: rows (first axis) permuted by the seed
  std::string file;         // as written; relative to the task's folder
  std::string group, part;  // csr
  Expression columns;       // csr, part = col: number of columns; each col is in [0, columns)
};
const char* name_of(Values::Kind kind);
std::vector<std::string> kind_names();

enum class Role { input, output };

struct Tensor {
  std::string name;
  Role role = Role::input;
  DType dtype = DType::f32;
  std::vector<Expression> shape;  // empty: one element
  Values values;                  // inputs
  std::int64_t align = 256;       // bytes; a power of two
  bool is_static = false;         // may be prepared once, outside the timing
  bool vary = true;               // inputs: false keeps the declared distribution at verify
  bool specials = false;          // inputs: NaN and infinities may be drawn at verify
  std::string inout;              // outputs: name of the input it overwrites
  bool select = false;            // outputs: an index; right if what it selects is within budget
  std::string selects;            // select: function of the reference that gives the value selected,
                                  // by default "<name>_value" (see docs/task-file.md)
};

struct Scalar {
  std::string name;
  DType dtype = DType::f32;
  double value = 0;
  bool fixed = true;          // false: redrawn in [low, high] for every seed but 0
  bool integers = false;      // redrawn as whole numbers
  double low = 0, high = 0;
};

struct Case {
  Dims dims;          // every declared dim bound
  bool time = true;
  std::string label;  // "N=4096 D=4096"
};

struct Hidden {
  int draws = 0;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> ranges;  // inclusive
};

struct Limits {
  int threads = 1;
  double memory_gb = 4;          // all tensors of a case, six times over
  std::int64_t scratch_bytes = std::int64_t{1} << 28;
  double gpu_gb = 24;
  double call_s = 10;            // one call of a candidate
};

struct Work {
  std::string bytes = "auto";    // "auto", "traced" or an expression
  std::string flops, min_flops;  // expressions; empty: not stated
};

struct Task {
  std::filesystem::path folder;  // where task.toml lies
  std::filesystem::path file;
  std::string text;              // of the task file, as read
  std::string name, about, op;
  std::vector<std::string> lanes;  // "cpu", "cuda", "host"
  Precision precision = Precision::f32;
  std::map<std::string, std::string> dims;  // name → what it means
  std::vector<Tensor> inputs, outputs;
  std::vector<Scalar> scalars;
  std::map<std::string, std::string> reference;  // lane → file, relative to folder
  std::string reference_torch;                   // "model.py:Model"
  std::string baseline = "reference";            // or a file, or torch.…
  Work work;
  Limits limits;
  std::vector<Case> cases;
  Hidden hidden;

  std::vector<std::string> dim_names() const;
  /// Digest of everything that decides a verdict: text and the files it names.
  std::string identity() const;
  std::string identity_value;  // filled by the reader
};

/// Concrete shape of a tensor in a case; errors name tensor and case. Zero is a legal extent.
Result<std::vector<std::int64_t>> shape_of(const Tensor& tensor, const Dims& dims);
Result<std::int64_t> elements_of(const Tensor& tensor, const Dims& dims);
Result<std::int64_t> bytes_of(const Tensor& tensor, const Dims& dims);
/// Sum over inputs and outputs.
Result<std::int64_t> total_bytes(const Task& task, const Dims& dims);

}  // namespace hone::task
