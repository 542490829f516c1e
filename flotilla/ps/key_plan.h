// flotilla/ps/key_plan.h
//
// The ids of a step, each once, in the order of the servers that hold them.

#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace flotilla::ps {

class KeyPlan {
 public:
  // The place of an id that is the padding.
  static constexpr uint32_t kPadding = std::numeric_limits<uint32_t>::max();

  // Memory is kept from step to step.
  void make(std::span<const std::span<const int64_t>> slots, int servers, bool has_padding,
            int64_t padding);

  // Each id once; those of a server lie together.
  std::span<const int64_t> keys() const { return keys_; }
  std::span<const int64_t> keys_of(int server) const {
    const auto i = static_cast<size_t>(server);
    return keys().subspan(begins_[i], begins_[i + 1] - begins_[i]);
  }
  // Where the keys of a server begin.
  size_t begin_of(int server) const { return begins_[static_cast<size_t>(server)]; }
  // For every id of all slots, one behind the other, where it is in keys(), or kPadding.
  std::span<const uint32_t> places() const { return places_; }

 private:
  uint32_t insert(int64_t key);
  void grow(size_t slots);
  void order_by_server(int servers);

  struct Slot {
    int64_t key = 0;
    uint32_t place = 0;
    uint32_t step = 0;  // it counts in this step only, so that nothing needs to be cleared
  };
  std::vector<Slot> table_;
  uint32_t step_ = 0;
  std::vector<int64_t> keys_;
  std::vector<uint32_t> places_;
  std::vector<size_t> begins_;
};

}  // namespace flotilla::ps
