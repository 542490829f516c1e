#include "flotilla/comm/world.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "flotilla/base/error.h"

namespace flotilla::comm {
namespace {

// The group of a rank that is alone in it.
class Single final : public Group {
 public:
  explicit Single(int rank) : Group({rank}, 0) {}

 private:
  // Group itself does what a group of one needs.
  void do_all_reduce(const void*, void*, int64_t, DType, Reduce) override {}
  void do_reduce_scatter(const void*, void*, int64_t, DType, Reduce) override {}
  void do_broadcast(void*, int64_t, int) override {}
  void do_all_gather(const void*, void*, int64_t) override {}
  void do_all_to_all(const void*, void*, int64_t) override {}
  void do_send(const void*, int64_t, int) override {}
  void do_recv(void*, int64_t, int) override {}
  void do_barrier() override {}
  void wake() override {}
};

class AloneWorld final : public World {
 public:
  AloneWorld() : World(0, 1) { begin(); }
  std::shared_ptr<Buffer> allocate(int64_t bytes) override { return Buffer::make(bytes); }

 private:
  std::unique_ptr<Group> make_group(int64_t, const std::vector<int>&, int) override {
    return nullptr;
  }
};

// Parts of `longest` bytes, each without what it was padded with.
std::vector<std::string> cut(const std::string& all, const std::vector<int64_t>& lengths,
                             int64_t longest) {
  std::vector<std::string> parts;
  for (size_t r = 0; r < lengths.size(); ++r) {
    parts.push_back(all.substr(r * static_cast<size_t>(longest), static_cast<size_t>(lengths[r])));
  }
  return parts;
}

// Values of any length over the fixed lengths of a group: first the lengths, then the bytes, padded
// to the longest.
class GroupExchange final : public Exchange {
 public:
  GroupExchange(World& world) : world_(world) {}

  int64_t rank() const override { return world_.rank(); }
  int64_t size() const override { return world_.size(); }

  std::vector<std::string> all_gather(std::string bytes) override {
    std::vector<std::string> all;
    world_.queue().run([&] { all = comm::all_gather(world_.ring(0), std::move(bytes)); });
    return all;
  }

  std::vector<std::string> all_to_all(std::vector<std::string> parcels) override {
    std::vector<std::string> got;
    world_.queue().run([&] { got = trade(parcels); });
    return got;
  }

  void abort(std::string reason) override { world_.abort(reason); }

 private:
  std::vector<std::string> trade(const std::vector<std::string>& parcels) {
    require(std::cmp_equal(parcels.size(), size()), "{} parcels for {} members", parcels.size(),
            size());
    Group& group = world_.ring(0);
    std::vector<int64_t> sending;
    for (const std::string& parcel : parcels) {
      sending.push_back(static_cast<int64_t>(parcel.size()));
    }
    std::vector<int64_t> lengths(parcels.size());
    group.all_to_all(sending.data(), lengths.data(), 1, i64);
    int64_t longest = *std::max_element(sending.begin(), sending.end());
    group.all_reduce(&longest, &longest, 1, i64, Reduce::kMax);
    std::string in(static_cast<size_t>(longest * size()), '\0');
    for (size_t r = 0; r < parcels.size(); ++r) {
      std::memcpy(in.data() + r * static_cast<size_t>(longest), parcels[r].data(),
                  parcels[r].size());
    }
    std::string out(in.size(), '\0');
    group.all_to_all(in.data(), out.data(), longest, kBytes);
    return cut(out, lengths, longest);
  }

