#include "runner/oracle_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <set>

#include "base/clock.h"
#include "base/hash.h"
#include "runner/layout.h"
#include "runner/stream_copy.h"

namespace hone::runner {

// ---- small helpers -------------------------------------------------------------------------------------------

namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const task::PhiloxBlock block = task::philox(a, b, 0x4F52);
  return (std::uint64_t{block.x[1]} << 32) | block.x[0];
}

/// A NaN with a random payload for floats (an element left unwritten is then wrong on sight), random bytes else.
std::vector<std::byte> poison_for(task::DType dtype) {
  std::uint64_t random = entropy64();
  switch (dtype) {
    case task::DType::f64: random = (random & 0x0007FFFFFFFFFFFFull) | 0x7FF8000000000001ull; break;
    case task::DType::f32: random = (random & 0x003FFFFFull) | 0x7FC00001ull; break;
    case task::DType::f16: random = (random & 0x01FFull) | 0x7E01ull; break;
    case task::DType::bf16: random = (random & 0x003Full) | 0x7FC1ull; break;
    case task::DType::boolean: random |= 2; break;
    default: break;
  }
  std::vector<std::byte> pattern(task::size_of(dtype));
  std::memcpy(pattern.data(), &random, pattern.size());
  return pattern;
}

void fill_pattern(std::byte* to, std::uint64_t bytes, std::span<const std::byte> pattern) {
  if (bytes == 0) return;
  const std::uint64_t first = std::min<std::uint64_t>(bytes, pattern.size());
  std::memcpy(to, pattern.data(), first);
  for (std::uint64_t done = first; done < bytes;) {
    const std::uint64_t n = std::min(done, bytes - done);
    std::memcpy(to + done, to, n);
    done += n;
  }
}

std::byte slack_byte(std::uint64_t seed, std::uint64_t offset) {
  std::uint64_t x = seed + (offset / 8) * 0x9E3779B97F4A7C15ull;  // splitmix64: cheap, and nobody sees the seed
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return static_cast<std::byte>((x ^ (x >> 31)) >> (8 * (offset % 8)));
}

/// Calls f(offset) for each byte of the region that belongs to no tensor.
template <typename F>
void for_slack(const Place& place, F f) {
  for (std::uint64_t at = place.region; at < place.data; ++at) f(at);
  for (std::uint64_t at = place.data + place.bytes; at < place.region + place.region_bytes; ++at) f(at);
}

std::uint64_t truth_bytes(const InputSet& set, const std::vector<Truth>& truths) {
  std::uint64_t total = 0;
  for (const auto& input : set.inputs) total += input.size();
  for (const Truth& t : truths)
    total += 8 * (t.hi.size() + t.lo.size() + t.spread.size() + t.rounded.size() + t.lower.size()) +
             t.rounded_bits.size();
  return total;
}

bool same_key(const DrawKey& a, const DrawKey& b) {
  return a.dims == b.dims && a.spec.seed == b.spec.seed && a.spec.distribution == b.spec.distribution &&
         a.spec.offset == b.spec.offset;
}

std::optional<std::size_t> inout_source(const task::Task& task, const task::Tensor& output) {
  if (output.inout.empty()) return std::nullopt;
  for (std::size_t i = 0; i < task.inputs.size(); ++i)
    if (task.inputs[i].name == output.inout) return i;
  return std::nullopt;
}

}  // namespace

// ---- life ----------------------------------------------------------------------------------------------------

Result<std::unique_ptr<OracleCore>> OracleCore::make(task::Task task, const Parts& parts, std::uint64_t memory_bytes) {
  std::unique_ptr<OracleCore> core(new OracleCore);
  core->task_ = std::move(task);
  core->parts_ = parts;
  core->memory_bytes_ = memory_bytes;
  HONE_TRY(References references, parts.load(core->task_));
  core->evaluator_.emplace(core->task_, std::move(references));
  return core;
}

OracleCore::NewArenas OracleCore::describe(const ArenaPair& pair) {
  return {pair.id, pair.inputs->descriptors(), pair.outputs->descriptors(), &pair.layout};
}

