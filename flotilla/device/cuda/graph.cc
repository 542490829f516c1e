#include "flotilla/device/cuda/graph.h"

#include <memory>
#include <utility>

#include "flotilla/device/cuda/check.h"

namespace flotilla::cuda {
namespace {

cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream.handle); }

struct Destroy {
  void operator()(cudaGraph_t graph) const { static_cast<void>(cudaGraphDestroy(graph)); }
};
using Recording = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, Destroy>;

// Ends the capture whatever happens: a stream that is left capturing is of no use to anybody.
Recording end_capture(cudaStream_t stream, cudaError_t& status) {
  cudaGraph_t graph = nullptr;
  status = cudaStreamEndCapture(stream, &graph);
  return Recording(graph);
}

Recording record(cudaStream_t stream, std::span<const std::function<void()>> steps) {
  require(stream != nullptr, "the default stream cannot be captured; make one of its own");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin a capture");
  cudaError_t status = cudaSuccess;
  try {
    for (const auto& step : steps) step();
  } catch (...) {
    end_capture(stream, status);
    static_cast<void>(cudaGetLastError());
    throw;
  }
  Recording recording = end_capture(stream, status);
  check(status, "capture {} steps; one of them waits, allocates or reads on the host",
        steps.size());
  return recording;
}

}  // namespace

Graph::~Graph() {
  if (executable_ != nullptr) {
    static_cast<void>(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(executable_)));
  }
}

void Graph::capture(Stream stream, std::span<const std::function<void()>> steps) {
  const Recording recording = record(native(stream), steps);
  size_t nodes = 0;
  check(cudaGraphGetNodes(recording.get(), nullptr, &nodes), "count the nodes of a graph");
  const auto before = static_cast<cudaGraphExec_t>(executable_);
  if (before != nullptr) {
    cudaGraphExecUpdateResultInfo info = {};
    if (cudaGraphExecUpdate(before, recording.get(), &info) == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());
  }
  cudaGraphExec_t made = nullptr;
  check(cudaGraphInstantiate(&made, recording.get(), 0), "make a graph of {} nodes", nodes);
  if (before != nullptr) static_cast<void>(cudaGraphExecDestroy(before));
  executable_ = made;
  nodes_ = static_cast<int64_t>(nodes);
  ++made_;
}

void Graph::replay(Stream stream) const {
  invariant(captured(), "a graph is replayed that was never captured");
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(executable_), native(stream)),
        "replay a graph of {} nodes", nodes_);
}

}  // namespace flotilla::cuda
