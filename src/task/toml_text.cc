// toml++ 3.3 asks of each such character whether it is a blank, by a generated function with
// undefined behaviour for most of them (U+00C4 is one), so they must not reach it. Where this
// reader and TOML disagree on what is a string, the text is malformed already, and toml++ stops
// there.
#include "task/toml_text.h"

namespace hone::task {

int line_beyond_ascii(std::string_view text) {
  int line = 1;
  std::string_view open;  // the delimiter of the string we are in; "#": a comment
  std::size_t i = text.substr(0, 3) == "\xEF\xBB\xBF" ? 3 : 0;
  while (i < text.size()) {
    const char c = text[i];
    const bool long_string = open.size() == 3;
    if (c == '\n') {
      ++line;
      if (!long_string) open = "";
    }
    if (open.empty()) {
      if (static_cast<unsigned char>(c) > 127) return line;
      if (c == '#') open = "#";
      if (c == '"') open = text.substr(i, 3) == "\"\"\"" ? "\"\"\"" : "\"";
      if (c == '\'') open = text.substr(i, 3) == "'''" ? "'''" : "'";
      i += open.empty() ? 1 : open.size();
    } else if (c == '\\' && open[0] == '"' && i + 1 < text.size() && text[i + 1] != '\n') {
      i += 2;
    } else if (open != "#" && text.substr(i, open.size()) == open) {
      i += open.size();
      // Up to two quotation marks may stand before the closing three.
      for (int extra = 0; long_string && extra < 2 && i < text.size() && text[i] == open[0];
           ++extra)
        ++i;
      open = "";
    } else {
      ++i;
    }
  }
  return 0;
}

}  // namespace hone::task
