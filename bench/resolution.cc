// What a comparison of one second of slots resolves here: A/A coverage, false "faster", planted slowdowns found.
// HONE_BENCH_TRIALS: A/A trials a kernel (50); half as many planted ones.

#include <cmath>

#include "base/files.h"
#include "bench/figure.h"
#include "engine/resolution.h"
#include "stats/summary.h"

int main() {
  using namespace hone;
  using figures::Wanted;
  const int trials = figures::count_from("HONE_BENCH_TRIALS", 50);
  engine::Trials all;
  for (const engine::Ruler& ruler : engine::rulers()) {
    const TemporaryFolder folder = figures::must(TemporaryFolder::make("hone-ruler-"));
    engine::OpenRuler open = figures::must(engine::open_ruler(ruler, folder.path(), Common{}));
    engine::Trials one;
    if (const Status s = engine::run_trials(open, trials, trials / 2, 1.0, nullptr, one); !s.ok()) figures::give_up(s.error().text());
    figures::told(ruler.name + ": A/A intervals that hold 1", 100.0 * one.same_held / one.same, "%");
    figures::told(ruler.name + ": half-width of the interval, median", 100 * stats::median(one.half_widths), "%");
    std::vector<double> errors;
    for (const double e : one.errors) errors.push_back(std::abs(e));
    figures::told(ruler.name + ": A/A error, 95th percentile", 100 * stats::quantile(errors, 0.95), "%");
    figures::told(ruler.name + ": planted " + std::to_string(ruler.planted / 10) + "." + std::to_string(ruler.planted % 10) +
                    " % slowdown found", 100.0 * one.slowed_found / std::max(1, one.slowed), "%");
    all.same += one.same;
    all.same_held += one.same_held;
    all.same_faster += one.same_faster;
    all.slowed += one.slowed;
    all.slowed_found += one.slowed_found;
  }
  const double held = 100.0 * all.same_held / all.same;
  figures::figure("A/A intervals that hold 1, all kernels", held, "%", Wanted::at_least, 90);
  figures::figure("A/A intervals that hold 1, all kernels", held, "%", Wanted::at_most, 98);
  figures::figure("A/A called faster at a 1 % margin, of " + std::to_string(all.same), all.same_faster, "times", Wanted::at_most, 2);
  figures::figure("planted slowdowns found, of " + std::to_string(all.slowed), 100.0 * all.slowed_found / std::max(1, all.slowed), "%",
                Wanted::at_least, 90);
}
