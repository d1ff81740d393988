#include "cli/help.h"

#include <fmt/format.h>

#include "base/text.h"
#include "hone/version.h"

namespace hone::cli {
namespace {

std::string_view page_of(std::string_view name) {
  for (const Topic& t : topics())
    if (t.name == name) return t.page;
  return {};
}

}  // namespace

bool is_topic(std::string_view name) { return !page_of(name).empty(); }

std::string summary(std::string_view name) {
  for (std::string_view line : split(page_of(name), '\n')) {
    line = trim(line);
    if (!line.empty() && line[0] != '#' && line[0] != '`') return std::string(line);
  }
  return "";
}

std::string help(std::string_view name) {
  std::string out;
  for (const std::string_view line : split(page_of(name), '\n')) {
    if (line.substr(0, 3) == "```") continue;
    std::string text(line);
    while (!text.empty() && text[0] == '#') text.erase(0, 1);
    if (text.size() < line.size()) text = std::string(trim(text));
    std::erase(text, '`');
    // Table rows become columns; the ruler between head and body goes.
    if (!text.empty() && text[0] == '|') {
      const auto cells = split(std::string_view(text).substr(1), '|');
      if (cells.size() > 1 && trim(cells[0]).substr(0, 3) == "---") continue;
      std::string row = "  " + std::string(trim(cells[0]));
      row.resize(std::max<std::size_t>(row.size() + 2, 30), ' ');
      for (std::size_t i = 1; i + 1 < cells.size(); ++i) row += std::string(trim(cells[i])) + (i + 2 < cells.size() ? "  " : "");
      text = row;
    }
    out += text + "\n";
  }
  while (out.size() > 1 && out[out.size() - 2] == '\n') out.pop_back();
  return out;
}

std::string overview() {
  std::string out = fmt::format(
      "hone {}: takes a kernel and gives back a faster one, with the proof that it is right\n\nhone VERB … [--json] [--help]\n\n",
      version());
  for (const Topic& t : topics()) out += fmt::format("  {:<10} {}\n", t.name, summary(t.name));
  out += "\nExit codes: 0 yes or done, 1 no, 2 usage, 3 environment, 4 a fault of Hone, 130 interrupted.\n";
  return out;
}

}  // namespace hone::cli
