#pragma once
// Help comes from docs/cli/*.md, embedded at build time: what a page says is what --help prints.

#include <string>
#include <string_view>
#include <vector>

namespace hone::cli {

struct Topic {
  std::string name;
  std::string_view page;
};
/// One for each verb, in the order they are told; made from docs/cli by CMake.
const std::vector<Topic>& topics();
bool is_topic(std::string_view name);
/// The page, as plain text for a terminal.
std::string help(std::string_view name);
/// First line of the page's text.
std::string summary(std::string_view name);
/// All verbs with their summaries.
std::string overview();

}  // namespace hone::cli
