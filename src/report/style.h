#pragma once
// report: what people and programs read. Each report is a struct of values (verdict.h, run.h, health.h) with a
// to_text() for a terminal or pipe and a to_json() whose form docs/schema/ fixes. A ratio never stands without its
// interval. progress.h is the live line. This header: widths, colour, tables. Read docs/reports.md first.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::report {

struct Style {
  bool color = false;
  int width = 100;   ///< columns; text longer than that is cut only where a table needs it
};
/// Colour when fd is a terminal, TERM is not dumb and NO_COLOR is unset or empty; the terminal's width.
Style style_for(int fd);
/// Columns of the terminal at fd; `otherwise` when it is none or says 0.
int columns_of(int fd, int otherwise);

enum class Paint { plain, good, bad, warn, dim, strong };
std::string paint(const Style& style, Paint paint, std::string_view text);

/// Code points, escape sequences left out. Good for the letters we print.
std::size_t display_width(std::string_view text);
/// Cut to `width` columns, the last being "…", when longer. Knows no escape sequences.
std::string fit(std::string_view text, std::size_t width);

/// "2.500x [2.450x, 2.550x]": the only way a ratio is written.
std::string ratio_text(double ratio, double low, double high);
/// A value of a tensor: nine significant digits tell any two floats apart; NaN and infinities as words.
std::string number_text(double value);
/// A word of a command line as a shell reads it back: quoted where it must be.
std::string shell_word(std::string_view text);
/// "2026-11-30 13:41", local time.
std::string time_text(std::int64_t seconds);

/// Columns separated by two blanks; numbers to the right.
class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };
  explicit Table(std::vector<Column> columns);
  void add(std::vector<std::string> cells, Paint paint = Paint::plain);
  std::string text(const Style& style, std::string_view indent = "") const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Paint paint;
  };
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

/// "label      value" lines with the labels in one column; empty values are left out.
std::string fields(const Style& style, const std::vector<std::pair<std::string, std::string>>& fields,
                   std::string_view indent = "");

}  // namespace hone::report
