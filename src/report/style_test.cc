#include "report/style.h"

#include <gtest/gtest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>

#include "base/unique_fd.h"
#include "report/progress.h"
#include "report/verdict.h"

namespace hone::report {
namespace {

/// A terminal of our own: the slave's end, `width` columns wide.
struct Terminal {
  UniqueFd master{::posix_openpt(O_RDWR | O_NOCTTY)}, slave;
  explicit Terminal(int width) {
    if (::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0) return;
    slave = UniqueFd(::open(::ptsname(master.get()), O_RDWR | O_NOCTTY));
    winsize size{24, static_cast<unsigned short>(width), 0, 0};
    ::ioctl(slave.get(), TIOCSWINSZ, &size);
  }
};

TEST(Style, ColourOnATerminalOnlyUnlessNoColor) {
  Terminal terminal(72);
  if (!terminal.slave.valid()) GTEST_SKIP() << "no pseudo-terminals here";
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd in(ends[0]), out(ends[1]);
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  EXPECT_TRUE(style_for(terminal.slave.get()).color);
  EXPECT_EQ(style_for(terminal.slave.get()).width, 72);
  EXPECT_FALSE(style_for(out.get()).color);
  ::setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(style_for(terminal.slave.get()).color) << "empty counts as unset (no-color.org)";
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(style_for(terminal.slave.get()).color);
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(style_for(terminal.slave.get()).color);
}

TEST(Style, WidthsCountLettersNotBytesOrColours) {
  EXPECT_EQ(display_width("äöü"), 3u);
  EXPECT_EQ(display_width(paint({true, 80}, Paint::good, "abc")), 3u);
  EXPECT_EQ(fit("abcdef", 4), "abc…");
  EXPECT_EQ(fit("äöü", 3), "äöü");
  EXPECT_EQ(fit("äöüß", 2), "ä…");
  EXPECT_EQ(fit("abc", 0), "");
}

TEST(Style, ARatioNeverStandsAlone) {
  EXPECT_EQ(ratio_text(2.5, 2.45, 2.55), "2.500x [2.450x, 2.550x]");
  EXPECT_EQ(ratio_text(1, 0, INFINITY), "1.000x [0.000x, inf]");
}

TEST(Style, TablesAlignAndLeaveNoTrailingBlanks) {
  Table table({{"a", Table::Align::left}, {"long", Table::Align::right}});
  table.add({"ü", "1"});
  table.add({"yyy", "12345"});
  table.add({"z"});
  EXPECT_EQ(table.text({}), "a     long\nü        1\nyyy  12345\nz\n");
}

TEST(Style, FieldsLeaveOutWhatIsEmptyAndIndentFurtherLines) {
  EXPECT_EQ(fields({}, {{"a", "1"}, {"none", ""}, {"bb", "2\n3"}}), "a   1\nbb  2\n    3\n");
}

class TurnedClock : public Clock {
 public:
  std::int64_t now_ns() override { return now; }
  std::int64_t now = 0;
};

struct Screen {
  std::string written;
  int width = 100;
  Progress::Edge edge(bool terminal) {
    return {[this](std::string_view text) { written += text; }, [this] { return width; }, terminal};
  }
};

ProgressState state_of() {
  ProgressState s;
  s.tried = 120;
  s.failed = 12;
  s.best = {{2.5, 2.45, 2.55}};
  s.running = "descent: pairs of knobs";
  s.left_s = 31.2;
  return s;
}

TEST(Progress, TheLineHoldsCountsBestIntervalAndTimeLeft) {
  EXPECT_EQ(progress_line(state_of(), {}, 200),
            "120 tried  12 failed  best 2.500x [2.450x, 2.550x]  32 s left  descent: pairs of knobs");
  ProgressState fresh;
  fresh.elapsed_s = 125;
  EXPECT_EQ(progress_line(fresh, {}, 200), "0 tried  none correct yet  2 min 05 s");
}

TEST(Progress, WhatSearchesNothingShowsTimeAndWhatItDoes) {
  ProgressState s;
  s.tried = -1;
  s.left_s = 287;
  s.running = "correctness: case N=4096, nominal, draw 3";
  EXPECT_EQ(progress_line(s, {}, 200), "4 min 47 s left  correctness: case N=4096, nominal, draw 3");
  EXPECT_EQ(progress_line(s, {}, 45), "correctness: case N=4096, nominal, draw 3") << "the time goes first";
}

TEST(Progress, NoLineIsWiderThanTheTerminal) {
  for (int width = 1; width < 120; ++width)
    for (const bool color : {false, true})
      EXPECT_LE(display_width(progress_line(state_of(), {color, width}, width)), static_cast<std::size_t>(width)) << width;
  EXPECT_EQ(progress_line(state_of(), {}, 0).find('\n'), std::string::npos);
  ProgressState odd = state_of();
  odd.running = "two\nlines\x1b[2J";
  const std::string line = progress_line(odd, {}, 200);
  EXPECT_EQ(line.find_first_of("\n\x1b"), std::string::npos) << line;
}

TEST(Progress, ATerminalsLineIsRedrawnInPlaceAndErased) {
  Screen screen;
  TurnedClock clock;
  {
    Progress progress(screen.edge(true), {}, clock);
    progress.update(state_of());
    progress.update(state_of());  // at once again: not drawn
    const std::string once = screen.written;
    EXPECT_EQ(once.find('\r', 1), std::string::npos);
    EXPECT_TRUE(once.starts_with("\r120 tried")) << once;
    EXPECT_TRUE(once.ends_with("\x1b[K"));
    clock.now += 200'000'000;
    screen.width = 20;  // resized meanwhile
    screen.written.clear();
    progress.update(state_of());
    EXPECT_LE(display_width(screen.written.substr(1)), 19u) << screen.written;
    screen.written.clear();
    progress.message("a word");
    EXPECT_TRUE(screen.written.starts_with("\r\x1b[Ka word\n\r")) << screen.written;
    screen.written.clear();
  }
  EXPECT_EQ(screen.written, "\r\x1b[K");
}

TEST(Progress, APipeGetsAPlainLineEveryFewSecondsAndTheLastState) {
  Screen screen;
  TurnedClock clock;
  {
    Progress progress(screen.edge(false), {}, clock);
    ProgressState s = state_of();
    for (s.tried = 1; s.tried <= 100; ++s.tried) {
      progress.update(s);
      clock.now += 100'000'000;  // 10 s in all: drawn at 0 s and 5 s
    }
    EXPECT_EQ(std::count(screen.written.begin(), screen.written.end(), '\n'), 2) << screen.written;
    EXPECT_EQ(screen.written.find_first_of("\r\x1b"), std::string::npos);
  }
  EXPECT_EQ(std::count(screen.written.begin(), screen.written.end(), '\n'), 3);
  EXPECT_NE(screen.written.find("\n100 tried"), std::string::npos) << screen.written;
}

TEST(Progress, NothingDrawnNothingErased) {
  Screen screen;
  TurnedClock clock;
  { Progress progress(screen.edge(true), {}, clock); }
  EXPECT_EQ(screen.written, "");
}

}  // namespace
}  // namespace hone::report
