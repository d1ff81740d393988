// A program of someone else's: it knows the public headers and the installed package, nothing more.

#include <hone/hone.h>

#include <cstdio>
#include <string>

// consumer TASK GOOD BAD: what the command line answers, asked as a library.
int main(int argc, char** argv) {
  std::printf("hone %s\n", hone::version());
  if (argc != 4) return 0;
  hone::VerifyRequest request;
  request.task = argv[1];
  request.timing = false;
  request.allow_missing_tools = true;
  for (const bool good : {true, false}) {
    request.candidate = argv[good ? 2 : 3];
    const auto verdict = hone::verify(request);
    if (!verdict.ok()) {
      std::fprintf(stderr, "error: %s\n", verdict.error().text().c_str());
      return 3;
    }
    std::printf("%s: %s %s\n", request.candidate.c_str(), verdict->correct ? "correct" : "wrong",
                verdict->correct ? verdict->kernel_class.c_str() : verdict->reason.c_str());
    if (verdict->correct != good || verdict->exit_code != (good ? 0 : 1)) return 1;
  }
  request.task = "no/such/task";
  const auto missing = hone::verify(request);
  return !missing.ok() && missing.error().code == hone::ErrorCode::usage ? 0 : 1;
}
