// flotilla/comm/gloo/transfers.h
//
// What a group has on its way over a mesh: started in any number, and waited for in the order in
// which it was started.
//
// Thread safety: one thread, save for interrupt().

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>

#include "flotilla/base/mutex.h"
#include "flotilla/comm/gloo/mesh.h"

namespace flotilla::comm {

class Transfers {
 public:
  // From where and to where; a part without bytes is not sent, and both sides know it.
  struct Part {
    const char* from = nullptr;
    char* to = nullptr;
    int64_t send_bytes = 0;
    int64_t recv_bytes = 0;
  };

  // Thrown where the connection to a rank is lost.
  struct Lost : std::runtime_error {
    Lost(int rank, const char* why) : std::runtime_error(why), rank(rank) {}
    int rank;
  };

  // REQUIRES: the mesh lives as long as this
  Transfers(Mesh& mesh, uint64_t channel) : mesh_(mesh), channel_(channel) {}

  // The memory of the part stays as it is until it is waited for or forgotten.
  void start(int rank, const Part& part);
  // How many have started, ever: what wait() takes.
  int64_t started() const { return started_; }
  // Waits for what had started by then. False: it was interrupted.
  bool wait(int64_t mark);
  // Ends the waits for what is on its way, now or later.
  void interrupt();
  // Nothing moves any more: what is on its way does not touch our memory.
  void forget();

 private:
  struct Moving {
    int rank = 0;  // with whom
    std::unique_ptr<Mesh::Transfer> transfer = {};
  };

  void add(int rank, std::unique_ptr<Mesh::Transfer> transfer);

  Mesh& mesh_;
  const uint64_t channel_;
  Mutex mutex_;
  std::deque<Moving> moving_ FLT_GUARDED_BY(mutex_);
  int64_t started_ = 0;
  int64_t arrived_ = 0;
};

}  // namespace flotilla::comm