Result<OracleCore::NewArenas> OracleCore::add_arenas(const task::Dims& dims, Layout layout) {
  HONE_TRY(auto inputs, parts_.arenas(layout.inputs, input_arena_bytes(layout), true));
  HONE_TRY(auto outputs, parts_.arenas(layout.outputs, output_arena_bytes(layout), false));
  const std::uint64_t id = next_id_++;
  arenas_[id] = std::make_unique<ArenaPair>(
      ArenaPair{id, dims, std::move(layout), std::move(inputs), std::move(outputs), {}, 0, 0, {}});
  return describe(*arenas_[id]);
}

Result<OracleCore::NewArenas> OracleCore::make_arenas(const task::Dims& dims, Side side) {
  HONE_TRY(Layout layout, guarded_layout(task_, dims, side, parts_.region));
  return add_arenas(dims, std::move(layout));
}

std::uint64_t OracleCore::ArenaPair::total_bytes() const {
  std::uint64_t total = inputs->bytes().size() + outputs->bytes().size();
  for (const Source& source : sources) {
    total += source.master.size();
    for (const auto& variant : source.variants) total += variant.size();
  }
  return total;
}

// Touching fresh pages and drawing what windows are cut from costs more than a comparison of a small kernel may:
// the arenas of the last comparisons wait for the next one of the same case.
Result<OracleCore::NewArenas> OracleCore::make_timing_arenas(const task::Dims& dims, std::int64_t sets) {
  const auto fits = [&](const std::unique_ptr<ArenaPair>& p) { return p->dims == dims && p->layout.sets == sets; };
  if (const auto it = std::find_if(idle_.begin(), idle_.end(), fits); it != idle_.end()) {
    std::unique_ptr<ArenaPair> pair = std::move(*it);
    idle_.erase(it);
    NewArenas made = describe(*pair);
    arenas_[made.id] = std::move(pair);
    return made;
  }
  HONE_TRY(Layout layout, packed_layout(task_, dims, sets));
  HONE_TRY(NewArenas made, add_arenas(dims, std::move(layout)));
  HONE_CHECK(prepare_sources(*arenas_[made.id]));
  return made;
}

Status OracleCore::drop_arenas(std::uint64_t id) {
  constexpr std::size_t kMostIdle = 4;
  constexpr std::uint64_t kMostIdleBytes = std::uint64_t{1} << 30;
  const auto it = arenas_.find(id);
  if (it == arenas_.end()) return {};
  it->second->filled = 0;
  if (!it->second->layout.guarded) idle_.push_front(std::move(it->second));
  arenas_.erase(it);
  std::uint64_t total = 0;
  std::size_t kept = 0;
  for (auto p = idle_.begin(); p != idle_.end();) {
    total += (*p)->total_bytes();
    p = ++kept > kMostIdle || total > kMostIdleBytes ? idle_.erase(p) : std::next(p);
  }
  return {};
}

Result<OracleCore::ArenaPair*> OracleCore::find_arenas(std::uint64_t id) {
  const auto it = arenas_.find(id);
  if (it == arenas_.end()) return bug_error(fmt::format("the oracle has no arenas {}", id));
  return it->second.get();
}

// ---- truths --------------------------------------------------------------------------------------------------

