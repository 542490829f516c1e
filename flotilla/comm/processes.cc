#include "flotilla/comm/processes.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/comm/board_group.h"
#include "flotilla/comm/shm/neighbours.h"
#include "flotilla/comm/shm/regions.h"

namespace flotilla::comm {
namespace {

using Clock = std::chrono::steady_clock;

// The launcher tells within this time why a process is gone, which is better than to say that its
// socket was closed.
constexpr std::chrono::milliseconds kForTheLauncher{500};

// What processes of one host see of each other. The ranks of a group are named by `ranks`.
class NearSight final : public Sight {
 public:
  NearSight(Neighbours& neighbours, std::shared_ptr<Regions> regions, std::vector<int> ranks)
      : neighbours_(neighbours), regions_(std::move(regions)), ranks_(std::move(ranks)) {}

  Place show(const void* data, int64_t bytes) override { return regions_->show(data, bytes); }

  char* see(int rank, const Place& place, int64_t bytes) override {
    return regions_->see(ranks_[static_cast<size_t>(rank)], place, bytes, [&] {
      if (const std::string why = gone(rank); !why.empty()) {
        throw Error(ErrorKind::kUnavailable, why);
      }
    });
  }

  std::string gone(int rank) override {
    const int who = ranks_[static_cast<size_t>(rank)];
    if (!neighbours_.reached(who) || !neighbours_.gone(who)) return "";
    const auto since = noticed_.emplace(who, Clock::now()).first->second;
    if (Clock::now() - since < kForTheLauncher) return "";
    return fmt::format("rank {} of this host has closed its connection", who);
  }

 private:
  Neighbours& neighbours_;
  const std::shared_ptr<Regions> regions_;
  const std::vector<int> ranks_;
  std::map<int, Clock::time_point> noticed_;
};

class ProcessWorld final : public World {
 public:
  explicit ProcessWorld(const ProcessOptions& options)
      : World(options.rank, options.size),
        store_(options.store),
        neighbours_(*options.store, options.name, options.rank, options.size),
        regions_(std::make_shared<Regions>(neighbours_)) {
    begin();
  }
  ~ProcessWorld() override { end(); }

  std::shared_ptr<Buffer> allocate(int64_t bytes) override { return regions_->allocate(bytes); }

 private:
  std::unique_ptr<Group> make_group(int64_t id, const std::vector<int>& ranks, int rank) override {
    const bool all_near =
        std::all_of(ranks.begin(), ranks.end(), [&](int r) { return neighbours_.near(r); });
    require(all_near, "ranks of several hosts cannot talk to each other yet");
    return make_near(id, ranks, rank);
  }

  std::unique_ptr<Group> make_near(int64_t id, const std::vector<int>& ranks, int rank) {
    const int size = static_cast<int>(ranks.size());
    auto sight = std::make_unique<NearSight>(neighbours_, regions_, ranks);
    const uint64_t number = static_cast<uint64_t>(id);
    const std::shared_ptr<void> memory =
        rank == 0
            ? regions_->make_board(number, Board::bytes(size), {ranks.begin() + 1, ranks.end()})
            : regions_->take_board(ranks[0], number, Board::bytes(size), [&] {
                if (const std::string why = sight->gone(0); !why.empty()) {
                  throw Error(ErrorKind::kUnavailable, why);
                }
              });
    return std::make_unique<BoardGroup>(memory, rank, size, std::move(sight));
  }

  void on_abort(const std::string& /*reason*/) override { neighbours_.leave(); }

  const std::shared_ptr<rpc::StoreClient> store_;
  Neighbours neighbours_;
  const std::shared_ptr<Regions> regions_;
};

}  // namespace

std::unique_ptr<World> make_processes(const ProcessOptions& options) {
  if (options.size == 1) return make_alone();
  return std::make_unique<ProcessWorld>(options);
}

}  // namespace flotilla::comm
