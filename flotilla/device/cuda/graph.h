// flotilla/device/cuda/graph.h
//
// A run of steps as one launch: what they enqueue is recorded once and replayed from then on. A
// graph holds the addresses that the steps read from their cells when they were captured, so it is
// right for as long as no cell moves; after that, capture() again.

#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "flotilla/device/stream.h"

namespace flotilla::cuda {

class Graph {
 public:
  Graph() = default;
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Calls each step once; nothing of it runs on the GPU. Steps of the same kinds as those of the
  // last capture, with other addresses, change the graph in place instead of making it anew. Where
  // a step throws, or does what cannot be captured (waits, allocates, reads on the host), the graph
  // keeps what it had and `stream` is usable.
  // REQUIRES: the steps enqueue on `stream`, or on streams that an Event ties to it and back.
  void capture(Stream stream, std::span<const std::function<void()>> steps);

  // Enqueues the whole. REQUIRES: captured
  void replay(Stream stream) const;

  bool captured() const { return executable_ != nullptr; }
  // Launches, copies and fills that one replay makes.
  int64_t nodes() const { return nodes_; }
  // How often a capture had to make the graph anew.
  int64_t made() const { return made_; }

 private:
  void* executable_ = nullptr;  // a cudaGraphExec_t
  int64_t nodes_ = 0;
  int64_t made_ = 0;
};

}  // namespace flotilla::cuda
