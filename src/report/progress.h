#pragma once
// The live line. On a terminal one line, redrawn in place and erased at the end; in a pipe a plain line every few
// seconds. Goes to standard error, so that --json and pipes stay clean.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "report/style.h"

namespace hone::report {

struct ProgressState {
  std::int64_t tried = 0, failed = 0;  ///< tried -1: no search, so neither counts nor a best
  struct Best {
    double ratio = 1, low = 1, high = 1;
  };
  std::optional<Best> best;
  std::string running;               ///< "descent: pairs of knobs"
  double elapsed_s = 0;
  std::optional<double> left_s;      ///< of a time budget
};

/// One line without its end, at most `width` columns: what matters least is left out first.
std::string progress_line(const ProgressState& state, const Style& style, int width);

class Progress {
 public:
  struct Edge {
    std::function<void(std::string_view)> write;  ///< must not throw
    std::function<int()> width;                   ///< columns now; the window may be resized
    bool terminal = false;
  };
  /// The system's: writes to fd, asks it for its width.
  static Edge edge_of(int fd);

  Progress(Edge edge, Style style, Clock& clock);
  ~Progress();  ///< finish()
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Draws at most ten times a second on a terminal, once in five seconds in a pipe.
  void update(const ProgressState& state);
  /// A line of its own above the live one.
  void message(std::string_view text);
  /// Erases the live line; in a pipe, says the last state if it was not said yet. Idempotent.
  void finish();

 private:
  void draw();
  void erase();
  Edge edge_;
  Style style_;
  Clock& clock_;
  ProgressState state_;
  std::optional<std::int64_t> last_ns_;
  bool drawn_ = false, pending_ = false;
};

}  // namespace hone::report
