#include "report/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace hone::report {
namespace {

constexpr std::int64_t kTerminalPeriod_ns = 100'000'000;
constexpr std::int64_t kPipePeriod_ns = 5'000'000'000;
constexpr int kPipeWidth = 200;

std::string seconds_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::max(0.0, std::ceil(seconds)));
  if (whole < 120) return fmt::format("{} s", whole);
  if (whole < 7200) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

struct Part {
  std::string text;
  int worth;  // the lowest goes first when the line is too long
  Paint paint = Paint::plain;
};

std::size_t width_of(const std::vector<Part>& parts) {
  std::size_t width = 0;
  for (const Part& part : parts) width += display_width(part.text) + 2;
  return width == 0 ? 0 : width - 2;
}

}  // namespace

std::string progress_line(const ProgressState& s, const Style& style, int width) {
  std::vector<Part> parts;
  const bool search = s.tried >= 0;
  if (search) {
    parts.push_back({fmt::format("{} tried", s.tried), 3});
    if (s.failed > 0) parts.push_back({fmt::format("{} failed", s.failed), 1});
    parts.push_back(s.best ? Part{"best " + ratio_text(s.best->ratio, s.best->low, s.best->high), 4,
                                  s.best->low > 1 ? Paint::good : Paint::plain}
                           : Part{"none correct yet", 2});
  }
  parts.push_back(s.left_s ? Part{seconds_text(*s.left_s) + " left", 3} : Part{seconds_text(s.elapsed_s), 3});
  if (!s.running.empty()) parts.push_back({scrub(s.running, 120), search ? 0 : 4, Paint::dim});
  const auto limit = static_cast<std::size_t>(std::max(width, 1));
  while (parts.size() > 1 && width_of(parts) > limit)
    parts.erase(std::min_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.worth < b.worth; }));
  if (width_of(parts) > limit) return fit(parts.front().text, limit);
  std::string out;
  for (const Part& part : parts) out += (out.empty() ? "" : "  ") + paint(style, part.paint, part.text);
  std::replace(out.begin(), out.end(), '\n', ' ');  // a second line could not be erased
  std::replace(out.begin(), out.end(), '\t', ' ');
  return out;
}

Progress::Edge Progress::edge_of(int fd) {
  return {[fd](std::string_view text) {
            while (!text.empty()) {
              const ssize_t n = ::write(fd, text.data(), text.size());
              if (n <= 0) return;  // nobody reads any more: progress is not worth failing for
              text.remove_prefix(static_cast<std::size_t>(n));
            }
          },
          [fd] { return columns_of(fd, 80); }, ::isatty(fd) == 1};
}

Progress::Progress(Edge edge, Style style, Clock& clock) : edge_(std::move(edge)), style_(style), clock_(clock) {}
Progress::~Progress() { finish(); }

void Progress::update(const ProgressState& state) {
  state_ = state;
  pending_ = true;
  const std::int64_t now = clock_.now_ns();
  const std::int64_t period = edge_.terminal ? kTerminalPeriod_ns : kPipePeriod_ns;
  if (last_ns_ && now - *last_ns_ < period) return;
  last_ns_ = now;
  draw();
}

void Progress::draw() {
  pending_ = false;
  if (!edge_.terminal) return edge_.write(progress_line(state_, style_, kPipeWidth) + "\n");
  // The last column stays free: writing there makes some terminals wrap, and then the line cannot be redrawn.
  edge_.write("\r" + progress_line(state_, style_, edge_.width() - 1) + "\x1b[K");
  drawn_ = true;
}

void Progress::erase() {
  if (drawn_) edge_.write("\r\x1b[K");
  drawn_ = false;
}

void Progress::message(std::string_view text) {
  const bool again = drawn_;
  erase();
  edge_.write(std::string(text) + "\n");
  if (again) draw();
}

void Progress::finish() {
  erase();
  if (!edge_.terminal && pending_) draw();
  pending_ = false;
}

}  // namespace hone::report