Result<Prepared> OracleCore::prepare(const DrawKey& key) {
  const auto answer = [](const Draw& draw) {
    Prepared p;
    p.id = draw.id;
    p.reference_exact = true;
    for (const Truth& t : draw.truths) {
      p.elements.push_back(static_cast<std::int64_t>(t.hi.size()));
      p.total += static_cast<std::int64_t>(t.hi.size());
      for (std::size_t i = 0; i < t.hi.size(); ++i) {
        if (std::isfinite(t.hi[i]) && !std::isfinite(t.rounded[i])) ++p.skipped;
        const bool both_nan = std::isnan(t.hi[i]) && std::isnan(t.rounded[i]);
        if (t.rounded[i] != t.hi[i] && !both_nan) p.reference_exact = false;
      }
    }
    p.truth_ms = draw.truth_ms;
    return p;
  };
  for (auto it = draws_.begin(); it != draws_.end(); ++it)
    if (same_key(it->key, key)) {
      draws_.splice(draws_.begin(), draws_, it);
      return answer(draws_.front());
    }
  HONE_TRY(InputSet set, draw_inputs(task_, key.dims, key.spec));
  constexpr int kEvaluations = 4;  // DESIGN.md §7: the rms over four
  HONE_TRY(std::vector<Truth> truths, evaluator_->evaluate(key.dims, set, kEvaluations, mix(key.spec.seed, 1)));
  Draw draw{next_id_++, key, std::move(set), std::move(truths), 0, evaluator_->last_truth_ms()};
  for (const auto& [id, old] : forgotten_)
    if (same_key(old, key)) draw.id = id;
  draw.bytes = truth_bytes(draw.set, draw.truths);
  used_bytes_ += draw.bytes;
  draws_.push_front(std::move(draw));
  while (used_bytes_ > memory_bytes_ && draws_.size() > 1) {
    used_bytes_ -= draws_.back().bytes;
    forgotten_[draws_.back().id] = draws_.back().key;
    draws_.pop_back();
  }
  return answer(draws_.front());
}

Result<OracleCore::Draw*> OracleCore::find_draw(std::uint64_t id) {
  for (auto it = draws_.begin(); it != draws_.end(); ++it)
    if (it->id == id) {
      draws_.splice(draws_.begin(), draws_, it);
      return &draws_.front();
    }
  const auto old = forgotten_.find(id);
  if (old == forgotten_.end()) return bug_error(fmt::format("the oracle has no draw {}", id));
  const DrawKey key = old->second;
  HONE_TRY([[maybe_unused]] const Prepared again, prepare(key));
  forgotten_.erase(id);
  return &draws_.front();
}

Status OracleCore::forget(std::uint64_t prepared) {
  forgotten_.erase(prepared);
  for (auto it = draws_.begin(); it != draws_.end(); ++it)
    if (it->id == prepared) {
      used_bytes_ -= it->bytes;
      draws_.erase(it);
      break;
    }
  return {};
}

// ---- one guarded call ----------------------------------------------------------------------------------------

Status OracleCore::stage(std::uint64_t prepared, std::uint64_t arenas) {
  HONE_TRY(ArenaPair* const pair, find_arenas(arenas));
  HONE_TRY(Draw* const draw, find_draw(prepared));
  if (draw->key.dims != pair->dims) return bug_error("a draw was staged into arenas of another case");
  pair->slack_seed = entropy64();
  pair->poison.clear();
  for (std::size_t i = 0; i < task_.inputs.size(); ++i) {
    const Place& place = pair->layout.inputs[i];
    std::memcpy(pair->inputs->bytes().data() + place.data, draw->set.inputs[i].data(), place.bytes);
    for_slack(place, [&](std::uint64_t at) { pair->inputs->bytes().data()[at] = slack_byte(pair->slack_seed, at); });
  }
  for (std::size_t o = 0; o < task_.outputs.size(); ++o) {
    const Place& place = pair->layout.outputs[o];
    pair->poison.push_back(poison_for(task_.outputs[o].dtype));
    if (const auto source = inout_source(task_, task_.outputs[o])) {
      std::memcpy(pair->outputs->bytes().data() + place.data, draw->set.inputs[*source].data(), place.bytes);
      pair->poison.back().clear();
    } else {
      fill_pattern(pair->outputs->bytes().data() + place.data, place.bytes, pair->poison.back());
    }
    for_slack(place, [&](std::uint64_t at) { pair->outputs->bytes().data()[at] = slack_byte(pair->slack_seed, at); });
  }
  pair->input_hash = fingerprint(pair->inputs->bytes());
  HONE_CHECK(pair->inputs->push());
  return pair->outputs->push();
}