  World& world_;
};

}  // namespace

World::World(int rank, int size)
    : rank_(rank), size_(size), exchange_(std::make_unique<GroupExchange>(*this)) {}

void World::begin() {
  std::vector<int> all;
  for (int r = 0; r < size_; ++r) all.push_back(r);
  make_ring(0, all);
}

void World::end() {
  try {
    queue_.finish();
  } catch (const Error&) {
    // Whoever waited for it has heard of it, or has given up.
  }
}

Group& World::ring(int64_t id) {
  const MutexLock lock(mutex_);
  const auto found = rings_.find(id);
  require(found != rings_.end(), "there is no group with ring_id {} in rank {} of {}", id, rank_,
          size_);
  return *found->second;
}

bool World::has_ring(int64_t id) const {
  const MutexLock lock(mutex_);
  return rings_.contains(id);
}

void World::make_ring(int64_t id, const std::vector<int>& ranks) {
  require(!has_ring(id), "a group with ring_id {} already exists", id);
  const std::set<int> members(ranks.begin(), ranks.end());
  require(members.size() == ranks.size() && !members.empty() && *members.begin() >= 0 &&
              *members.rbegin() < size_,
          "a group holds different ranks of 0 to {}, but ring {} was given [{}]", size_ - 1, id,
          fmt::join(ranks, ", "));
  const auto me = std::find(ranks.begin(), ranks.end(), rank_);
  require(me != ranks.end(), "rank {} is not in the group [{}] of ring {}", rank_,
          fmt::join(ranks, ", "), id);
  std::shared_ptr<Group> group;
  if (ranks.size() == 1) {
    group = std::make_shared<Single>(rank_);
  } else {
    queue_.run([&] { group = make_group(id, ranks, static_cast<int>(me - ranks.begin())); });
  }
  // Others may wait for this rank, which waits for one that is gone: they shall not.
  group->on_lost([this](const std::string& reason) { abort(reason); });
  const MutexLock lock(mutex_);
  if (!aborted_.empty()) group->abort(aborted_);
  rings_[id] = std::move(group);
}

void World::abort(const std::string& reason) {
  std::vector<std::shared_ptr<Group>> groups;
  {
    const MutexLock lock(mutex_);
    if (aborted_.empty()) aborted_ = reason.empty() ? "the job ends" : reason;
    for (const auto& [id, group] : rings_) groups.push_back(group);
  }
  on_abort(reason);
  for (const auto& group : groups) group->abort(reason);
}

std::unique_ptr<World> make_alone() { return std::make_unique<AloneWorld>(); }

std::vector<std::string> all_gather(Group& group, std::string bytes) {
  const auto n = static_cast<int64_t>(bytes.size());
  std::vector<int64_t> lengths(static_cast<size_t>(group.size()));
  group.all_gather(&n, lengths.data(), 1, i64);
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  bytes.resize(static_cast<size_t>(longest));
  std::string all(static_cast<size_t>(longest * group.size()), '\0');
  group.all_gather(bytes.data(), all.data(), longest, kBytes);
  return cut(all, lengths, longest);
}

std::string find_difference(Exchange& exchange, const std::string& what,
                            const std::vector<std::string>& lines) {
  if (exchange.size() == 1) return "";
  std::string text = fmt::format("{}", fmt::join(lines, "\n"));
  const uint64_t hash = std::hash<std::string>{}(text);
  const std::string mine(reinterpret_cast<const char*>(&hash), sizeof hash);
  const std::vector<std::string> hashes = exchange.all_gather(mine);
  if (std::all_of(hashes.begin(), hashes.end(), [&](const auto& h) { return h == hashes[0]; })) {
    return "";
  }
  const std::vector<std::string> texts = exchange.all_gather(std::move(text));
  const auto split = [](std::string_view all) {
    std::vector<std::string_view> parts;
    for (size_t end = 0; end != std::string_view::npos && !all.empty();) {
      end = all.find('\n');
      parts.push_back(all.substr(0, end));
      if (end != std::string_view::npos) all.remove_prefix(end + 1);
    }
    return parts;
  };
  const auto first = split(texts[0]);
  for (size_t r = 1; r < texts.size(); ++r) {
    if (texts[r] == texts[0]) continue;
    const auto other = split(texts[r]);
    size_t i = 0;
    while (i < first.size() && i < other.size() && first[i] == other[i]) ++i;
    const auto line = [&](const auto& all) {
      return i < all.size() ? fmt::format("\"{}\"", all[i]) : std::string("nothing");
    };
    return fmt::format("{} differ between ranks: number {} is {} on rank 0, but {} on rank {}",
                       what, i + 1, line(first), line(other), r);
  }
  return "";
}

void agree_on(Exchange& exchange, const std::string& what, const std::vector<std::string>& lines) {
  const std::string difference = find_difference(exchange, what, lines);
  if (!difference.empty()) refuse("{}", difference);
}

}  // namespace flotilla::comm
