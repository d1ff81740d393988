#include "task/names.h"

#include <algorithm>
#include <functional>
#include <set>

#include "base/text.h"

namespace hone::task {
namespace {

// Parameters of C++ functions bear these names, so its words are taken.
const std::set<std::string, std::less<>>& reserved_words() {
  static const std::set<std::string, std::less<>> words = {
      "alignas", "alignof", "and",       "asm",       "auto",     "bool",     "break",
      "case",    "catch",   "char",      "class",     "const",    "continue", "default",
      "delete",  "do",      "double",    "else",      "enum",     "explicit", "extern",
      "false",   "float",   "for",       "friend",    "goto",     "if",       "inline",
      "int",     "long",    "mutable",   "namespace", "new",      "not",      "operator",
      "or",      "private", "protected", "public",    "register", "return",   "short",
      "signed",  "sizeof",  "static",    "struct",    "switch",   "template", "this",
      "throw",   "true",    "try",       "typedef",   "typename", "union",    "unsigned",
      "using",   "virtual", "void",      "volatile",  "while",    "xor",      "constexpr",
      "nullptr", "restrict"};
  return words;
}

}  // namespace

std::string name_fault(std::string_view name) {
  if (!is_identifier(name)) return "an identifier (letters, digits, _)";
  if (reserved_words().count(name)) return "a name that is no word of C++";
  if (name.size() > 64) return "a name of at most 64 characters";
  if (name.substr(0, 5) == "hone_" || name.substr(0, 5) == "HONE_")
    return "a name that does not begin with hone_";
  return "";
}

// A task is judged, kept as evidence and replayed from its folder alone; whoever is handed a task
// should not have to ask which other files it reads.
std::string path_fault(std::string_view path) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; };
  if (path.empty() || std::any_of(path.begin(), path.end(), control)) return "the name of a file";
  if (path[0] == '/') return "a file in the task's folder, not an absolute path";
  const auto parts = split(path, '/');
  if (std::find(parts.begin(), parts.end(), "..") != parts.end())
    return "a file in the task's folder, without '..'";
  return "";
}

}  // namespace hone::task