Result<DrawCheck> OracleCore::compare(const task::Dims& dims, const InputSet& set, const std::vector<Truth>& truths,
                                      const std::vector<std::span<const std::byte>>& outputs,
                                      const std::vector<std::vector<std::byte>>& poison) const {
  DrawCheck check;
  for (std::size_t o = 0; o < truths.size(); ++o) {
    HONE_TRY(const std::vector<double> values, evaluator_->selected_values(dims, set, o, outputs[o]));
    check.outputs.push_back(measure_errors(task_.outputs[o].name, truths[o], outputs[o], values,
                                           o < poison.size() ? std::span<const std::byte>(poison[o])
                                                             : std::span<const std::byte>()));
  }
  return check;
}

Result<DrawCheck> OracleCore::check(std::uint64_t prepared, std::uint64_t arenas) {
  HONE_TRY(ArenaPair* const pair, find_arenas(arenas));
  HONE_TRY(Draw* const draw, find_draw(prepared));
  HONE_CHECK(pair->inputs->pull());
  HONE_CHECK(pair->outputs->pull());
  // The outputs are copied out first: what is compared can no longer be touched by anyone.
  std::vector<std::string> copies;
  std::vector<std::span<const std::byte>> views;
  for (const Place& place : pair->layout.outputs)
    copies.emplace_back(reinterpret_cast<const char*>(pair->outputs->bytes().data() + place.data), place.bytes);
  for (const std::string& copy : copies) views.push_back(std::as_bytes(std::span(copy)));
  HONE_TRY(DrawCheck check, compare(draw->key.dims, draw->set, draw->truths, views, pair->poison));
  check.inputs_changed = fingerprint(pair->inputs->bytes()) != pair->input_hash;
  for (std::size_t o = 0; o < pair->layout.outputs.size() && check.red_zone.empty(); ++o) {
    const Place& place = pair->layout.outputs[o];
    for_slack(place, [&](std::uint64_t at) {
      if (check.red_zone.empty() && pair->outputs->bytes().data()[at] != slack_byte(pair->slack_seed, at)) {
        const bool before = at < place.data;
        check.red_zone = fmt::format("output '{}' was written {} bytes {}", task_.outputs[o].name,
                                     before ? place.data - at : at - (place.data + place.bytes) + 1,
                                     before ? "before its start" : "beyond its end");
      }
    });
  }
  return check;
}

Result<DrawCheck> OracleCore::check_bytes(std::uint64_t prepared, const std::vector<std::string>& outputs) {
  HONE_TRY(Draw* const draw, find_draw(prepared));
  if (outputs.size() != task_.outputs.size()) return bug_error("check_bytes: wrong number of outputs");
  std::vector<std::span<const std::byte>> views;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (outputs[o].size() != draw->truths[o].rounded_bits.size()) return bug_error("check_bytes: wrong size");
    views.push_back(std::as_bytes(std::span(outputs[o])));
  }
  return compare(draw->key.dims, draw->set, draw->truths, views, {});
}

Result<std::vector<std::string>> OracleCore::inputs_of(std::uint64_t prepared) {
  HONE_TRY(Draw* const draw, find_draw(prepared));
  std::vector<std::string> out;
  for (std::size_t i = 0; i < draw->set.inputs.size(); ++i) {
    HONE_TRY(const std::int64_t bytes, task::bytes_of(task_.inputs[i], draw->key.dims));
    out.emplace_back(reinterpret_cast<const char*>(draw->set.inputs[i].data()), static_cast<std::size_t>(bytes));
  }
  return out;
}

Result<std::vector<std::string>> OracleCore::truth_of(std::uint64_t prepared, bool rounded) {
  HONE_TRY(Draw* const draw, find_draw(prepared));
  std::vector<std::string> out;
  for (const Truth& t : draw->truths) {
    std::string bytes(t.rounded_bits.size(), '\0');
    std::memcpy(bytes.data(), t.rounded_bits.data(), bytes.size());
    if (!rounded && task::is_floating(t.dtype) && !t.select)
      for (std::size_t i = 0; i < t.hi.size(); ++i)
        task::store_element(t.dtype, reinterpret_cast<std::byte*>(bytes.data()) + i * task::size_of(t.dtype), t.hi[i]);
    out.push_back(std::move(bytes));
  }
  return out;
}

