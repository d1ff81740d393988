#include "runner/layout.h"

#include <algorithm>

namespace hone::runner {
namespace {

std::uint64_t round_up(std::uint64_t x, std::uint64_t to) { return (x + to - 1) / to * to; }

Status place_guarded(const std::vector<task::Tensor>& tensors, const task::Dims& dims, Side side, std::uint64_t region,
                     std::vector<Place>& out) {
  std::uint64_t at = 0;
  for (const task::Tensor& tensor : tensors) {
    HONE_TRY(const std::int64_t bytes, task::bytes_of(tensor, dims));
    Place place;
    place.bytes = static_cast<std::uint64_t>(bytes);
    place.region = at;
    const auto align = static_cast<std::uint64_t>(tensor.align);
    place.region_bytes = std::max(region, round_up(round_up(place.bytes, align), std::max(region, align)));
    // Upper: the tensor ends as near to the next unmapped page as its alignment allows.
    place.data = side == Side::lower ? at : at + place.region_bytes - round_up(place.bytes, align);
    at += place.region_bytes;
    out.push_back(place);
  }
  return {};
}

Result<std::uint64_t> place_packed(const std::vector<task::Tensor>& tensors, const task::Dims& dims,
                                   std::vector<Place>& out) {
  std::uint64_t at = 0;
  for (const task::Tensor& tensor : tensors) {
    HONE_TRY(const std::int64_t bytes, task::bytes_of(tensor, dims));
    Place place;
    at = round_up(at, std::max<std::uint64_t>(256, static_cast<std::uint64_t>(tensor.align)));
    place.bytes = static_cast<std::uint64_t>(bytes);
    place.region = place.data = at;
    place.region_bytes = place.bytes;
    at += place.bytes;
    out.push_back(place);
  }
  // An odd number of cache lines between sets, so that the same element of successive sets does not fall
  // into one cache set when tensors are powers of two.
  return round_up(at, 256) + 256 + 64 * (at / 256 % 2 == 0 ? 0 : 4);
}

std::uint64_t arena_bytes(const std::vector<Place>& places, std::uint64_t stride, std::int64_t sets) {
  std::uint64_t end = 0;
  for (const Place& place : places) end = std::max(end, place.region + std::max(place.region_bytes, place.bytes));
  return std::max(kPage, round_up(end + stride * static_cast<std::uint64_t>(sets - 1), kPage));
}

Json places_to_json(const std::vector<Place>& places) {
  Json out = Json::array();
  for (const Place& p : places) out.push_back({p.region, p.region_bytes, p.data, p.bytes});
  return out;
}

Result<std::vector<Place>> places_from_json(const Json& json) {
  std::vector<Place> out;
  if (!json.is_array()) return usage_error("layout: places are not a list");
  for (const Json& p : json) {
    if (!p.is_array() || p.size() != 4) return usage_error("layout: a place is not four numbers");
    for (const Json& x : p)
      if (!x.is_number_unsigned()) return usage_error("layout: a place is not four numbers");
    out.push_back({p[0].get<std::uint64_t>(), p[1].get<std::uint64_t>(), p[2].get<std::uint64_t>(),
                   p[3].get<std::uint64_t>()});
  }
  return out;
}

}  // namespace

Result<Layout> guarded_layout(const task::Task& task, const task::Dims& dims, Side side, std::uint64_t region) {
  Layout layout;
  HONE_CHECK(place_guarded(task.inputs, dims, side, region, layout.inputs));
  HONE_CHECK(place_guarded(task.outputs, dims, side, region, layout.outputs));
  return layout;
}

Result<Layout> packed_layout(const task::Task& task, const task::Dims& dims, std::int64_t sets) {
  Layout layout;
  layout.guarded = false;
  layout.sets = sets;
  HONE_TRY(layout.input_stride, place_packed(task.inputs, dims, layout.inputs));
  HONE_TRY(layout.output_stride, place_packed(task.outputs, dims, layout.outputs));
  std::uint64_t align = 256;
  for (const auto* list : {&task.inputs, &task.outputs})
    for (const task::Tensor& t : *list) align = std::max(align, static_cast<std::uint64_t>(t.align));
  layout.input_stride = round_up(layout.input_stride, align);
  layout.output_stride = round_up(layout.output_stride, align);
  return layout;
}

std::uint64_t input_arena_bytes(const Layout& l) { return arena_bytes(l.inputs, l.input_stride, l.sets); }
std::uint64_t output_arena_bytes(const Layout& l) { return arena_bytes(l.outputs, l.output_stride, l.sets); }

Json to_json(const Layout& l) {
  return {{"inputs", places_to_json(l.inputs)}, {"outputs", places_to_json(l.outputs)},
          {"input_stride", l.input_stride},     {"output_stride", l.output_stride},
          {"sets", l.sets},                     {"guarded", l.guarded}};
}

Result<Layout> layout_from_json(const Json& json) {
  Layout l;
  if (!json.is_object()) return usage_error("layout: not an object");
  HONE_TRY(l.inputs, places_from_json(json.value("inputs", Json())));
  HONE_TRY(l.outputs, places_from_json(json.value("outputs", Json())));
  HONE_TRY(const std::int64_t input_stride, get_int(json, "input_stride", "layout"));
  HONE_TRY(const std::int64_t output_stride, get_int(json, "output_stride", "layout"));
  HONE_TRY(l.sets, get_int(json, "sets", "layout"));
  HONE_TRY(l.guarded, get_bool(json, "guarded", "layout"));
  if (input_stride < 0 || output_stride < 0 || l.sets < 1) return usage_error("layout: negative stride or no sets");
  l.input_stride = static_cast<std::uint64_t>(input_stride);
  l.output_stride = static_cast<std::uint64_t>(output_stride);
  return l;
}

}  // namespace hone::runner
