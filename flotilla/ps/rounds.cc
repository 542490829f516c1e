#include "flotilla/ps/rounds.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "flotilla/base/error.h"

namespace flotilla::ps {

Rounds::Rounds(int workers) {
  require(workers > 0, "a job must have at least one worker, but this one has {}", workers);
  for (int rank = 0; rank < workers; ++rank) presence_.push_back({.rank = rank});
}

Rounds::Parked Rounds::park(ParkedStep step) {
  const PushId id = step.step.push.ids.front();
  const auto applied = applied_.find(id.worker);
  if (applied != applied_.end() && id.sequence <= applied->second) {
    return {.outcome = Parked::kApplied};
  }
  const auto going = under_way_.find(id.worker);
  if (going != under_way_.end() && going->second.sequence == id.sequence) {
    going->second.again.push_back(std::move(step));
    return {};
  }
  ParkedStep& place = parked_[step.rank];
  Parked parked = {.before = std::move(place.call)};
  place = std::move(step);
  return parked;
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
  std::vector<ParkedStep> round = take_all();
  for (const ParkedStep& one : round) {
    const PushId id = one.step.push.ids.front();
    under_way_[id.worker] = {.sequence = id.sequence};
  }
  return round;
}

std::vector<ParkedStep> Rounds::finish(const std::vector<ParkedStep>& round, bool applied) {
  std::vector<ParkedStep> again;
  for (const ParkedStep& one : round) {
    const PushId id = one.step.push.ids.front();
    auto going = under_way_.extract(id.worker);
    if (going.empty()) continue;  // two ranks call themselves the same worker
    std::move(going.mapped().again.begin(), going.mapped().again.end(), std::back_inserter(again));
    if (applied) applied_[id.worker] = id.sequence;
  }
  return again;
}

std::vector<ParkedStep> Rounds::take_all() {
  std::vector<ParkedStep> taken;
  for (auto& [rank, step] : parked_) taken.push_back(std::move(step));
  parked_.clear();
  return taken;
}

}  // namespace flotilla::ps
