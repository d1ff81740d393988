#include "lane/cuda/compile_main.h"

#include <string>

#include "base/json.h"
#include "device/cuda/nvrtc.h"
#include "wire/frame.h"
#include "wire/sandbox.h"

namespace hone::lane {
namespace {

constexpr int kSocket = 3;

bool send(const Json& header, const std::string& bytes = {}) {
  return wire::send_frame(kSocket, header, std::as_bytes(std::span(bytes)), {}, wire::kNoTimeout).ok();
}

bool send_error(const Error& error) {
  Json header = to_json(error);
  header["op"] = "error";
  return send(header);
}

/// The first compile loads NVRTC's own further libraries (0.1 to 0.4 s), which must happen before files are locked.
Status warm_up(const device::Nvrtc& nvrtc) {
  device::NvrtcJob job;
  job.source = "extern \"C\" __global__ void warm(float* x) { x[threadIdx.x] = 1; }";
  if (!nvrtc.architectures.empty())
    job.options.push_back("--gpu-architecture=sm_" + std::to_string(nvrtc.architectures.back()));
  HONE_TRY(const device::NvrtcOutput out, nvrtc.compile(job));
  if (!out.compiled) return environment_error("NVRTC does not compile the simplest kernel: " + out.log);
  return {};
}

Result<device::NvrtcJob> job_of(const wire::Frame& frame) {
  device::NvrtcJob job;
  job.want_ptx = true;
  HONE_TRY(job.name, get_string(frame.header, "name", "compile request"));
  HONE_TRY(const std::int64_t length, get_int(frame.header, "source", "compile request"));
  std::size_t at = static_cast<std::size_t>(length);
  if (length < 0 || at > frame.bytes.size()) return usage_error("compile request: source length");
  job.source = frame.bytes.substr(0, at);
  for (const Json& option : frame.header.value("options", Json::array()))
    if (option.is_string()) job.options.push_back(option.get<std::string>());
  for (const Json& header : frame.header.value("headers", Json::array())) {
    HONE_TRY(const std::string name, get_string(header, "name", "compile request"));
    HONE_TRY(const std::int64_t bytes, get_int(header, "bytes", "compile request"));
    if (bytes < 0 || at + static_cast<std::size_t>(bytes) > frame.bytes.size())
      return usage_error("compile request: header length");
    job.headers.emplace_back(name, frame.bytes.substr(at, static_cast<std::size_t>(bytes)));
    at += static_cast<std::size_t>(bytes);
  }
  return job;
}

}  // namespace

int compile_cuda_main(int argc, char** argv) {
  auto nvrtc = device::Nvrtc::get(argc > 1 ? argv[1] : "");
  if (!nvrtc.ok()) {
    send_error(nvrtc.error());
    return 3;
  }
  if (const Status warm = warm_up(**nvrtc); !warm.ok()) {
    send_error(warm.error());
    return 3;
  }
  if (!send({{"op", "ready"},
             {"major", (*nvrtc)->major},
             {"minor", (*nvrtc)->minor},
             {"architectures", (*nvrtc)->architectures}}))
    return 4;
  for (;;) {
    auto frame = wire::receive_frame(kSocket);
    if (!frame.ok()) return 4;
    if (!frame->has_value()) return 0;
    auto job = job_of(**frame);
    if (!job.ok()) {
      if (!send_error(job.error())) return 4;
      continue;
    }
    auto out = (*nvrtc)->compile(*job);
    bool sent = false;
    if (!out.ok()) {
      sent = send_error(out.error());
    } else {
      sent = send({{"op", out->compiled ? "done" : "refused"},
                   {"cubin", out->cubin.size()},
                   {"ptx", out->ptx.size()},
                   {"log", out->log.size()}},
                  out->cubin + out->ptx + out->log);
    }
    if (!sent) return 4;
  }
}

}  // namespace hone::lane
