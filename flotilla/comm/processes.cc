#include "flotilla/comm/processes.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/comm/board_group.h"
#include "flotilla/comm/gloo/gloo_group.h"
#include "flotilla/comm/gloo/mesh.h"
#include "flotilla/comm/layered.h"
#include "flotilla/comm/shm/neighbours.h"
#include "flotilla/comm/shm/regions.h"

namespace flotilla::comm {
namespace {

using Clock = std::chrono::steady_clock;

// What processes of one host see of each other.
class NearSight final : public Sight {
 public:
  using WhyGone = std::function<std::string(int rank)>;

  NearSight(Neighbours& neighbours, std::shared_ptr<Regions> regions, WhyGone why_gone)
      : neighbours_(neighbours), regions_(std::move(regions)), why_gone_(std::move(why_gone)) {}

  Place show(const void* data, int64_t bytes) override { return regions_->show(data, bytes); }

  char* see(int rank, const Place& place, int64_t bytes) override {
    return regions_->see(rank, place, bytes, [&] { check(rank); });
  }

  std::string gone(int rank) override {
    if (!neighbours_.reached(rank) || !neighbours_.gone(rank)) return "";
    const auto since = noticed_.emplace(rank, Clock::now()).first->second;
    if (Clock::now() - since < kForTheLauncher) return "";
    const std::string why = why_gone_ ? why_gone_(rank) : "";
    return why.empty() ? fmt::format("rank {} of this host has closed its connection", rank) : why;
  }

  // Throws where it is gone.
  void check(int rank) {
    const std::string why = gone(rank);
    if (!why.empty()) throw Error(ErrorKind::kUnavailable, why);
  }

 private:
  Neighbours& neighbours_;
  const std::shared_ptr<Regions> regions_;
  const WhyGone why_gone_;
  std::map<int, Clock::time_point> noticed_;
};

class ProcessWorld final : public World {
 public:
  explicit ProcessWorld(const ProcessOptions& options)
      : World(options.rank, options.size),
        name_(options.name),
        store_(options.store),
        why_gone_(options.why_gone),
        neighbours_(*options.store, options.name, options.rank, options.size, options.apart),
        regions_(std::make_shared<Regions>(neighbours_)) {
    if (neighbours_.hosts().size() > 1) {
      mesh_ = std::make_shared<Mesh>(*store_, Mesh::Options{.name = options.name,
                                                            .rank = options.rank,
                                                            .hosts = host_of_each_rank(),
                                                            .address = options.address,
                                                            .why_gone = options.why_gone});
    }
    begin();
  }
  ~ProcessWorld() override { end(); }

  std::shared_ptr<Buffer> allocate(int64_t bytes) override { return regions_->allocate(bytes); }

 private:
  // The choice table: docs/algorithms.md.
  std::unique_ptr<Group> make_group(int64_t id, const std::vector<int>& ranks, int rank) override {
    LayeredGroup::Layers layers;
    std::map<int, size_t> by_host;
    for (size_t member = 0; member < ranks.size(); ++member) {
      const int host = host_of(ranks[member]);
      const size_t place = by_host.emplace(host, layers.hosts.size()).first->second;
      if (place == layers.hosts.size()) layers.hosts.emplace_back();
      layers.hosts[place].push_back(static_cast<int>(member));
      if (std::cmp_equal(member, rank)) layers.host = place;
    }
    if (layers.hosts.size() == 1) return make_near(id, ranks, rank);
    if (layers.hosts.size() == ranks.size()) return make_far(id, ranks, rank);
    return make_layered(id, ranks, rank, std::move(layers));
  }

  std::unique_ptr<Group> make_layered(int64_t id, const std::vector<int>& ranks, int rank,
                                      LayeredGroup::Layers layers) {
    const auto world_ranks = [&](const std::vector<int>& members) {
      std::vector<int> found;
      for (const int member : members) found.push_back(ranks[static_cast<size_t>(member)]);
      return found;
    };
    const std::vector<int>& here = layers.hosts[layers.host];
    const auto place =
        static_cast<size_t>(std::find(here.begin(), here.end(), rank) - here.begin());
    if (here.size() > 1) layers.near = make_near(id, world_ranks(here), static_cast<int>(place));
    if (LayeredGroup::even(layers.hosts) || place == 0) {
      std::vector<int> counterparts;
      for (const auto& host : layers.hosts) counterparts.push_back(host[place]);
      layers.far = make_far(id, world_ranks(counterparts), static_cast<int>(layers.host));
    }
    layers.others = make_far(id, ranks, rank);
    layers.allocate = [regions = regions_](int64_t bytes) { return regions->allocate(bytes); };
    return std::make_unique<LayeredGroup>(std::move(layers), ranks, rank);
  }

  // All groups between hosts of one ring share a channel: members that make different calls see
  // it, although each call uses one of them.
  std::unique_ptr<GlooGroup> make_far(int64_t id, const std::vector<int>& ranks, int rank) {
    return std::make_unique<GlooGroup>(mesh_, ranks, rank, static_cast<uint64_t>(id));
  }

  int host_of(int rank) const {
    const auto& hosts = neighbours_.hosts();
    const auto holds = [&](const std::vector<int>& host) {
      return std::find(host.begin(), host.end(), rank) != host.end();
    };
    return static_cast<int>(std::find_if(hosts.begin(), hosts.end(), holds) - hosts.begin());
  }
  std::vector<int> host_of_each_rank() const {
    std::vector<int> found;
    for (int r = 0; r < size(); ++r) found.push_back(host_of(r));
    return found;
  }

  std::unique_ptr<BoardGroup> make_near(int64_t id, const std::vector<int>& ranks, int rank) {
    const int size = static_cast<int>(ranks.size());
    auto sight = std::make_unique<NearSight>(neighbours_, regions_, why_gone_);
    const uint64_t number = static_cast<uint64_t>(id);
    const auto check = [&] {
      sight->check(ranks[0]);
      store_->find(name_);  // throws where the job ends: nobody can abort a world that is not made
    };
    const std::shared_ptr<void> memory =
        rank == 0
            ? regions_->make_board(number, Board::bytes(size), {ranks.begin() + 1, ranks.end()})
            : regions_->take_board(ranks[0], number, Board::bytes(size), check);
    return std::make_unique<BoardGroup>(memory, ranks, rank, std::move(sight));
  }

  void on_abort(const std::string& reason) override {
    neighbours_.leave();
    if (mesh_) mesh_->leave(reason);
  }

  const std::string name_;  // of the meeting
  const std::shared_ptr<rpc::StoreClient> store_;
  const std::function<std::string(int rank)> why_gone_;
  Neighbours neighbours_;
  const std::shared_ptr<Regions> regions_;
  std::shared_ptr<Mesh> mesh_;  // null where all ranks share a host
};

}  // namespace

std::unique_ptr<World> make_processes(const ProcessOptions& options) {
  if (options.size == 1) return make_alone();
  return std::make_unique<ProcessWorld>(options);
}

}  // namespace flotilla::comm
