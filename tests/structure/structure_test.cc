// Holds the order of the rooms: a room may use the rooms above it in the list, never those below it.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// docs/architecture.md says what each is.
const std::vector<std::string> kRooms = {
    "base",  "stats",   "task",     "code",    "candidate", "device", "wire",     "lane",
    "runner", "measure", "judge",   "store",   "audit",     "profile", "artifact", "propose",
    "search", "exchange", "report", "engine",  "mcp",       "cli"};

int rank_of(const std::string& room) {
  auto at = std::find(kRooms.begin(), kRooms.end(), room);
  return at == kRooms.end() ? -1 : static_cast<int>(at - kRooms.begin());
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<fs::path> sources_under(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (entry.is_regular_file() && (extension == ".h" || extension == ".cc")) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// "FILE:LINE includes ROOM" for each include of a room that `room` may not use, or that no list names.
std::vector<std::string> violations(const std::string& room, const std::string& name,
                                    const std::string& text) {
  static const std::regex include("^\\s*#\\s*include\\s*\"([a-z_]+)/[^\"]+\"");
  std::vector<std::string> found;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::smatch match;
    if (!std::regex_search(line, match, include) || match[1] == "hone") {
      continue;
    }
    const int used = rank_of(match[1]);
    if (used < 0 || used > rank_of(room)) {
      found.push_back(name + ":" + std::to_string(number) + " includes " + match[1].str());
    }
  }
  return found;
}

const fs::path kSource = HONE_SOURCE_DIR;

TEST(Structure, RoomsUseOnlyRoomsAboveThem) {
  std::size_t files = 0;
  for (const fs::path& file : sources_under(kSource / "src")) {
    const fs::path relative = file.lexically_relative(kSource / "src");
    const std::string room = relative.begin()->string();
    ASSERT_GE(rank_of(room), 0) << relative << " is in no room of the list";
    for (const std::string& violation : violations(room, relative.string(), text_of(file))) {
      ADD_FAILURE() << violation << ", which lies below " << room;
    }
    ++files;
  }
  EXPECT_GT(files, 20u);
}

// The check itself must catch what it is for.
TEST(Structure, AnUpwardIncludeIsFound) {
  EXPECT_EQ(violations("task", "x.cc", "#include <map>\n#include \"judge/verdict.h\"\n"),
            std::vector<std::string>{"x.cc:2 includes judge"});
  EXPECT_EQ(violations("task", "x.cc", "  # include \"nowhere/a.h\"\n").size(), 1u);
  EXPECT_TRUE(violations("task", "x.cc", "#include \"base/json.h\"\n#include \"task/a.h\"\n").empty());
}

// The public headers must not lead into src/.
TEST(Structure, PublicHeadersIncludeNoRoom) {
  static const std::regex include("#\\s*include\\s*\"(?!hone/)");
  for (const fs::path& file : sources_under(kSource / "include")) {
    EXPECT_FALSE(std::regex_search(text_of(file), include)) << file;
  }
}

// The build lists the rooms in the same order, and every folder under src/ is built.
TEST(Structure, TheBuildListsEveryRoomInOrder) {
  static const std::regex call("hone_room\\(([a-z]+)\\)");
  const std::string build = text_of(kSource / "CMakeLists.txt");
  std::vector<int> ranks;
  std::set<std::string> built;
  for (std::sregex_iterator at(build.begin(), build.end(), call), end; at != end; ++at) {
    ranks.push_back(rank_of((*at)[1]));
    built.insert((*at)[1]);
  }
  EXPECT_TRUE(std::is_sorted(ranks.begin(), ranks.end()));
  for (const auto& entry : fs::directory_iterator(kSource / "src")) {
    EXPECT_TRUE(built.count(entry.path().filename().string()))
        << entry.path() << " is not in CMakeLists.txt: add hone_room(" << entry.path().filename() << ")";
  }
}

// A habit, not a law: 600 lines are reported, 900 fail.
TEST(Structure, FilesStayShort) {
  for (const fs::path& file : sources_under(kSource / "src")) {
    const std::string text = text_of(file);
    const auto lines = std::count(text.begin(), text.end(), '\n');
    if (lines > 600) {
      std::cout << "note: " << file.lexically_relative(kSource).string() << " has " << lines
                << " lines; it may hold two ideas\n";
    }
    EXPECT_LE(lines, 900) << file;
  }
}

}  // namespace
