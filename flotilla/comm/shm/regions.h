// flotilla/comm/shm/regions.h
//
// Memory that the ranks of a host see of each other: memfds, which need no file system and no
// /dev/shm, mapped by their owner and by every neighbour that was shown one.
//
// Thread safety: all calls, from any thread; a region may be given back while others are shown.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "flotilla/base/fd.h"
#include "flotilla/base/mutex.h"
#include "flotilla/comm/board.h"
#include "flotilla/comm/shm/neighbours.h"
#include "flotilla/device/allocator.h"

namespace flotilla::comm {

class Regions : public std::enable_shared_from_this<Regions> {
 public:
  // `neighbours` outlives it.
  explicit Regions(Neighbours& neighbours) : neighbours_(neighbours) {}

  // Zeroed memory that neighbours can see as long as it lives.
  std::shared_ptr<Buffer> allocate(int64_t bytes);

  // Where memory lies for neighbours; region 0: it is not of allocate(), or they cannot be told.
  Place show(const void* data, int64_t bytes);
  // Memory that a neighbour has shown. Waits until its descriptor is here, and calls `check` now
  // and then, which may throw.
  char* see(int rank, const Place& place, int64_t bytes, const std::function<void()>& check);

  // The memory of a group's board, made by its first member and given to the others under a number
  // of its own.
  std::shared_ptr<void> make_board(uint64_t number, int64_t bytes, const std::vector<int>& others);
  std::shared_ptr<void> take_board(int from, uint64_t number, int64_t bytes,
                                   const std::function<void()>& check);

 private:
  // A mapped memfd.
  class Mapping;
  struct Own {
    std::shared_ptr<Mapping> memory = {};
    bool shown = false;
  };

  void retire(uint64_t region);
  std::shared_ptr<Mapping> find(int rank, uint64_t region, const std::function<void()>& check);

  Neighbours& neighbours_;
  Mutex mutex_;
  uint64_t last_ FLT_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, Own> own_ FLT_GUARDED_BY(mutex_);
  std::vector<uint64_t> retired_ FLT_GUARDED_BY(mutex_);  // neighbours have not heard of it yet
  // What neighbours have shown. Used by the thread that exchanges alone.
  std::map<std::pair<int, uint64_t>, std::shared_ptr<Mapping>> seen_;
};

}  // namespace flotilla::comm
