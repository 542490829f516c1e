// flotilla/rpc/one_thread_engine.h
//
// What gRPC runs its timers and small tasks on: one thread, while there are any. Its own engine
// starts one for each core of the machine, 32 at most, and another for timers, in every process
// that has a connection; but connections that hold have no tasks for it.
//
// gRPC 1.51 reads and writes sockets elsewhere; the parts of the interface that would are refused.

#pragma once

#include <grpc/event_engine/event_engine.h>

#include <chrono>
#include <memory>

namespace flotilla::rpc {

// The thread ends when there have been no tasks for `idle`.
std::unique_ptr<grpc_event_engine::experimental::EventEngine> one_thread_engine(
    std::chrono::milliseconds idle = std::chrono::seconds(1));

}  // namespace flotilla::rpc
