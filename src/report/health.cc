#include "report/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace hone::report {
namespace {

using Align = Table::Align;
constexpr std::array kStates = {"ok", "limited", "missing"};
constexpr std::array kPaints = {Paint::good, Paint::warn, Paint::bad};

std::string joined(const std::vector<std::string>& all) {
  std::string out;
  for (const std::string& one : all) out += (out.empty() ? "" : ", ") + one;
  return out.empty() ? "none" : out;
}

std::string percent(double share) { return fmt::format("{:.3g} %", share * 100); }

}  // namespace

bool healthy(const DoctorReport& report) {
  return std::find(report.lanes.begin(), report.lanes.end(), "cpu") != report.lanes.end();
}

std::string to_text(const DoctorReport& report, const Style& style) {
  std::string out = healthy(report) ? paint(style, Paint::good, "Hone works here") + "\n"
                                    : paint(style, Paint::bad, "Hone cannot work here yet: the cpu lane is missing") + "\n";
  const auto model = report.device.find("model");
  out += fields(style, {{"processor", model != report.device.end() && model->is_string() ? model->get<std::string>() : ""},
                        {"lanes", joined(report.lanes)},
                        {"sandbox", joined(report.sandbox)}});
  out += "\n";
  for (const Check& check : report.checks) {
    const auto state = static_cast<std::size_t>(check.state);
    out += fmt::format("  {}  {}{}\n", paint(style, kPaints[state], fmt::format("{:<7}", kStates[state])), check.name,
                       check.detail.empty() ? "" : ": " + check.detail);
    if (!check.cure.empty()) out += fmt::format("           {}\n", check.cure);
  }
  if (report.resolution.empty()) return out;
  out += "\nwhat this machine can resolve\n";
  Table table({{"kernel", Align::left}, {"trials", Align::right}, {"interval holds 1", Align::right},
               {"half width", Align::right}, {"planted", Align::right}, {"found", Align::right}});
  for (const Resolution& r : report.resolution)
    table.add({r.kernel, std::to_string(r.trials), percent(r.covered), percent(r.half_width), percent(r.planted), percent(r.found)});
  return out + table.text(style, "  ");
}

Json to_json(const DoctorReport& report) {
  Json out = {{"document", "doctor"}, {"version", 1}, {"healthy", healthy(report)}, {"lanes", report.lanes},
              {"sandbox", report.sandbox}, {"checks", Json::array()}, {"resolution", Json::array()}};
  for (const Check& c : report.checks)
    out["checks"].push_back({{"name", c.name}, {"state", kStates[static_cast<std::size_t>(c.state)]}, {"detail", c.detail},
                             {"cure", c.cure}});
  for (const Resolution& r : report.resolution)
    out["resolution"].push_back({{"kernel", r.kernel}, {"trials", r.trials}, {"covered", number(r.covered)},
                                 {"half_width", number(r.half_width)}, {"planted", number(r.planted)},
                                 {"found", number(r.found)}});
  out["device"] = report.device;
  return out;
}

std::string error_text(const Error& error, const Style& style) {
  std::string out = fmt::format("{} {}\n", paint(style, Paint::bad, "error:"), scrub(error.message, 4096));
  if (!error.cure.empty()) out += fmt::format("{} {}\n", paint(style, Paint::strong, "try:"), scrub(error.cure, 4096));
  std::vector<std::pair<std::string, std::string>> details;
  for (const auto& [key, value] : error.details) details.emplace_back(key, scrub(value, 4096));
  return out + fields(style, details, "  ");
}

Json error_json(const Error& error) {
  Json out = {{"document", "error"}, {"version", 1}, {"code", name_of(error.code)}, {"exit", exit_code(error)},
              {"message", error.message}, {"cure", error.cure}, {"details", Json::object()}};
  for (const auto& [key, value] : error.details) out["details"][key] = value;
  return out;
}

}  // namespace hone::report
