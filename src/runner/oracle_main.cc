#include "runner/oracle_main.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <map>
#include <thread>

#include "runner/codec.h"
#include "runner/cuda/gpu_arena.h"
#include "runner/cuda/gpu_reference.h"
#include "runner/layout.h"
#include "runner/oracle_core.h"
#include "task/task_file.h"
#include "wire/frame.h"

namespace hone::runner {
namespace {

constexpr int kSocket = 3;
// Truths and inputs of large cases cross this socket for the audit and the sanitizers.
const wire::FrameLimits kLimits{.header_bytes = 4U << 20, .payload_bytes = 8ULL << 30, .fds = 128};

struct Reply {
  Json header = Json::object();
  std::string bytes;
  std::vector<int> fds;
};
using Handler = std::function<Result<Reply>(OracleCore&, const Json&, const std::string&)>;

Result<std::uint64_t> id_of(const Json& header, const char* key) {
  HONE_TRY(const std::int64_t id, get_int(header, key, "oracle request"));
  return static_cast<std::uint64_t>(id);
}

Result<std::uint64_t> seed_of(const Json& header) {
  if (!header.contains("seed") || !header["seed"].is_number_unsigned())
    return usage_error("oracle request: no seed");
  return header["seed"].get<std::uint64_t>();
}

Result<Reply> new_arenas(Result<OracleCore::NewArenas> made) {
  if (!made.ok()) return std::move(made).error();
  Reply reply;
  reply.header = {{"id", made->id}, {"layout", to_json(*made->layout)}};
  reply.header["inputs"] = made->inputs.size();
  reply.fds = made->inputs;
  reply.fds.insert(reply.fds.end(), made->outputs.begin(), made->outputs.end());
  return reply;
}

Result<Reply> checked(Result<DrawCheck> check) {
  if (!check.ok()) return std::move(check).error();
  Reply reply;
  reply.header = {{"check", to_json(*check)}};
  return reply;
}

Result<Reply> strings(Result<std::vector<std::string>> parts) {
  if (!parts.ok()) return std::move(parts).error();
  Reply reply;
  Json lengths;
  reply.bytes = join(*parts, &lengths);
  reply.header = {{"lengths", lengths}};
  return reply;
}

Result<Reply> done(const Status& status) {
  if (!status.ok()) return Error(status.error());
  return Reply{};
}

/// One line an operation.
const std::map<std::string, Handler>& handlers() {
  static const std::map<std::string, Handler> table = {
      {"make_arenas",
       [](OracleCore& core, const Json& h, const std::string&) -> Result<Reply> {
         HONE_TRY(const task::Dims dims, dims_from_json(h.value("dims", Json())));
         HONE_TRY(const std::int64_t sets, get_int(h, "sets", "oracle request"));
         if (sets > 0) return new_arenas(core.make_timing_arenas(dims, sets));
         HONE_TRY(const bool upper, get_bool(h, "upper", "oracle request"));
         return new_arenas(core.make_arenas(dims, upper ? Side::upper : Side::lower));
       }},
      {"drop_arenas",
       [](OracleCore& core, const Json& h, const std::string&) -> Result<Reply> {
         HONE_TRY(const std::uint64_t id, id_of(h, "arenas"));
         return done(core.drop_arenas(id));
       }},
      {"prepare",
       [](OracleCore& core, const Json& h, const std::string&) -> Result<Reply> {
         HONE_TRY(const DrawKey key, draw_key_from_json(h.value("draw", Json())));
         HONE_TRY(const Prepared prepared, core.prepare(key));
         Reply reply;
         reply.header = {{"prepared", to_json(prepared)}};
         return reply;
       }},
      {"forget",
       [](OracleCore& core, const Json& h, const std::string&) -> Result<Reply> {
         HONE_TRY(const std::uint64_t id, id_of(h, "prepared"));
         return done(core.forget(id));
       }},
      {"stage",
       [](OracleCore& core, const Json& h, const std::string&) -> Result<Reply> {
         HONE_TRY(const std::uint64_t prepared, id_of(h, "prepared"));
         HONE_TRY(const std::uint64_t arenas, id_of(h, "arenas"));
         return done(core.stage(prepared, arenas));
       }},
      {"check",
       [](OracleCore& core, const Json& h, const std::string&) -> Result<Reply> {
         HONE_TRY(const std::uint64_t prepared, id_of(h, "prepared"));
         HONE_TRY(const std::uint64_t arenas, id_of(h, "arenas"));
         return checked(core.check(prepared, arenas));
       }},
      {"check_bytes",
       [](OracleCore& core, const Json& h, const std::string& bytes) -> Result<Reply> {
         HONE_TRY(const std::uint64_t prepared, id_of(h, "prepared"));
         HONE_TRY(const std::vector<std::string> outputs, unjoin(bytes, h.value("lengths", Json())));
         return checked(core.check_bytes(prepared, outputs));
       }},
      {"inputs_of",
       [](OracleCore& core, const Json& h, const std::string&) -> Result<Reply> {
         HONE_TRY(const std::uint64_t prepared, id_of(h, "prepared"));
         return strings(core.inputs_of(prepared));
       }},
      {"truth_of",
       [](OracleCore& core, const Json& h, const std::string&) -> Result<Reply> {
         HONE_TRY(const std::uint64_t prepared, id_of(h, "prepared"));
         HONE_TRY(const bool rounded, get_bool(h, "rounded", "oracle request"));
         return strings(core.truth_of(prepared, rounded));
       }},
      {"reference_on",
       [](OracleCore& core, const Json& h, const std::string& bytes) -> Result<Reply> {
         HONE_TRY(const task::Dims dims, dims_from_json(h.value("dims", Json())));
         HONE_TRY(const std::vector<std::string> inputs, unjoin(bytes, h.value("lengths", Json())));
         std::vector<double> scalars;
         for (const Json& s : h.value("scalars", Json::array())) scalars.push_back(as_double(s));
         return strings(core.reference_on(dims, inputs, scalars));
       }},
      {"scalars_of",
       [](OracleCore& core, const Json& h, const std::string&) -> Result<Reply> {
         HONE_TRY(const std::uint64_t prepared, id_of(h, "prepared"));
         HONE_TRY(const std::vector<double> scalars, core.scalars_of(prepared));
         Reply reply;
         reply.header["scalars"] = Json::array();
         for (const double s : scalars) reply.header["scalars"].push_back(number(s));
         return reply;
       }},
      {"fill",
       [](OracleCore& core, const Json& h, const std::string&) -> Result<Reply> {
         HONE_TRY(const std::uint64_t arenas, id_of(h, "arenas"));
         HONE_TRY(const std::uint64_t seed, seed_of(h));
         HONE_TRY(const std::int64_t calls, get_int(h, "calls", "oracle request"));
         HONE_TRY(const bool cold, get_bool(h, "cold", "oracle request"));
         return done(core.fill(arenas, seed, calls, cold));
       }},
      {"collect",
       [](OracleCore& core, const Json& h, const std::string&) -> Result<Reply> {
         HONE_TRY(const std::uint64_t arenas, id_of(h, "arenas"));
         HONE_TRY(const std::uint64_t seed, seed_of(h));
         HONE_TRY(const std::string tag, get_string(h, "tag", "oracle request"));
         std::vector<std::int64_t> calls;
         for (const Json& call : h.value("calls", Json::array()))
           if (call.is_number_integer()) calls.push_back(call.get<std::int64_t>());
         return done(core.collect(arenas, seed, calls, tag));
       }},
      {"settle",
       [](OracleCore& core, const Json& h, const std::string&) -> Result<Reply> {
         HONE_TRY(const double limit_ms, get_number(h, "limit_ms", "oracle request"));
         HONE_TRY(const std::int64_t at_least, get_int(h, "at_least", "oracle request"));
         HONE_TRY(const auto settled, core.settle(limit_ms, static_cast<int>(at_least)));
         Reply reply;
         reply.header["settled"] = Json::array();
         for (const Oracle::Settled& s : settled)
           reply.header["settled"].push_back(
               {{"tag", s.tag}, {"seed", s.seed}, {"call", s.call}, {"check", to_json(s.check)}});
         return reply;
       }},
      {"freshness",
       [](OracleCore& core, const Json& h, const std::string&) -> Result<Reply> {
         HONE_TRY(const std::uint64_t arenas, id_of(h, "arenas"));
         HONE_TRY(const std::string freshness, core.freshness(arenas));
         Reply reply;
         reply.header["freshness"] = freshness;
         return reply;
       }},
  };
  return table;
}

/// References that run on a GPU, tensors in its memory. The context stays for the life of the process.
Result<OracleCore::Parts> gpu_parts(const Json& gpu, const std::vector<std::string>& objects) {
  static std::optional<device::GpuContext> context;
  HONE_TRY(const std::int64_t index, get_int(gpu, "index", "oracle start"));
  HONE_TRY(context, device::GpuContext::open(static_cast<int>(index)));
  const Json plans = gpu.value("plans", Json::array());
  if (!plans.is_array() || plans.size() != objects.size()) return usage_error("oracle start: a plan an object expected");
  std::vector<GpuProgram> programs;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    HONE_TRY(candidate::Resolved plan, plan_from_json(plans[i]));
    programs.push_back({objects[i], std::move(plan)});
  }
  OracleCore::Parts parts;
  parts.arenas = gpu_arenas(*context);
  parts.region = context->granularity();
  parts.load = [programs](const task::Task& of) -> Result<References> {
    References references;
    HONE_TRY(references.truth, load_gpu_reference(*context, of, programs[0], truth_real_bytes(of.precision)));
    HONE_TRY(references.rounded, load_gpu_reference(*context, of, programs[1], rounded_real_bytes(of.precision)));
    if (!programs[2].cubin.empty()) {
      HONE_TRY(references.lower, load_gpu_reference(*context, of, programs[2], 4));
    }
    return references;
  };
  return parts;
}

Result<std::unique_ptr<OracleCore>> start(const wire::Frame& frame) {
  HONE_TRY(const std::string text, get_string(frame.header, "task", "oracle start"));
  HONE_TRY(const std::string file, get_string(frame.header, "file", "oracle start"));
  HONE_TRY(const std::int64_t memory, get_int(frame.header, "memory_bytes", "oracle start"));
  HONE_TRY(task::Task task, task::parse_task(text, file));
  HONE_TRY(const std::vector<std::string> objects, unjoin(frame.bytes, frame.header.value("lengths", Json())));
  if (objects.size() != 3) return usage_error("oracle start: three objects expected");
  if (frame.header.contains("gpu")) {
    HONE_TRY(const OracleCore::Parts on_gpu, gpu_parts(frame.header["gpu"], objects));
    return OracleCore::make(std::move(task), on_gpu, static_cast<std::uint64_t>(memory));
  }
  OracleCore::Parts parts;
  parts.load = [&objects](const task::Task& of) -> Result<References> {
    References references;
    HONE_TRY(references.truth, load_object_reference(of, objects[0]));
    HONE_TRY(references.rounded, load_object_reference(of, objects[1]));
    if (!objects[2].empty()) {
      HONE_TRY(references.lower, load_object_reference(of, objects[2]));
    }
    return references;
  };
  return OracleCore::make(std::move(task), parts, static_cast<std::uint64_t>(memory));
}

bool answer(const Result<Reply>& reply) {
  if (!reply.ok()) {
    Json header = to_json(reply.error());
    header["ok"] = false;
    return wire::send_frame(kSocket, header).ok();
  }
  Json header = reply->header;
  header["ok"] = true;
  return wire::send_frame(kSocket, header, std::as_bytes(std::span(reply->bytes)), reply->fds, wire::kNoTimeout).ok();
}

/// The oracle must not outlive its coordinator, however that ended, not even inside a reference that never returns.
/// (PR_SET_PDEATHSIG would follow the thread that started us, not its process.)
void die_with_coordinator() {
  pollfd watched{kSocket, POLLRDHUP, 0};
  while (::poll(&watched, 1, -1) < 0 && errno == EINTR) {
  }
  ::_exit(0);
}

}  // namespace

int oracle_main(int, char**) {
  ::signal(SIGINT, SIG_IGN);  // a terminal sends it to the whole group; the coordinator ends us by closing the socket
  std::thread(die_with_coordinator).detach();
  std::unique_ptr<OracleCore> core;
  for (;;) {
    auto frame = wire::receive_frame(kSocket, kLimits);
    if (!frame.ok()) return 4;
    if (!frame->has_value()) return 0;
    const Json& header = (*frame)->header;
    const std::string op = header.value("op", "");
    Result<Reply> reply = bug_error("the oracle has no operation '" + op + "'");
    if (op == "start") {
      auto made = start(**frame);
      if (made.ok()) core = std::move(made).value();
      reply = made.ok() ? Result<Reply>(Reply{}) : Result<Reply>(made.error());
    } else if (!core) {
      reply = bug_error("the oracle was not started");
    } else if (const auto it = handlers().find(op); it != handlers().end()) {
      reply = it->second(*core, header, (*frame)->bytes);
    }
    if (!answer(reply)) return 4;
  }
}

}  // namespace hone::runner