Result<std::vector<double>> OracleCore::scalars_of(std::uint64_t prepared) {
  HONE_TRY(Draw* const draw, find_draw(prepared));
  return draw->set.scalars;
}

Result<std::vector<std::string>> OracleCore::reference_on(const task::Dims& dims,
                                                          const std::vector<std::string>& inputs,
                                                          const std::vector<double>& scalars) {
  HONE_TRY(InputSet set, draw_inputs(task_, dims, task::DrawSpec{}));  // for sizes and room
  if (inputs.size() != set.inputs.size() || scalars.size() != task_.scalars.size())
    return bug_error("reference_on: wrong number of inputs or scalars");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].size() > set.inputs[i].size()) return bug_error("reference_on: an input is too long");
    std::memcpy(set.inputs[i].data(), inputs[i].data(), inputs[i].size());
  }
  set.scalars = scalars;
  HONE_TRY(const std::vector<Truth> truths, evaluator_->evaluate(dims, set, 0, 0));
  std::vector<std::string> out;
  for (const Truth& t : truths)
    out.emplace_back(reinterpret_cast<const char*>(t.rounded_bits.data()), t.rounded_bits.size());
  return out;
}

// ---- timing --------------------------------------------------------------------------------------------------

Status OracleCore::prepare_sources(ArenaPair& pair) {
  for (std::size_t i = 0; i < task_.inputs.size(); ++i) {
    const task::Tensor& tensor = task_.inputs[i];
    HONE_TRY(const std::int64_t signed_bytes, task::bytes_of(tensor, pair.dims));
    const auto bytes = static_cast<std::uint64_t>(signed_bytes);
    const std::uint64_t width = task::size_of(tensor.dtype), n = bytes / width;
    Source source;
    source.seed = entropy64();
    const auto draw = [&](std::uint64_t seed, std::uint64_t offset, std::byte* to) {
      return task::draw_input(task_, i, pair.dims, {seed, task::Distribution::nominal, offset}, {to, bytes});
    };
    if (tensor.is_static || n == 0) {
      source.kind = Source::Kind::constant;
      source.variants.emplace_back(bytes);
      HONE_CHECK(draw(source.seed, 0, source.variants.back().data()));
    } else if (task::is_windowable(task_, i)) {
      // Windows of one long draw at random offsets: each is a draw of its own and costs one copy.
      // Enough offsets that a process meets one twice but rarely, or answers could be kept.
      source.extra = std::clamp<std::uint64_t>(n, std::min<std::uint64_t>(4096 * n, std::uint64_t{1} << 18), std::uint64_t{1} << 20);
      const std::uint64_t chunks = (n + source.extra + n - 1) / n;
      source.master.resize(chunks * bytes);
      for (std::uint64_t c = 0; c < chunks; ++c)
        HONE_CHECK(draw(source.seed, c * n, source.master.data() + c * bytes));
    } else {
      constexpr double kFreshLimitMs = 3;  // for all sets of one fill: about what filling costs anyway
      std::vector<std::byte> first(bytes);
      const std::int64_t start = monotonic_ns();
      HONE_CHECK(draw(source.seed, 0, first.data()));
      const double ms = static_cast<double>(monotonic_ns() - start) * 1e-6;
      if (ms * static_cast<double>(pair.layout.sets) <= kFreshLimitMs || task_.inputs[i].values.kind == task::Values::Kind::csr) {
        source.kind = Source::Kind::fresh;
      } else {
        source.kind = Source::Kind::rotating;
        constexpr std::uint64_t kVariants = 8;
        source.variants.push_back(std::move(first));
        for (std::uint64_t v = 1; v < kVariants; ++v) {
          source.variants.emplace_back(bytes);
          HONE_CHECK(draw(source.seed + v, 0, source.variants.back().data()));
        }
      }
    }
    pair.sources.push_back(std::move(source));
  }
  return {};
}

