#pragma once
// candidate: a source plus its launch plan, tunables and where it came from (DESIGN.md §6). parse() reads
// the `// hone:` comments and the signatures; resolve() fixes the tunables and gives what a lane builds.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/task.h"

namespace hone::candidate {

/// One tunable: its values in the order written. A value is an integer or a word (a compiler flag).
struct Tunable {
  std::string name;
  std::vector<std::string> values;
};

/// A choice for every tunable, by name.
using Assignment = std::map<std::string, std::string>;

/// A parameter of a function, as its signature says.
struct Parameter {
  std::string name;
  std::string type;        // normalised spelling without const and *: "float", "int", "int64_t", "HONE_OUT"
  bool pointer = false;
  bool is_const = false;   // pointee, for pointers
  int line = 0;
};

struct Function {
  std::string name;
  std::string threads = "1";        // expression over dims and tunables (cpu)
  std::vector<std::string> grid, block;  // one to three expressions each (cuda; empty on cpu)
  std::string shared = "0";         // bytes of dynamic shared memory, expression (cuda)
  std::vector<Parameter> parameters;
  std::string scope;                // enclosing namespaces, "a::b", or empty
  int line = 0;                     // of its definition
};

struct Scratch {
  std::string name;
  task::DType dtype = task::DType::f32;
  std::vector<task::Expression> shape;
  bool zero = false;
};

/// Where a candidate came from.
struct Provenance {
  std::string proposer = "user";
  std::string parent;      // identity of the parent, or empty
  std::string note;
};

struct Candidate {
  std::string path;                 // as given; for messages
  std::string lane = "cpu";
  std::string source;
  std::vector<Tunable> tunables;
  std::vector<task::Expression> constraints;  // hone:require
  std::vector<Scratch> scratch;
  std::vector<Function> functions;            // hone:function lines, in order
  std::vector<std::string> flags;             // hone:flags, `$NAME` stands for a tunable
  std::string compiler;                       // hone:compiler g++ | clang++; empty: default
  Provenance provenance;
};

/// Reads plan and signatures. Errors name file, line, and what was expected.
Result<Candidate> parse(std::string source, std::string path);
/// Reads the file first.
Result<Candidate> read(const std::string& path);

/// Valid points: every constraint holds, and threads and scratch stay within the task's limits. What depends on
/// dims is checked for each timed case of the task.
bool satisfies(const Candidate& candidate, const Assignment& assignment, const task::Task& task);
/// The first value of each tunable; when that is not valid, the first valid change of one tunable, else the first
/// valid point in the order written. An error when there is none.
Result<Assignment> default_assignment(const Candidate& candidate, const task::Task& task);
/// All valid points when there are at most `limit`, else an error that names the count.
Result<std::vector<Assignment>> all_assignments(const Candidate& candidate, const task::Task& task,
                                                std::size_t limit);

/// The argument list every entry point gets, in this order; `index` counts within the kind.
struct Argument {
  enum class Kind { input, output, scratch, dim, scalar };
  Kind kind;
  std::size_t index;
  std::string name;
};
/// Inputs, outputs, scratch, dims (by name order), scalars. An inout input and its output are one buffer for a
/// candidate, two for a reference.
std::vector<Argument> argument_list(const task::Task& task, const std::vector<Scratch>& scratch);

enum class Build { candidate, baseline, oracle, rounded };  // oracle: t, rounded: r (DESIGN.md §5)

/// What one parameter of a kernel is given.
struct LaunchArgument {
  std::size_t argument = 0;  // of argument_list()
  std::string type;          // as the parameter is declared; HONE_REAL: the build's
  bool pointer = false;
};
/// One kernel of a resolved plan, expressions with tunables substituted.
struct Launch {
  std::string kernel;
  std::vector<std::string> grid, block;
  std::string shared;
  std::vector<LaunchArgument> arguments;
};

/// What a lane compiles: the source with tunables as constexpr lines after its includes and, appended, one
///   extern "C" void hone_entry(void* const* arguments, const int* threads)
/// that calls every function in order; for a reference with `select` outputs also, for output number K,
///   extern "C" double hone_select_K(void* const* arguments, long long element, long long index)
/// the value that `index` selects for that element. arguments[i] points at tensor i of argument_list(), or at an
/// int64_t (dims) or at the scalar in its dtype. threads[f] is the thread count of function f.
/// cuda: no entry point; `launches` say what to call, and hone_select_K is a kernel that takes what the function takes,
/// then const long long* hone_index, double* hone_value, long long hone_count, for elements 0 … hone_count−1.
struct Resolved {
  std::string lane = "cpu";
  Assignment assignment;
  std::string source;
  std::vector<std::string> flags;
  std::string compiler;
  std::vector<std::string> function_threads;  // expressions with tunables substituted
  std::vector<Scratch> scratch;
  bool openmp = false;                        // some function may use more than one thread
  Build build = Build::candidate;
  // Of the task, for the three builds of a reference: what HONE_REAL, HONE_MUL and HONE_OUT mean.
  task::Precision precision = task::Precision::f32;
  std::vector<std::pair<std::string, task::DType>> outputs;  // name, storage type, in task order
  std::vector<std::string> binding;           // "f: x=input 0", one line a parameter, in order
  std::map<std::string, std::string> narrow_dims;  // dims taken as 32-bit: name → type; threads_for checks them
  std::vector<Launch> launches;                    // cuda: kernels in order
  std::vector<Launch> selects;                     // cuda, references: hone_select_K, by output; no kernel: no selection
  bool in_place = false;  // an inout pair is one buffer: every candidate, and a baseline that names only one of it
};
/// Binds every parameter by name and checks types; the error says which parameter and what would do.
Result<Resolved> resolve(const Candidate& candidate, const Assignment& assignment, const task::Task& task,
                         Build build = Build::candidate);
/// Thread counts of the functions for a case; at most limits.threads, at least 1, else an error. Also an error
/// when a dim does not fit the 32-bit parameter that takes it.
Result<std::vector<int>> threads_for(const Resolved& resolved, const task::Task& task, const task::Dims& dims);
/// Grid, block and shared memory of one kernel in a case. An extent of 0 in the grid is legal; a negative one is an error.
struct LaunchShape {
  std::array<std::int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::int64_t shared_bytes = 0;
};
Result<std::vector<LaunchShape>> shapes_for(const Resolved& resolved, const task::Dims& dims);
Result<std::int64_t> scratch_bytes(const Scratch& scratch, const Resolved& resolved, const task::Dims& dims);

/// hash of (machine code, resolved plan, scratch, threads, binding, task, device); DESIGN.md §6.
std::string identity(const std::string& machine_code_hash, const Resolved& resolved, const task::Task& task,
                     const std::string& device);
/// Hash of source text and assignment: equal before anything is compiled.
std::string source_identity(const Candidate& candidate, const Assignment& assignment);

/// {"TILE": 8, "OPT": "-O2"}
Json to_json(const Assignment& assignment);
Result<Assignment> assignment_from(const Json& json);
/// "TILE=8 OPT=-O2"
std::string text_of(const Assignment& assignment);

/// Why a candidate failed: data, never a thrown error. `gate` is one of static, correctness, memory,
/// performance; `reason` a stable word (docs/verdict.md lists them): compile_error, bind_error, crash, timeout…
struct Failure {
  std::string gate, reason, message;
  Json evidence = Json::object();
};

}  // namespace hone::candidate
