#include <fmt/format.h>

#include "engine/init.h"
#include "hone/hone.h"

namespace hone {

Result<Document> init(const InitRequest& request) {
  engine::InitOptions options;
  options.function = request.function;
  options.folder = request.folder;
  options.force = request.force;
  HONE_TRY(const engine::InitResult result, engine::scaffold_task(request.kernel, options));
  Document document;
  document.text = fmt::format("{}: a task for {}\n", result.folder.string(), result.function);
  for (const fs::path& file : result.files) document.text += fmt::format("  wrote {}\n", file.string());
  if (!result.guesses.empty()) {
    document.text += "guessed, please check:\n";
    for (const std::string& guess : result.guesses) document.text += fmt::format("  {}\n", guess);
  }
  document.text += "next:\n";
  for (const std::string& step : result.next_steps) document.text += fmt::format("  {}\n", step);
  document.json = engine::to_json(result).dump(2);
  return document;
}

}  // namespace hone
