// flotilla/device/cuda/stream.h
//
// Streams and events that own their handles. Everything here acts on the calling thread's current
// GPU.

#pragma once

#include <cstdint>

#include "flotilla/device/stream.h"

namespace flotilla::cuda {

// How many GPUs this process can use; 0 without a driver.
int device_count();

// A queue that does not wait for the default stream, and that can be captured.
class OwnedStream {
 public:
  OwnedStream();
  ~OwnedStream();
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;

  Stream get() const { return stream_; }
  operator Stream() const { return stream_; }
  // Until all that was enqueued is done; refuses with what went wrong in it.
  void wait() const;

 private:
  Stream stream_ = {};
};

// A point in one queue that another one waits for; the host never does. Inside a capture this is
// how a second stream joins the graph, and how it must return to the first.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(Stream stream) const;
  // What is enqueued on `stream` from now on starts after the point that was recorded last.
  void hold(Stream stream) const;

 private:
  void* handle_ = nullptr;  // a cudaEvent_t
};

}  // namespace flotilla::cuda
