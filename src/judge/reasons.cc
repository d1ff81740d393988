#include "judge/reasons.h"

namespace hone::judge {
namespace {

constexpr Reason kReasons[] = {
    // What the lane says of a source that does not become a program.
    {"static", "compile_error", "the compiler refused the source", "Read the log in the evidence; line numbers are of the source with its tunables"},
    {"static", "compile_timeout", "the compiler did not finish in time", "Unroll less, or take fewer templates"},
    {"static", "bind_error", "a parameter, scratch or thread count does not fit the task", "Name parameters as the task names its tensors, dims and scalars; `hone init` prints a signature that fits"},
    {"static", "load_error", "the finished object cannot be loaded", "Define every function that is called, or take it from libm or libc"},
    // What the finished object says.
    {"static", "banned_import", "the object imports a function that a kernel has no use for", "Compute in plain code; files, processes, time and dynamic loading are out of bounds"},
    {"static", "constants", "constants as large as the answer", "Compute the table at run time, or make it smaller than the outputs"},
    {"static", "constructor", "code that runs when the object is loaded", "Remove constructors and static objects with non-constant initialisers"},
    {"static", "state", "writable data as large as an answer could outlive a call", "Use scratch (hone:scratch) or the stack"},
    {"static", "clock", "the code reads a clock", "Remove it; timing is the judge's business"},
    {"static", "system_call", "the code makes system calls of its own", "Remove them"},
    {"static", "machine_state", "the code asks or changes the processor's state", "Remove cpuid, random numbers and control-register writes"},
    {"static", "broken_object", "the object is not one that we can read", "Build plain code without inline assembly that changes sections"},
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
    {"correctness", "out_of_memory", "the call used more memory than it may", "Use less scratch"},
    {"correctness", "killed", "the runner was killed by a limit", "Look for runaway threads or memory"},
    {"correctness", "exited", "the call ended its process", "Return from the function; do not call exit"},
    {"correctness", "protocol", "the runner's process spoke out of turn", "The code must not touch descriptors that it did not open"},
    {"correctness", "unstable", "runs of one draw do not always end alike, and one of them failed", "Look for a race or for memory that is read before it is written"},
    // What the sanitizers say.
    {"memory", "address", "a stray access or undefined behaviour", "Read the report in the evidence; the line is of the source with its tunables"},
    {"memory", "race", "two threads touch the same memory, one of them writing", "Give each thread its own part, or reduce under the OpenMP clause"},
    {"memory", "uninitialised", "a result depends on memory that was never written", "Initialise scratch and accumulators"},
    {"memory", "crash", "the sanitized build crashed", "Read the report in the evidence"},
    {"memory", "timeout", "the sanitized build did not end in time", "Look for a loop that depends on uninitialised or racing memory"},
    {"memory", "differs", "the sanitized build gives a wrong answer where the plain one was right", "Look for undefined behaviour that optimisation happens to hide"},
    // What timing says.
    {"performance", "impossible", "faster than the memory could move the bytes", "The work was not done, or not inside the timed call"},
    {"performance", "wrong_when_timed", "an output of a timed call is wrong", "Do not keep answers between calls; inputs are fresh in each"},
    {"performance", "crash", "the call crashed while timed", "See correctness/crash"},
    {"performance", "timeout", "the timed calls did not end in time", "See correctness/timeout"},
};

}  // namespace

std::span<const Reason> reasons() { return kReasons; }

const Reason* find_reason(std::string_view gate, std::string_view word) {
  for (const Reason& r : kReasons)
    if (gate == r.gate && word == r.word) return &r;
  return nullptr;
}

}  // namespace hone::judge
