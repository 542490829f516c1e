#include "flotilla/comm/member.h"

#include "flotilla/base/error.h"

namespace flotilla::comm {

Member::Member(std::vector<int> ranks, int rank) : ranks_(std::move(ranks)), rank_(rank) {
  invariant(rank >= 0 && rank < size(), "rank {} of a group of {}", rank, size());
}

void Member::act_for(const Call& call) {
  call_ = call;
  is_layer_ = true;
}

void Member::begin_call(const Call& call) {
  if (!is_layer_) call_ = call;
  if (aborted()) throw_aborted();
}

void Member::abort(const std::string& reason) {
  {
    const MutexLock lock(mutex_);
    if (reason_.empty()) reason_ = reason.empty() ? "the job ends" : reason;
  }
  aborted_ = true;
  wake();
}

std::string Member::reason() const {
  const MutexLock lock(mutex_);
  return reason_;
}

void Member::throw_aborted() const {
  const MutexLock lock(mutex_);
  throw Error(ErrorKind::kUnavailable, fmt::format("{} of rank {} was ended: {}",
                                                   name_of(call_.verb), rank_of(rank_), reason_));
}

void Member::refuse_other(int member, const Call& theirs) const {
  // The same words on all sides.
  const bool after = rank_ < member;
  refuse(
      "rank {} calls {}, but rank {} {}: all members of a group must make the same calls with the "
      "same lengths and types, in the same order",
      rank_of(after ? rank_ : member), (after ? call_ : theirs).text(),
      rank_of(after ? member : rank_), (after ? theirs : call_).text());
}

void Member::tell(const std::string& reason) {
  abort(reason);
  if (lost_) lost_(reason);
}

void Member::lose(const std::string& reason) {
  tell(reason);
  throw_aborted();
}

}  // namespace flotilla::comm