std::vector<task::DrawSpec> OracleCore::specs_of(const ArenaPair& pair, std::uint64_t seed, std::int64_t call) const {
  std::vector<task::DrawSpec> specs;
  const std::uint64_t key = mix(seed, static_cast<std::uint64_t>(call));
  for (std::size_t i = 0; i < pair.sources.size(); ++i) {
    const Source& source = pair.sources[i];
    task::DrawSpec spec;
    spec.seed = source.seed;
    switch (source.kind) {
      case Source::Kind::constant: break;
      case Source::Kind::window: spec.offset = mix(key, i) % (source.extra + 1); break;
      case Source::Kind::fresh: spec.seed = key; break;  // one seed for all: parts of a group must agree
      case Source::Kind::rotating: spec.seed = source.seed + mix(key, i) % source.variants.size(); break;
    }
    specs.push_back(spec);
  }
  return specs;
}

Status OracleCore::place_input(const ArenaPair& pair, std::size_t input, const task::DrawSpec& spec, std::byte* to,
                               bool cold) const {
  const Source& source = pair.sources[input];
  const std::uint64_t bytes = pair.layout.inputs[input].bytes;
  const std::byte* from = nullptr;
  switch (source.kind) {
    case Source::Kind::window:
      from = source.master.data() + spec.offset * task::size_of(task_.inputs[input].dtype);
      break;
    case Source::Kind::constant: from = source.variants[0].data(); break;
    case Source::Kind::rotating: from = source.variants[spec.seed - source.seed].data(); break;
    case Source::Kind::fresh: {
      HONE_CHECK(task::draw_input(task_, input, pair.dims, spec, {to, bytes}));
      if (cold) flush_lines(to, bytes);
      return {};
    }
  }
  if (cold)
    stream_copy(to, from, bytes);
  else
    std::memcpy(to, from, bytes);
  return {};
}

// A few elements of every output of every call, where checking all against the truth would take too long: an output
// that still holds the poison in all of them was not computed.
void OracleCore::note_untouched(const ArenaPair& pair) {
  constexpr std::uint64_t kProbes = 8;
  constexpr std::size_t kMostNoted = 16;
  for (std::size_t o = 0; o < pair.poison.size() && untouched_.size() < kMostNoted; ++o) {
    const Place& place = pair.layout.outputs[o];
    const std::vector<std::byte>& poison = pair.poison[o];
    const std::uint64_t width = poison.size();
    // A narrow integer may be the poison by chance; an output that is also an input holds none.
    const bool telling = task::is_floating(task_.outputs[o].dtype) || width >= 4;
    if (!telling || place.bytes < width || width == 0 || inout_source(task_, task_.outputs[o])) continue;
    const std::uint64_t n = place.bytes / width;
    for (std::int64_t call = 0; call < pair.filled; ++call) {
      const std::byte* at = pair.outputs->bytes().data() + place.data + static_cast<std::uint64_t>(call) * pair.layout.output_stride;
      bool untouched = true;
      for (std::uint64_t k = 0; k < kProbes && untouched; ++k)
        untouched = std::memcmp(at + (n - 1) * k / (kProbes - 1) * width, poison.data(), width) == 0;
      if (!untouched) continue;
      OutputErrors errors;
      errors.name = task_.outputs[o].name;
      errors.elements = errors.counted = static_cast<std::int64_t>(n);
      errors.exact_wrong = errors.poison_left = static_cast<std::int64_t>(n);
      DrawCheck check;
      check.outputs.push_back(std::move(errors));
      untouched_.push_back({"untouched", pair.filled_seed, call, std::move(check)});
      break;
    }
  }
}

