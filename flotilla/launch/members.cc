#include "flotilla/launch/members.h"

#include <fmt/format.h>

#include <algorithm>

namespace flotilla::launch {

std::string Members::Seen::name() const { return fmt::format("{} {}", member.role, member.rank); }

double Members::Seen::doing_for(Clock::time_point now) const {
  return member.last.doing_seconds + std::chrono::duration<double>(now - member.reported).count();
}

void Members::note(rpc::StoreServer::Happening what, const rpc::Member& member) {
  using Happening = rpc::StoreServer::Happening;
  if (member.role == "launcher") return;
  const MutexLock lock(mutex_);
  Seen& seen = seen_[{member.role, member.rank}];
  // The end of an old attempt may be seen after the start of the next.
  if (member.attempt < seen.member.attempt) return;
  seen.member = member;
  seen.here = what == Happening::kJoined || what == Happening::kProgress;
  if (seen.here) seen.moved = Clock::now();
}

void Members::clear() {
  const MutexLock lock(mutex_);
  seen_.clear();
}

std::vector<Members::Seen> Members::all() const {
  const MutexLock lock(mutex_);
  std::vector<Seen> all;
  for (const auto& [key, seen] : seen_) all.push_back(seen);
  std::stable_partition(all.begin(), all.end(), [](const Seen& seen) { return !seen.worker(); });
  return all;
}

std::vector<Members::Seen> stuck(const std::vector<Members::Seen>& seen,
                                 Members::Clock::time_point now, double limit) {
  std::vector<Members::Seen> still;
  bool somebody_moves = false;
  for (const Members::Seen& one : seen) {
    if (!one.worker() || !one.here) continue;  // a server without requests is not stuck
    if (std::chrono::duration<double>(now - one.moved).count() >= limit) {
      still.push_back(one);
    } else {
      somebody_moves = true;
    }
  }
  const auto waits = [](const Members::Seen& one) { return one.member.last.for_others; };
  const bool all_wait = std::all_of(still.begin(), still.end(), waits);
  if (!all_wait) std::erase_if(still, waits);
  return all_wait && somebody_moves ? std::vector<Members::Seen>() : still;
}

}  // namespace flotilla::launch
