#include "report/style.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>

#include "base/text.h"

namespace hone::report {
namespace {

const char* code_of(Paint paint) {
  switch (paint) {
    case Paint::plain: return "";
    case Paint::good: return "\x1b[32m";
    case Paint::bad: return "\x1b[31m";
    case Paint::warn: return "\x1b[33m";
    case Paint::dim: return "\x1b[2m";
    case Paint::strong: return "\x1b[1m";
  }
  return "";
}

bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

}  // namespace

int columns_of(int fd, int otherwise) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

Style style_for(int fd) {
  Style style;
  if (::isatty(fd) != 1) return style;
  const char* none = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  style.color = !(none && *none) && !(term && std::string_view(term) == "dumb");
  style.width = columns_of(fd, style.width);
  return style;
}

std::string paint(const Style& style, Paint paint, std::string_view text) {
  if (!style.color || paint == Paint::plain || text.empty()) return std::string(text);
  return fmt::format("{}{}\x1b[0m", code_of(paint), text);
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm' && text[i] != 'K') ++i;
      continue;
    }
    if (starts_code_point(text[i])) ++width;
  }
  return width;
}

std::string fit(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::size_t seen = 0, i = 0;
  for (; i < text.size(); ++i)
    if (starts_code_point(text[i]) && seen++ == width - 1) break;
  return std::string(text.substr(0, i)) + "…";
}

std::string ratio_text(double ratio, double low, double high) {
  const auto bound = [](double x) { return std::isinf(x) ? std::string("inf") : format_ratio(x); };
  return fmt::format("{} [{}, {}]", format_ratio(ratio), bound(low), bound(high));
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == std::floor(value) && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{:.9g}", value);
}

std::string shell_word(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./=,:+@%^").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  // Within single quotes only the quote itself means something.
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string time_text(std::int64_t seconds) {
  const auto at = static_cast<std::time_t>(seconds);
  std::tm local{};
  ::localtime_r(&at, &local);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}", local.tm_year + 1900, local.tm_mon + 1, local.tm_mday, local.tm_hour,
                     local.tm_min);
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<std::string> cells, Paint paint) {
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), paint});
}

std::string Table::text(const Style& style, std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const Row& row : rows_)
    for (std::size_t i = 0; i < columns_.size(); ++i) widths[i] = std::max(widths[i], display_width(row.cells[i]));
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string out(indent);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) out += "  ";
      const std::string blanks(widths[i] - display_width(cells[i]), ' ');
      out += columns_[i].align == Align::right ? blanks + cells[i] : cells[i] + blanks;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  };
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string out = paint(style, Paint::dim, line(titles)) + "\n";
  for (const Row& row : rows_) out += paint(style, row.paint, line(row.cells)) + "\n";
  return out;
}

std::string fields(const Style& style, const std::vector<std::pair<std::string, std::string>>& all,
                   std::string_view indent) {
  std::size_t width = 0;
  for (const auto& [label, value] : all)
    if (!value.empty()) width = std::max(width, display_width(label));
  std::string out;
  for (const auto& [label, value] : all) {
    if (value.empty()) continue;
    const std::string blanks(width - display_width(label) + 2, ' ');
    out += fmt::format("{}{}{}", indent, paint(style, Paint::dim, label), blanks);
    // Further lines of a value stand under its first.
    const std::vector<std::string_view> lines = split(value, '\n');
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i > 0) out += std::string(indent) + std::string(width + 2, ' ');
      out.append(lines[i]).append("\n");
    }
  }
  return out;
}

}  // namespace hone::report
