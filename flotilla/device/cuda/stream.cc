#include "flotilla/device/cuda/stream.h"

#include "flotilla/device/cuda/check.h"

namespace flotilla::cuda {
namespace {

cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream.handle); }

}  // namespace

void fail(cudaError_t status, const std::string& doing, std::source_location where) {
  // An error of a launch would otherwise be found again by the next check.
  static_cast<void>(cudaGetLastError());
  const ErrorKind kind =
      status == cudaErrorMemoryAllocation ? ErrorKind::kInvalidArgument : ErrorKind::kInternal;
  throw Error(kind,
              fmt::format("CUDA could not {}: {} ({})", doing, cudaGetErrorString(status),
                          cudaGetErrorName(status)),
              where);
}

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  static_cast<void>(cudaGetLastError());
  return 0;
}

OwnedStream::OwnedStream() {
  cudaStream_t made = nullptr;
  check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "make a stream");
  stream_.handle = made;
}

OwnedStream::~OwnedStream() { static_cast<void>(cudaStreamDestroy(native(stream_))); }

void OwnedStream::wait() const {
  check(cudaStreamSynchronize(native(stream_)), "finish what was enqueued");
}

Event::Event() {
  cudaEvent_t made = nullptr;
  check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "make an event");
  handle_ = made;
}

Event::~Event() { static_cast<void>(cudaEventDestroy(static_cast<cudaEvent_t>(handle_))); }

void Event::record(Stream stream) const {
  check(cudaEventRecord(static_cast<cudaEvent_t>(handle_), native(stream)), "record an event");
}

void Event::hold(Stream stream) const {
  check(cudaStreamWaitEvent(native(stream), static_cast<cudaEvent_t>(handle_), 0),
        "let a stream wait for an event");
}

}  // namespace flotilla::cuda
