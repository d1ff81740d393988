#include "runner/cuda/launch_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "task/expression.h"

namespace hone::runner {
namespace {

using candidate::Launch;
using candidate::LaunchArgument;

Json launch_to_json(const Launch& launch) {
  Json arguments = Json::array();
  for (const LaunchArgument& a : launch.arguments) arguments.push_back({a.argument, a.type, a.pointer});
  return {{"kernel", launch.kernel}, {"grid", launch.grid}, {"block", launch.block}, {"shared", launch.shared},
          {"arguments", arguments}};
}

Result<std::vector<std::string>> strings(const Json& json, const char* key) {
  std::vector<std::string> out;
  if (!json.contains(key) || !json[key].is_array()) return usage_error(fmt::format("launch plan: no list '{}'", key));
  for (const Json& text : json[key]) {
    if (!text.is_string()) return usage_error(fmt::format("launch plan: '{}' holds more than text", key));
    out.push_back(text.get<std::string>());
  }
  return out;
}

Result<Launch> launch_from_json(const Json& json) {
  Launch launch;
  HONE_TRY(launch.kernel, get_string(json, "kernel", "launch plan"));
  HONE_TRY(launch.shared, get_string(json, "shared", "launch plan"));
  HONE_TRY(launch.grid, strings(json, "grid"));
  HONE_TRY(launch.block, strings(json, "block"));
  for (const Json& a : json.value("arguments", Json::array())) {
    if (!a.is_array() || a.size() != 3 || !a[0].is_number_unsigned() || !a[1].is_string() || !a[2].is_boolean())
      return usage_error("launch plan: an argument is not [number, type, pointer]");
    launch.arguments.push_back({a[0].get<std::size_t>(), a[1].get<std::string>(), a[2].get<bool>()});
  }
  return launch;
}

/// The bytes of a value as the parameter's declared type.
std::array<std::byte, 16> packed(const LaunchArgument& argument, const candidate::Argument& named, const GpuValue& value,
                                 const task::Task& task, std::size_t real_bytes) {
  std::array<std::byte, 16> out{};
  const auto put = [&](const auto& x) { std::memcpy(out.data(), &x, sizeof x); };
  if (argument.pointer) {
    put(value.address);
  } else if (named.kind == candidate::Argument::Kind::dim) {
    if (parameter_bytes(argument, real_bytes) == 4)
      put(static_cast<std::int32_t>(value.dim));
    else
      put(value.dim);
  } else if (argument.type == "HONE_REAL") {
    if (real_bytes == 8)
      put(value.scalar);
    else
      put(static_cast<float>(value.scalar));
  } else {
    task::store_element(task.scalars[named.index].dtype, out.data(), value.scalar);
  }
  return out;
}

Status check_parameters(const device::GpuKernel& kernel, const Launch& launch, std::size_t real_bytes) {
  std::vector<std::size_t> planned;
  for (const LaunchArgument& a : launch.arguments) planned.push_back(parameter_bytes(a, real_bytes));
  std::vector<std::size_t> found;
  for (const auto& [offset, size] : kernel.parameters) found.push_back(size);
  if (planned == found) return {};
  return usage_error(fmt::format("kernel '{}' takes parameters of {} bytes, the plan gives {}", kernel.name,
                                 fmt::join(found, ", "), fmt::join(planned, ", ")));
}

Result<std::uint32_t> extent(std::int64_t value, const Launch& launch, const char* what) {
  if (value > std::numeric_limits<std::uint32_t>::max())
    return usage_error(fmt::format("kernel '{}': {} of {} is beyond 32 bits", launch.kernel, what, value));
  return static_cast<std::uint32_t>(value);
}

}  // namespace

std::size_t parameter_bytes(const LaunchArgument& argument, std::size_t real_bytes) {
  if (argument.pointer) return 8;
  if (argument.type == "HONE_REAL") return real_bytes;
  static const std::vector<std::pair<std::vector<std::string>, std::size_t>> kSizes = {
      {{"char", "signed char", "unsigned char", "int8_t", "uint8_t", "bool"}, 1},
      {{"short", "unsigned short", "int16_t", "uint16_t", "hone_f16", "half", "__half", "hone_bf16", "nv_bfloat16",
        "__nv_bfloat16", "_Float16", "__bf16"},
       2},
      {{"int", "unsigned", "int32_t", "uint32_t", "float"}, 4}};
  for (const auto& [types, bytes] : kSizes)
    if (std::find(types.begin(), types.end(), argument.type) != types.end()) return bytes;
  return 8;
}

Json plan_to_json(const candidate::Resolved& plan) {
  Json out = {{"launches", Json::array()}, {"selects", Json::array()}, {"scratch", Json::array()},
              {"narrow", plan.narrow_dims}, {"in_place", plan.in_place}, {"assignment", candidate::to_json(plan.assignment)}};
  for (const Launch& launch : plan.launches) out["launches"].push_back(launch_to_json(launch));
  for (const Launch& launch : plan.selects) out["selects"].push_back(launch_to_json(launch));
  for (const candidate::Scratch& s : plan.scratch) {
    Json shape = Json::array();
    for (const auto& e : s.shape) shape.push_back(e.text());
    out["scratch"].push_back({{"name", s.name}, {"dtype", task::name_of(s.dtype)}, {"shape", shape}, {"zero", s.zero}});
  }
  return out;
}

Result<candidate::Resolved> plan_from_json(const Json& json) {
  candidate::Resolved plan;
  plan.lane = "cuda";
  for (const Json& launch : json.value("launches", Json::array())) {
    HONE_TRY(Launch read, launch_from_json(launch));
    plan.launches.push_back(std::move(read));
  }
  for (const Json& launch : json.value("selects", Json::array())) {
    HONE_TRY(Launch read, launch_from_json(launch));
    plan.selects.push_back(std::move(read));
  }
  for (const Json& s : json.value("scratch", Json::array())) {
    candidate::Scratch scratch;
    HONE_TRY(scratch.name, get_string(s, "name", "launch plan"));
    HONE_TRY(const std::string dtype, get_string(s, "dtype", "launch plan"));
    HONE_TRY(scratch.dtype, task::dtype_from(dtype));
    HONE_TRY(scratch.zero, get_bool(s, "zero", "launch plan"));
    HONE_TRY(const std::vector<std::string> shape, strings(s, "shape"));
    for (const std::string& text : shape) {
      HONE_TRY(auto parsed, task::Expression::parse(text));
      scratch.shape.push_back(std::move(parsed));
    }
    plan.scratch.push_back(std::move(scratch));
  }
  const Json narrow = json.value("narrow", Json::object());
  for (const auto& [name, type] : narrow.items())
    if (type.is_string()) plan.narrow_dims[name] = type.get<std::string>();
  HONE_TRY(plan.in_place, get_bool(json, "in_place", "launch plan"));
  HONE_TRY(plan.assignment, candidate::assignment_from(json.value("assignment", Json::object())));
  return plan;
}

Result<std::vector<std::array<std::byte, 16>>> pack_arguments(const Launch& launch, const std::vector<GpuValue>& values,
                                                              const candidate::Resolved& plan, const task::Task& task,
                                                              std::size_t real_bytes) {
  const std::vector<candidate::Argument> named = candidate::argument_list(task, plan.scratch);
  if (named.size() != values.size()) return bug_error("launch plan: one value an argument expected");
  std::vector<std::array<std::byte, 16>> out;
  for (const LaunchArgument& a : launch.arguments) {
    if (a.argument >= values.size()) return usage_error("launch plan: no such argument");
    out.push_back(packed(a, named[a.argument], values[a.argument], task, real_bytes));
  }
  return out;
}

Result<std::vector<std::unique_ptr<ReadyLaunch>>> prepare_launches(const device::GpuModule& module,
                                                                   const candidate::Resolved& plan,
                                                                   const task::Task& task, const task::Dims& dims,
                                                                   const std::vector<GpuValue>& values,
                                                                   std::size_t real_bytes) {
  HONE_TRY(const std::vector<candidate::LaunchShape> shapes, candidate::shapes_for(plan, dims));
  std::vector<std::unique_ptr<ReadyLaunch>> out;
  for (std::size_t l = 0; l < plan.launches.size(); ++l) {
    const Launch& launch = plan.launches[l];
    auto ready = std::make_unique<ReadyLaunch>();
    HONE_TRY(ready->kernel, module.kernel(launch.kernel));
    HONE_CHECK(check_parameters(ready->kernel, launch, real_bytes));
    for (std::size_t i = 0; i < 3; ++i) {
      HONE_TRY(ready->how.grid[i], extent(shapes[l].grid[i], launch, "grid"));
      HONE_TRY(ready->how.block[i], extent(shapes[l].block[i], launch, "block"));
      ready->empty = ready->empty || ready->how.grid[i] == 0;
    }
    HONE_TRY(ready->how.shared_bytes, extent(shapes[l].shared_bytes, launch, "shared memory"));
    HONE_TRY(ready->storage, pack_arguments(launch, values, plan, task, real_bytes));
    for (auto& slot : ready->storage) ready->parameters.push_back(slot.data());
    out.push_back(std::move(ready));
  }
  return out;
}

}  // namespace hone::runner
