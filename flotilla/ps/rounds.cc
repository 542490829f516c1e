#include "flotilla/ps/rounds.h"

#include <algorithm>
#include <utility>

#include "flotilla/base/error.h"

namespace flotilla::ps {

Rounds::Rounds(int workers) {
  require(workers > 0, "a job must have at least one worker, but this one has {}", workers);
  for (int rank = 0; rank < workers; ++rank) presence_.push_back({.rank = rank});
}

std::shared_ptr<Call> Rounds::park(ParkedStep step) {
  ParkedStep& place = parked_[step.rank];
  std::shared_ptr<Call> before = std::move(place.call);
  place = std::move(step);
  return before;
}

void Rounds::announce(const Presence& presence) {
  require(0 <= presence.rank && presence.rank < static_cast<int>(presence_.size()),
          "worker {} announced itself in a job of {} workers", presence.rank, presence_.size());
  Presence& known = presence_[static_cast<size_t>(presence.rank)];
  if (presence.newer_than(known)) known = presence;
}

void Rounds::gone(int rank, uint64_t attempt) {
  announce({.rank = rank, .attempt = attempt, .version = UINT64_MAX, .state = Presence::kLeft});
}

std::vector<int> Rounds::missing() const {
  std::vector<int> missing;
  for (const Presence& one : presence_) {
    if (one.state == Presence::kPresent && !parked_.contains(one.rank)) missing.push_back(one.rank);
  }
  return missing;
}

bool Rounds::all_left() const {
  return std::all_of(presence_.begin(), presence_.end(),
                     [](const Presence& one) { return one.state == Presence::kLeft; });
}

std::vector<ParkedStep> Rounds::take_complete() {
  if (parked_.empty() || !missing().empty()) return {};
  return take_all();
}

std::vector<ParkedStep> Rounds::take_all() {
  std::vector<ParkedStep> taken;
  for (auto& [rank, step] : parked_) taken.push_back(std::move(step));
  parked_.clear();
  return taken;
}

}  // namespace flotilla::ps
