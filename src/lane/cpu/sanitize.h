#pragma once
// The memory gate's tools. A candidate and a driver of ours become one program built with a sanitizer; it
// runs in the jail on buffers that malloc sized exactly, and what it reports is scrubbed and cut.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"

namespace hone::lane {

/// address: ASan with UBSan. thread: clang's TSan with libomp and Archer. memory: clang's MSan, one thread.
enum class Tool { address, thread, memory };
const char* name_of(Tool tool);  ///< "address", "thread", "memory"

/// One entry of candidate::argument_list(), in its order.
struct SanitizeArgument {
  std::size_t size = 0;              ///< bytes of the buffer; 0 is legal
  std::span<const std::byte> bytes;  ///< initial content (inputs, inout, dims as int64_t, scalars); empty:
                                     ///< uninitialised, poisoned for MSan
  std::size_t align = 256;           ///< bytes, a power of two of at least 16; the task's
  bool writable = false;             ///< outputs and scratch; the rest must come back unchanged
  bool output = false;               ///< its bytes come back in SanitizeOutcome::outputs and must be initialised
};

struct SanitizeInputs {
  std::vector<SanitizeArgument> arguments;
  std::vector<int> threads;  ///< one a function
  int calls = 1;             ///< how often the entry is called on the same buffers
};

struct SanitizeLimits {
  double compile_s = 30, run_s = 20;
  std::size_t output_bytes = std::size_t{64} << 20;
};

struct SanitizeOutcome {
  enum class State { clean, finding, unavailable };
  State state = State::clean;
  std::string tool;     ///< "address", "thread", "memory"
  std::string kind;     ///< "heap-buffer-overflow", "data race", "undefined behaviour", "crash", "timeout", …
  std::string message;  ///< finding: first lines of the report, scrubbed; unavailable: why, and the cure
  int line = 0;         ///< as `#line` in the resolved source has it: the user's; 0: not known
  std::vector<std::string> outputs;  ///< clean: bytes of the arguments with output = true, in order
  double compile_ms = 0, run_ms = 0;
};

/// `unavailable` also when the source does not build under the tool: the tool's compiler or runtime is
/// missing, or it knows a construct only of the other compiler. The memory tool leaves OpenMP out (one thread),
/// and the thread tool needs clang with Archer. The tools run inside the candidate's process, so they find
/// mistakes; they are no wall against malice. Thread-safe.
Result<SanitizeOutcome> run_sanitized(Tool tool, const candidate::Resolved& resolved, const SanitizeInputs& inputs,
                                      const SanitizeLimits& limits = {});

/// The tool must catch a planted fault and pass a clean kernel on this machine, in this process's lifetime:
/// clean when it does, else unavailable with the reason. Cheap after the first call.
Result<SanitizeOutcome> self_test(Tool tool);

}  // namespace hone::lane
