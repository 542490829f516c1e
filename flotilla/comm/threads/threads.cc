#include "flotilla/comm/threads/threads.h"

#include <map>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/comm/board_group.h"

namespace flotilla::comm {
namespace {

// What the threads of one set of worlds share.
class Meeting {
 public:
  explicit Meeting(int size) : gone_(static_cast<size_t>(size)) {}

  // The memory of a group's board: the first member makes it, the last one takes it away.
  std::shared_ptr<void> board(int64_t id, const std::vector<int>& ranks) {
    const MutexLock lock(mutex_);
    auto& [memory, taken] = boards_[{id, ranks}];
    if (memory == nullptr) {
      const auto buffer = Buffer::make(Board::bytes(static_cast<int>(ranks.size())));
      memory = std::shared_ptr<void>(buffer, buffer->data());
    }
    std::shared_ptr<void> result = memory;
    if (++taken == ranks.size()) boards_.erase({id, ranks});
    return result;
  }

  void leave(int rank, const std::string& reason) {
    const MutexLock lock(mutex_);
    std::string& mine = gone_[static_cast<size_t>(rank)];
    if (mine.empty()) mine = reason;
  }
  std::string gone(int rank) const {
    const MutexLock lock(mutex_);
    return gone_[static_cast<size_t>(rank)];
  }

 private:
  mutable Mutex mutex_;
  std::map<std::pair<int64_t, std::vector<int>>, std::pair<std::shared_ptr<void>, size_t>> boards_
      FLT_GUARDED_BY(mutex_);
  std::vector<std::string> gone_ FLT_GUARDED_BY(mutex_);
};

// Threads see all memory under the same addresses.
class ThreadSight final : public Sight {
 public:
  explicit ThreadSight(std::shared_ptr<Meeting> meeting) : meeting_(std::move(meeting)) {}

  Place show(const void* data, int64_t) override {
    return {.region = 1, .offset = reinterpret_cast<uint64_t>(data)};
  }
  char* see(int, const Place& place, int64_t) override {
    return reinterpret_cast<char*>(place.offset);
  }
  std::string gone(int rank) override { return meeting_->gone(rank); }

 private:
  const std::shared_ptr<Meeting> meeting_;
};

class ThreadWorld final : public World {
 public:
  ThreadWorld(std::shared_ptr<Meeting> meeting, int rank, int size)
      : World(rank, size), meeting_(std::move(meeting)) {
    begin();
  }
  ~ThreadWorld() override {
    end();
    meeting_->leave(rank(), fmt::format("rank {} is gone", rank()));
  }

  std::shared_ptr<Buffer> allocate(int64_t bytes) override { return Buffer::make(bytes); }

 private:
  std::unique_ptr<Group> make_group(int64_t id, const std::vector<int>& ranks, int rank) override {
    return std::make_unique<BoardGroup>(meeting_->board(id, ranks), ranks, rank,
                                        std::make_unique<ThreadSight>(meeting_));
  }
  void on_abort(const std::string& reason) override { meeting_->leave(rank(), reason); }

  const std::shared_ptr<Meeting> meeting_;
};

}  // namespace

std::vector<std::unique_ptr<World>> make_threads(int size) {
  const auto meeting = std::make_shared<Meeting>(size);
  std::vector<std::unique_ptr<World>> worlds;
  for (int r = 0; r < size; ++r) {
    worlds.push_back(std::make_unique<ThreadWorld>(meeting, r, size));
  }
  return worlds;
}

}  // namespace flotilla::comm
