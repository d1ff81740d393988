#pragma once
// cli: the command line, a thin front over include/hone/hone.h. One table entry a verb; help texts are docs/cli/*.md,
// put into the program at build time. Progress goes to standard error, documents to standard output.

namespace hone::cli {

/// The whole program but main(): parses, calls one verb, prints its document. Returns the exit code.
int run(int argc, char** argv);

}  // namespace hone::cli
