// record_space KERNEL.cpp OUT.csv: compiles and times every point of a tunable kernel once, so that search can be
// tested without a compiler, without timing, and exhaustively (the optimum is known). Not a judge: it trusts the
// kernels of bench/spaces, which are ours.
//
// A kernel says `// hone:tune NAME = values`, `// hone:require expression`, `// hone:flags …`, and has prepare(), run() and right().
// Each point is loaded in a child process: prepare, run, right, then runs until 15 ms have passed; the least time
// of one run counts, as whatever disturbs only adds. Points within 25 % of the best are then visited again in
// rounds, all once before any twice, for 40 ms a visit, so that a lucky or unlucky moment does not decide what is
// best. OUT.csv.part keeps what was measured; a second start goes on from there.

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"

namespace hone {
namespace {

constexpr double kFirstVisit_s = 0.015, kNextVisit_s = 0.040;
constexpr int kNextVisits = 6;

struct Knob {
  std::string name;
  std::vector<std::string> values;
};
using Point = std::vector<std::string>;

struct Kernel {
  std::string path, source;
  std::vector<Knob> knobs;
  std::vector<std::string> requirements;
  std::vector<std::string> flags = {"-O2", "-march=native", "-std=c++20", "-shared", "-fPIC", "-w"};
};

Result<Kernel> read_kernel(const std::string& path) {
  Kernel kernel;
  kernel.path = path;
  HONE_TRY(kernel.source, read_file(path));
  for (std::string_view line : split(kernel.source, '\n')) {
    if (line.starts_with("// hone:require ")) kernel.requirements.emplace_back(line.substr(16));
    if (line.starts_with("// hone:flags "))
      for (std::string_view flag : words(line.substr(14))) kernel.flags.emplace_back(flag);
    if (!line.starts_with("// hone:tune ")) continue;
    const auto parts = words(line.substr(13));
    if (parts.size() < 3 || parts[1] != "=") return usage_error(fmt::format("{}: '{}'", path, line));
    kernel.knobs.push_back({std::string(parts[0]), {parts.begin() + 2, parts.end()}});
  }
  if (kernel.knobs.empty()) return usage_error(path + " has no hone:tune line");
  return kernel;
}

std::string definitions(const Kernel& kernel, const Point& point) {
  std::string text;
  for (std::size_t k = 0; k < point.size(); ++k)
    text += fmt::format("constexpr int {} = {};\n", kernel.knobs[k].name, point[k]);
  return text;
}

bool compile(const Kernel& kernel, const std::string& source, const std::string& object) {
  const std::string file = object + ".cpp";
  if (!write_file(file, source)) return false;
  std::vector<std::string> line = {"g++"};
  line.insert(line.end(), kernel.flags.begin(), kernel.flags.end());
  line.insert(line.end(), {file, "-o", object});
  std::vector<char*> argv;
  for (std::string& word : line) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, "g++", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 1;
  return error == 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/// In the child: least nanoseconds of one run, or nothing when the answer is wrong.
double measure(const char* object, double seconds) {
  void* library = dlopen(object, RTLD_NOW);
  if (!library) return 0;
  const auto entry = [&](const char* name) { return reinterpret_cast<void (*)()>(dlsym(library, name)); };
  const auto prepare = entry("prepare"), run = entry("run");
  const auto right = reinterpret_cast<int (*)()>(dlsym(library, "right"));
  if (!prepare || !run || !right) return 0;
  prepare();
  run();
  if (!right()) return 0;
  double best = HUGE_VAL;
  const std::int64_t start = monotonic_ns();
  for (std::int64_t now = start; static_cast<double>(now - start) < seconds * 1e9;) {
    run();
    const std::int64_t after = monotonic_ns();
    best = std::min(best, static_cast<double>(after - now));
    now = after;
  }
  return best;
}

/// 0 when wrong, crashed, or not done within five seconds.
double visit(const std::string& object, double seconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return 0;
  const pid_t pid = fork();
  if (pid == 0) {
    const rlimit limit{5, 5};
    setrlimit(RLIMIT_CPU, &limit);
    const double ns = measure(object.c_str(), seconds);
    const bool written = write(ends[1], &ns, sizeof ns) == sizeof ns;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  double ns = 0;
  pollfd wait{ends[0], POLLIN, 0};
  if (poll(&wait, 1, 20000) <= 0 || read(ends[0], &ns, sizeof ns) != sizeof ns) ns = 0;
  close(ends[0]);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return ns;
}

/// Every valid point. The requirements are C++ as well, so the compiler evaluates them.
Result<std::vector<Point>> valid_points(const Kernel& kernel, const std::string& folder) {
  std::string source = "extern \"C\" int valid(const int* value) {\n";
  for (std::size_t k = 0; k < kernel.knobs.size(); ++k)
    source += fmt::format("const int {} = value[{}]; (void){};\n", kernel.knobs[k].name, k, kernel.knobs[k].name);
  for (const std::string& text : kernel.requirements) source += fmt::format("if (!({})) return 0;\n", text);
  const std::string object = folder + "/valid.so";
  if (!compile(kernel, source + "return 1; }\n", object)) return usage_error(kernel.path + ": a requirement is malformed");
  void* library = dlopen(object.c_str(), RTLD_NOW);
  const auto valid = library ? reinterpret_cast<int (*)(const int*)>(dlsym(library, "valid")) : nullptr;
  if (!valid) return environment_error("cannot load " + object);

  std::vector<Point> points;
  std::vector<std::size_t> digit(kernel.knobs.size());
  for (;;) {
    Point point;
    std::vector<int> numbers;
    for (std::size_t k = 0; k < digit.size(); ++k) {
      point.push_back(kernel.knobs[k].values[digit[k]]);
      numbers.push_back(std::stoi(point.back()));
    }
    if (valid(numbers.data())) points.push_back(std::move(point));
    std::size_t k = digit.size();
    while (k > 0 && ++digit[k - 1] == kernel.knobs[k - 1].values.size()) digit[--k] = 0;
    if (k == 0) return points;
  }
}

std::string row_of(const Point& point) {
  std::string row;
  for (const std::string& value : point) row += value + ",";
  return row;
}

std::map<std::string, double> read_part(const std::string& path) {
  std::map<std::string, double> times;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const std::size_t comma = line.rfind(',');
    if (comma != std::string::npos) times[line.substr(0, comma + 1)] = std::atof(line.c_str() + comma + 1);
  }
  return times;
}

std::string machine() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

Status record(const std::string& kernel_path, const std::string& out_path) {
  HONE_TRY(const Kernel kernel, read_kernel(kernel_path));
  HONE_TRY(const TemporaryFolder folder, TemporaryFolder::make("hone-record-"));
  HONE_TRY(const std::vector<Point> points, valid_points(kernel, folder.path()));
  const std::string part_path = out_path + ".part";
  std::map<std::string, double> times = read_part(part_path);
  std::ofstream part(part_path, std::ios::app);
  const std::string object = folder.path() / "point.so";

  std::size_t done = 0;
  for (const Point& point : points) {
    const std::string row = row_of(point);
    if (++done % 100 == 0) fmt::print(stderr, "{}: {} of {}\n", kernel_path, done, points.size());
    if (times.count(row)) continue;
    const bool built = compile(kernel, definitions(kernel, point) + kernel.source, object);
    times[row] = built ? visit(object, kFirstVisit_s) : 0;
    part << row << fmt::format("{:.0f}", times[row]) << std::endl;
  }

  double best = HUGE_VAL;
  for (const auto& [row, ns] : times)
    if (ns > 0) best = std::min(best, ns);
  std::vector<std::pair<std::string, std::string>> near;  // row, object
  for (const Point& point : points) {
    const std::string row = row_of(point);
    if (times[row] == 0 || times[row] > 1.25 * best) continue;
    near.emplace_back(row, folder.path() / fmt::format("near{}.so", near.size()));
    compile(kernel, definitions(kernel, point) + kernel.source, near.back().second);
  }
  for (int round = 0; round < kNextVisits; ++round)
    for (const auto& [row, file] : near)
      if (const double ns = visit(file, kNextVisit_s); ns > 0) times[row] = std::min(times[row], ns);

  std::string flags, header;
  for (const std::string& flag : kernel.flags) flags += " " + flag;
  for (const Knob& knob : kernel.knobs) header += knob.name + ",";
  std::string text = fmt::format(
      "# hone recorded space 1\n# kernel: {}\n# made by: bench/record_space, g++{}; least of the runs in {:.0f} ms; "
      "{} points within 25 % of the best: of {} more visits of {:.0f} ms\n# machine: {}, one thread\n{}ns\n",
      kernel.path, flags, kFirstVisit_s * 1e3, near.size(), kNextVisits, kNextVisit_s * 1e3, machine(), header);
  for (const Point& point : points) {
    const double ns = times[row_of(point)];
    text += row_of(point) + (ns > 0 ? fmt::format("{:.0f}\n", ns) : "wrong\n");
  }
  HONE_CHECK(write_file(out_path, text));
  std::remove(part_path.c_str());

  best = HUGE_VAL;
  std::size_t wrong = 0, good = 0;
  for (const auto& [row, ns] : times) {
    if (ns > 0) best = std::min(best, ns);
    wrong += ns == 0;
  }
  for (const auto& [row, ns] : times) good += ns > 0 && ns <= best / 0.95;
  fmt::print("{}: {} points, {} wrong, best {:.0f} ns, {} ({:.2f} %) within 5 %\n", kernel_path, points.size(),
             wrong, best, good, 100.0 * static_cast<double>(good) / static_cast<double>(points.size()));
  return {};
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: record_space KERNEL.cpp OUT.csv\n");
    return 2;
  }
  if (const auto status = hone::record(argv[1], argv[2]); !status.ok()) {
    fmt::print(stderr, "{}\n", status.error().text());
    return hone::exit_code(status.error());
  }
  return 0;
}
