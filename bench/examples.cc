// What the examples' best points reach over their references: the demo and the matrix product, through the public
// library. The demo is also put beside scikit-learn's brute-force search where Python has it.

#include <cstdio>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "bench/figure.h"
#include "hone/hone.h"

namespace {

using namespace hone;
using figures::Wanted;

/// Median milliseconds of one search of all rows by scikit-learn, two threads; −1 where it is not installed.
double sklearn_ms(const std::string& digits) {
  const std::string script =
      "import numpy as np, time\n"
      "try:\n from sklearn.neighbors import NearestNeighbors\n"
      "except ImportError:\n print(-1); raise SystemExit\n"
      "x = np.load('" + digits + "').astype('float32')\n"
      "nn = NearestNeighbors(n_neighbors=2, algorithm='brute', n_jobs=2).fit(x)\n"
      "t = []\n"
      "for _ in range(30):\n a = time.perf_counter(); nn.kneighbors(x, return_distance=False); t.append(time.perf_counter() - a)\n"
      "print(1e3 * sorted(t)[len(t) // 2])\n";
  const std::string command = "python3 -c \"" + script + "\" 2>/dev/null";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return -1;
  double ms = -1;
  if (std::fscanf(pipe, "%lf", &ms) != 1) ms = -1;
  ::pclose(pipe);
  return ms;
}

OptimizeResult optimized(const std::string& task, const char* budget) {
  static const TemporaryFolder folder = figures::must(TemporaryFolder::make("hone-examples-bench-"));
  OptimizeRequest request;
  request.task = task;
  request.budget = budget;
  request.archive = (folder.path() / "archive.db").string();
  return figures::must(optimize(request));
}

}  // namespace

int main() {
  const std::string examples = std::string(HONE_SOURCE_DIR) + "/examples/";
  const OptimizeResult nn = optimized(examples + "nearest_neighbours", "60s");
  figures::figure("demo: speed-up over the reference, lower end of the interval (class " + nn.kernel_class + ")", nn.speedup.low, "x",
                Wanted::at_least, 8);
  const Json report = figures::must(parse_json(nn.json, "report"));
  double candidate_ms = -1;
  if (report.contains("verdict") && report["verdict"].contains("speeds") && !report["verdict"]["speeds"].empty())
    candidate_ms = report["verdict"]["speeds"][0].value("candidate_ns", -1e6) / 1e6;
  figures::told("demo: one call of the best", candidate_ms, "ms");
  const double sklearn = sklearn_ms(examples + "nearest_neighbours/digits.npy");
  if (sklearn > 0)
    figures::figure("demo: scikit-learn's brute-force search over the best", sklearn / candidate_ms, "x", Wanted::at_least, 1);
  else
    std::fprintf(stderr, "bench: scikit-learn is not installed: the demo is not compared with it\n");
  const OptimizeResult product = optimized(examples + "sgemm", "60s");
  figures::figure("matrix product: speed-up over i-k-j, lower end (class " + product.kernel_class + ")", product.speedup.low, "x",
                Wanted::at_least, 3);
}