Status OracleCore::fill(std::uint64_t arenas, std::uint64_t seed, std::int64_t calls, bool cold) {
  HONE_TRY(ArenaPair* const pair, find_arenas(arenas));
  if (calls < 0 || calls > pair->layout.sets) return bug_error("fill: more calls than sets");
  HONE_CHECK(pair->outputs->pull());
  note_untouched(*pair);
  pair->filled = calls;
  pair->filled_seed = seed;
  pair->poison.clear();
  for (const task::Tensor& output : task_.outputs) pair->poison.push_back(poison_for(output.dtype));
  for (std::int64_t call = 0; call < calls; ++call) {
    const std::vector<task::DrawSpec> specs = specs_of(*pair, seed, call);
    const auto set = static_cast<std::uint64_t>(call);
    for (std::size_t i = 0; i < specs.size(); ++i)
      HONE_CHECK(place_input(*pair, i, specs[i],
                             pair->inputs->bytes().data() + pair->layout.inputs[i].data + set * pair->layout.input_stride, cold));
    for (std::size_t o = 0; o < task_.outputs.size(); ++o) {
      const Place& place = pair->layout.outputs[o];
      std::byte* to = pair->outputs->bytes().data() + place.data + set * pair->layout.output_stride;
      if (const auto source = inout_source(task_, task_.outputs[o])) {
        HONE_CHECK(place_input(*pair, *source, specs[*source], to, cold));
      } else if (cold) {
        stream_fill(to, place.bytes, pair->poison[o]);
      } else {
        fill_pattern(to, place.bytes, pair->poison[o]);
      }
    }
  }
  HONE_CHECK(pair->inputs->push());
  return pair->outputs->push();
}

Status OracleCore::collect(std::uint64_t arenas, std::uint64_t seed, const std::vector<std::int64_t>& calls,
                           const std::string& tag) {
  HONE_TRY(ArenaPair* const pair, find_arenas(arenas));
  HONE_CHECK(pair->outputs->pull());
  for (const std::int64_t call : calls) {
    if (call < 0 || call >= pair->layout.sets) return bug_error("collect: no such call");
    Kept kept{tag, seed, call, pair->dims, specs_of(*pair, seed, call), {}};
    for (const Place& place : pair->layout.outputs)
      kept.outputs.emplace_back(reinterpret_cast<const char*>(pair->outputs->bytes().data() + place.data +
                                                              static_cast<std::uint64_t>(call) * pair->layout.output_stride),
                                place.bytes);
    kept_.push_back(std::move(kept));
  }
  return {};
}

Result<std::vector<Oracle::Settled>> OracleCore::settle(double limit_ms, int at_least) {
  std::vector<Kept> kept = std::move(kept_);
  kept_.clear();
  std::vector<Oracle::Settled> out = std::move(untouched_);
  untouched_.clear();
  std::mt19937_64 random(entropy64());
  std::shuffle(kept.begin(), kept.end(), random);
  const std::int64_t start = monotonic_ns();
  std::map<std::string, int> done;
  for (const Kept& k : kept) {
    const double spent = static_cast<double>(monotonic_ns() - start) * 1e-6;
    if (spent > limit_ms && done[k.tag] >= at_least) continue;
    ++done[k.tag];
    HONE_TRY(const InputSet set, draw_inputs(task_, k.dims, k.specs, {}));
    constexpr int kEvaluations = 2;  // two directions are enough to see a stale or partial answer
    HONE_TRY(const std::vector<Truth> truths, evaluator_->evaluate(k.dims, set, kEvaluations, mix(k.seed, 2)));
    std::vector<std::span<const std::byte>> views;
    for (const std::string& o : k.outputs) views.push_back(std::as_bytes(std::span(o)));
    HONE_TRY(DrawCheck check, compare(k.dims, set, truths, views, {}));
    out.push_back({k.tag, k.seed, k.call, std::move(check)});
  }
  return out;
}

Result<std::string> OracleCore::freshness(std::uint64_t arenas) {
  HONE_TRY(ArenaPair* const pair, find_arenas(arenas));
  std::string out = "fresh";
  bool any_fresh = false;
  for (const Source& s : pair->sources)
    any_fresh |= s.kind == Source::Kind::window || s.kind == Source::Kind::fresh;
  for (const Source& s : pair->sources)
    if (s.kind == Source::Kind::rotating && !any_fresh) out = fmt::format("rotating {}", s.variants.size());
  if (!any_fresh && out == "fresh") out = pair->sources.empty() ? "no inputs" : "constant";
  return out;
}

}  // namespace hone::runner
