#include "judge/reasons.h"

namespace hone::judge {
namespace {

constexpr Reason kReasons[] = {
    // What the lane says of a source that does not become a program.
    {"static", "compile_error", "the compiler refused the source", "Read the log in the evidence; line numbers are of the source with its tunables"},
    {"static", "compile_timeout", "the compiler did not finish in time", "Unroll less, or take fewer templates"},
    {"static", "bind_error", "a parameter, scratch or thread count does not fit the task", "Name parameters as the task names its tensors, dims and scalars; the function in the task's reference file has these names"},
    {"static", "link_error", "a function that is called is nowhere defined", "Define it, or take it from libm, libc or OpenMP"},
    {"static", "compile_limits", "the compiler used more memory or wrote more than it may", "Unroll less, and shrink constant tables"},
    {"static", "flag_refused", "a compiler flag is not on the lane's list", "See docs/candidate.md for the flags allowed"},
    {"static", "compiler_refused", "the compiler asked for is not there", "Use g++ or clang++, whichever `hone doctor` finds"},
    {"static", "load_error", "the finished object cannot be loaded", "Define every function that is called, or take it from libm or libc"},
    // What the finished object says.
    {"static", "constants", "constants as large as the answer", "Compute the table at run time, or make it smaller than the outputs"},
    {"static", "state", "writable globals as large as the answer", "Use scratch (hone:scratch) or the stack"},
    {"static", "constructor", "code runs when the object is loaded", "Remove constructors and static objects with initialisers that are not constant"},
    {"static", "writable_code", "a section is both writable and executable", "Build plain code without inline assembly that changes sections"},
    {"static", "broken_object", "the object is not one that we can read", "Build plain code without inline assembly that changes sections"},
    {"static", "clock_import", "imports a function that reads or waits for a clock", "Remove it; timing is the judge's business"},
    {"static", "file_import", "imports a function that opens, reads or changes files", "Take everything from the arguments"},
    {"static", "network_import", "imports a function of the network", "Remove it"},
    {"static", "process_import", "imports a function that starts or changes processes", "Remove it; threads come from OpenMP"},
    {"static", "exit_import", "imports a function that ends the process", "Return from the function instead"},
    {"static", "system_call_import", "makes system calls by number", "Remove them"},
    {"static", "thread_import", "starts or pins threads by itself", "Use OpenMP, within the threads of the plan"},
    {"static", "signal_import", "takes signals", "Remove it"},
    {"static", "loader_import", "loads or looks up code at run time", "Link what you need statically, or write it"},
    {"static", "memory_map_import", "maps memory or changes what it allows", "Use scratch (hone:scratch)"},
    {"static", "environment_import", "reads or changes the environment", "Use tunables (hone:tune)"},
    {"static", "random_import", "draws random numbers", "An answer is a function of its inputs: derive what you need from them"},
    {"static", "float_control_import", "changes rounding or traps for the process", "Remove it"},
    {"static", "clock_read", "an instruction reads the clock", "Remove it; timing is the judge's business"},
    {"static", "system_call", "an instruction calls the system", "Remove it"},
    {"static", "random", "an instruction draws a random number", "An answer is a function of its inputs"},
    {"static", "float_control", "an instruction changes rounding or denormals", "Remove it"},
    {"static", "cpuid", "an instruction asks which processor it runs on", "Remove it; the lane builds for this one"},
    {"static", "cache_control", "an instruction flushes caches", "Remove it"},
    {"static", "less_precise", "instructions of a lower precision than the task's (class C)", "Use the task's precision, or allow class C"},
    // What running it says.
    {"correctness", "wrong_value", "an element is further from the truth than the error budget allows", "Compare with the reference at the element shown; the seed draws the same inputs again"},
    {"correctness", "not_exact", "the reference is exact here and the candidate is not", "Keep the values that are only moved or counted unchanged"},
    {"correctness", "wrong_integer", "an integer is not the true one", "Integers must be exact; look at ties, signs and overflow"},
    {"correctness", "wrong_index", "an index out of range, or one that selects nothing", "Check the bounds of the search"},
    {"correctness", "not_finite", "NaN or infinity out of place", "Look for overflow, 0/0 and -ffast-math, which assumes there are none"},
    {"correctness", "unwritten", "elements of the output were never written", "Check loop bounds and tails: outputs are poisoned before each call"},
    {"correctness", "less_precise", "right, but only within the budget of the next lower precision (class C)", "Use the task's precision, or allow class C"},
    {"correctness", "out_of_bounds", "the call wrote outside its outputs", "Check loop bounds at the case shown"},
    {"correctness", "inputs_changed", "the call changed an input", "Inputs are read-only; use scratch"},
    {"correctness", "crash", "the call crashed", "Check indices at the case shown: tensors lie against unmapped pages, and inputs are read-only"},
    {"correctness", "timeout", "the call did not end in time", "Look for an endless loop; limits.call_s sets the time"},
    {"correctness", "exited", "the call ended its process", "Return from the function; do not call exit"},
    {"correctness", "forbidden_call", "the call made a system call that a kernel has no use for", "Remove files, processes, sockets and clocks"},
    {"correctness", "protocol", "the process spoke out of turn", "The code must not touch descriptors that it did not open"},
    {"correctness", "unstable", "runs of one draw do not always end alike, and one of them failed", "Look for a race or for memory that is read before it is written"},
    {"correctness", "out_of_time", "the time limit was over before all draws were done: neither right nor wrong", "Give more time (hone verify --time-limit 20min); the evidence says how far it came", true},
    // What the sanitizers say.
    {"memory", "address", "a stray access or undefined behaviour", "Read the report in the evidence; the line is of the source with its tunables"},
    {"memory", "race", "two threads touch the same memory, one of them writing", "Give each thread its own part, or reduce under the OpenMP clause"},
    {"memory", "uninitialised", "a result depends on memory that was never written", "Initialise scratch and accumulators"},
    {"memory", "crash", "the sanitized build crashed", "Read the report in the evidence"},
    {"memory", "timeout", "a sanitized run did not end in time, though the plain build did: neither right nor wrong", "Look for a loop that depends on uninitialised or racing memory; if there is none, add a smaller case with time = false, or leave the gate out (--no-memory-gate)", true},
    {"memory", "out_of_memory", "a sanitized run needed more memory than the gate gives: neither right nor wrong", "Allocate less, add a smaller case with time = false, or leave the gate out (--no-memory-gate)", true},
    {"memory", "differs", "the sanitized build gives a wrong answer where the plain one was right", "Look for undefined behaviour that optimisation happens to hide"},
    {"memory", "out_of_time", "the time limit was over before the sanitizers were done", "Give more time (hone verify --time-limit 20min), or leave the gate out (--no-memory-gate)", true},
    // What timing says.
    {"performance", "impossible", "faster than the memory could move the bytes", "The work was not done, or not inside the timed call"},
    {"performance", "wrong_when_timed", "an output of a timed call is wrong", "Do not keep answers between calls; inputs are fresh in each"},
    {"performance", "crash", "the call crashed while timed", "See correctness/crash"},
    {"performance", "timeout", "the timed calls did not end in time", "See correctness/timeout"},
    {"performance", "out_of_time", "every other gate passed, but the time limit was over before the timing was done", "Give more time (hone verify --time-limit 20min), or leave the timing out (--no-timing)", true},
};

}  // namespace

std::span<const Reason> reasons() { return kReasons; }

const Reason* find_reason(std::string_view gate, std::string_view word) {
  for (const Reason& r : kReasons)
    if (gate == r.gate && word == r.word) return &r;
  return nullptr;
}

}  // namespace hone::judge
