#include "lane/cpu/toolchain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "device/cpu.h"

namespace hone::lane {
namespace {

/// The compiler's answer to -print-file-name and the like; empty when it does not know the file.
std::string ask(const std::string& program, const std::string& question) {
  const auto answer = run_command({program, question});
  if (!answer.ok() || answer->code != 0) return "";
  std::error_code error;
  const fs::path path = fs::weakly_canonical(fs::path(std::string(trim(answer->out))), error);
  return !error && path.is_absolute() && fs::exists(path, error) ? path.string() : "";
}

/// The words of a command line printed by -###, with or without quotes.
std::vector<std::string> command_words(std::string_view line) {
  std::vector<std::string> out;
  std::string word;
  bool quoted = false, any = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && i + 1 < line.size()) {
      word += line[++i];
      any = true;
    } else if (c == '"') {
      quoted = !quoted;
      any = true;
    } else if (c == ' ' && !quoted) {
      if (any) out.push_back(std::exchange(word, ""));
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  if (any) out.push_back(word);
  return out;
}

/// g++ prints the flags themselves; clang a target processor and its features, told here as flags.
std::vector<std::string> native_flags(const std::string& program) {
  const auto answer = run_command({program, "-march=native", "-###", "-S", "-x", "c++", "/dev/null", "-o", "-"});
  if (!answer.ok()) return {};
  std::vector<std::string> out;
  for (const auto line : split(answer->err, '\n')) {
    if (line.find("cc1plus") == std::string_view::npos && line.find("\"-cc1\"") == std::string_view::npos) continue;
    const auto all = command_words(line);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string& word = all[i];
      const bool next = i + 1 < all.size();
      if (word == "-target-cpu" && next) out.push_back("-march=" + all[i + 1]);
      if (word == "-target-feature" && next && all[i + 1].size() > 1)
        out.push_back((all[i + 1][0] == '+' ? "-m" : "-mno-") + all[i + 1].substr(1));
      if (word == "--param" && next) out.push_back("--param=" + all[i + 1]);
      if (word.rfind("-m", 0) == 0 && word.rfind("-mrelocation", 0) != 0 && word.rfind("-main-file", 0) != 0 &&
          word.rfind("-mframe-pointer", 0) != 0 && word.rfind("-mconstructor", 0) != 0 && word.rfind("-mllvm", 0) != 0 &&
          word.rfind("-munwind", 0) != 0 && word != "-mthread-model" && word.rfind("-mfloat-abi", 0) != 0)
        out.push_back(word);
    }
    break;
  }
  return out;
}

/// libomp.so lies beside clang's own libraries, where -print-file-name does not look on every release.
std::string clang_openmp(const std::string& program) {
  if (std::string known = ask(program, "-print-file-name=libomp.so"); !known.empty()) return known;
  std::error_code error;
  const fs::path real = fs::canonical(program, error);
  if (error) return "";
  const fs::path beside = real.parent_path().parent_path() / "lib" / "libomp.so";
  const fs::path library = fs::canonical(beside, error);
  return error ? "" : library.string();
}

std::string find_archer(const std::string& program) {
  std::error_code error;
  const fs::path real = fs::canonical(program, error);
  if (error) return "";
  const fs::path path = real.parent_path().parent_path() / "lib" / "libarcher.so";
  return fs::exists(path, error) ? path.string() : "";
}

/// The jail shows /usr alone, so a compiler elsewhere would not be found in it.
Status below_usr(const std::string& program) {
  std::error_code error;
  const fs::path real = fs::canonical(program, error);
  if (!error && real.string().rfind("/usr/", 0) == 0) return {};
  return environment_error("the compiler " + program + " lies outside /usr, which is all that compilers see in the sandbox",
                           "Install it as a package of the system");
}

Result<Toolchain> probe(const std::string& name) {
  Toolchain tools;
  tools.name = name;
  HONE_TRY(tools.version, device::compiler_version(name));
  std::error_code error;
  tools.program = find_program(name);
  HONE_CHECK(below_usr(tools.program));
  // /bin is /usr/bin on merged systems; the jail has both, /usr always.
  if (tools.program.rfind("/bin/", 0) == 0) tools.program = "/usr" + tools.program;
  tools.clang = tools.version.find("clang") != std::string::npos;
  const auto linker = run_command({tools.program, "-print-prog-name=ld"});
  tools.linker = linker.ok() ? find_program(std::string(trim(linker->out))) : "";
  if (tools.linker.empty()) return environment_error("there is no linker 'ld' on this machine", "Install it: apt-get install binutils");
  if (tools.linker.rfind("/bin/", 0) == 0) tools.linker = "/usr" + tools.linker;
  HONE_TRY(const CommandOutput linker_version, run_command({tools.linker, "--version"}));
  tools.linker_version = std::string(trim(split(linker_version.out, '\n').front()));
  const std::string openmp = tools.clang ? clang_openmp(tools.program) : ask(tools.program, "-print-file-name=libgomp.so");
  for (const std::string& path :
       {ask(tools.program, "-print-file-name=libstdc++.so"), openmp, ask(tools.program, "-print-file-name=libquadmath.so"),
        ask(tools.program, "-print-file-name=libm.so"), ask(tools.program, "-print-file-name=libgcc_s.so.1"),
        ask(tools.program, "-print-file-name=libgcc.a"), ask(tools.program, "-print-file-name=libc.so")})
    if (!path.empty()) tools.libraries.push_back(path);
  if (tools.clang) tools.archer = find_archer(tools.program);
  tools.native = native_flags(tools.program);
  return tools;
}

}  // namespace

std::string Toolchain::fingerprint() const {
  return fmt::format("{}\n{}\n{}\n{}\n{}", program, version, linker_version, fmt::join(libraries, " "),
                     fmt::join(native, " "));
}

std::vector<std::string> Toolchain::expand(const std::vector<std::string>& flags) const {
  const auto is_march = [](const std::string& flag) { return flag.rfind("-march=", 0) == 0; };
  const auto last = std::find_if(flags.rbegin(), flags.rend(), is_march);
  std::vector<std::string> out;
  for (auto at = flags.begin(); at != flags.end(); ++at) {
    if (*at != "-march=native" || native.empty()) {
      out.push_back(*at);
    } else if (last != flags.rend() && &*last == &*at) {
      out.insert(out.end(), native.begin(), native.end());
    }
  }
  return out;
}

bool is_compiler_name(const std::string& name) {
  for (const char* known : {"g++", "clang++"}) {
    const std::string prefix = known;
    if (name == prefix) return true;
    if (name.rfind(prefix + "-", 0) == 0 && name.size() > prefix.size() + 1 && name.size() <= prefix.size() + 4 &&
        std::all_of(name.begin() + static_cast<std::ptrdiff_t>(prefix.size()) + 1, name.end(),
                    [](unsigned char c) { return std::isdigit(c) != 0; }))
      return true;
  }
  return false;
}

Result<Toolchain> find_toolchain(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, Toolchain> known;
  const std::scoped_lock lock(mutex);
  if (const auto it = known.find(name); it != known.end()) return it->second;
  std::string chosen = name;
  if (chosen.empty()) chosen = find_program("g++").empty() && !find_program("clang++").empty() ? "clang++" : "g++";
  HONE_TRY(Toolchain tools, probe(chosen));
  known.emplace(name, tools);
  return tools;
}

}  // namespace hone::lane
