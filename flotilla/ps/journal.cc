#include "flotilla/ps/journal.h"

#include "flotilla/base/crc32c.h"
#include "flotilla/base/error.h"

namespace flotilla::ps {

void Journal::open(const std::filesystem::path& directory, const LogOptions& options) {
  log_ = std::make_unique<LogWriter>(directory, options, record_);
}

void Journal::check_whole() const {
  invariant(!broken_, "a push that is in the log could not be applied; restart the server");
}

// What is in the log must be done: an owner that fails leaves the store behind its log.
void Journal::wait_for(Pending& pending) {
  try {
    pending.job->wait();
  } catch (...) {
    broken_ = true;
    throw;
  }
}

void Journal::in_order(const std::function<void()>& f) {
  const std::thread::id self = std::this_thread::get_id();
  bool inside = false;
  {
    MutexLock lock(mutex_);
    inside = leading_ && orders_ == self;
    while (leading_ && !inside) changed_.wait(lock);
    leading_ = true;
    orders_ = self;
  }
  if (inside) return f();
  const auto end = [&] {
    const MutexLock lock(mutex_);
    leading_ = false;
    orders_ = {};
    changed_.notify_all();
  };
  try {
    f();
  } catch (...) {
    end();
    throw;
  }
  end();
}

// Whoever finds nobody leading leads: it takes all that wait, writes them at once, and the next
// leader finds what came meanwhile.
void Journal::commit(Pending& pending) {
  require(pending.body.size() <= kMostBody, "a push of {} bytes is too long: the maximum is {}",
          pending.body.size(), kMostBody);
  pending.crc = crc32c(0, pending.body.data(), pending.body.size());
  std::vector<Pending*> group;
  {
    MutexLock lock(mutex_);
    waiting_.push_back(&pending);
    while (!pending.done && leading_) changed_.wait(lock);
    if (!pending.done) {
      leading_ = true;
      group.swap(waiting_);
    }
  }
  if (!group.empty()) {
    run_group(group);
    const MutexLock lock(mutex_);
    for (Pending* done : group) done->done = true;
    leading_ = false;
    changed_.notify_all();
  }
  if (pending.error) std::rethrow_exception(pending.error);
}

// Whether the ids are the next of their workers. `next` has what the group's pushes before it took.
bool Journal::take_ids(Pending& pending, std::map<uint64_t, uint64_t>& next) const {
  size_t repeated = 0;
  const auto last_of = [&](uint64_t worker) -> uint64_t {
    if (const auto found = next.find(worker); found != next.end()) return found->second;
    const auto found = last_.find(worker);
    return found == last_.end() ? 0 : found->second;
  };
  for (const PushId& id : pending.ids) {
    const uint64_t last = last_of(id.worker);
    require(id.sequence <= last + 1 && id.sequence > 0,
            "push {} of worker {:x} is out of order: the last one was {}", id.sequence, id.worker,
            last);
    repeated += id.sequence <= last;
  }
  require(repeated == 0 || repeated == pending.ids.size(),
          "of the {} pushes of a round, {} were already applied and the rest were not",
          pending.ids.size(), repeated);
  pending.repeated = repeated > 0;
  if (pending.repeated) return false;
  for (const PushId& id : pending.ids) next[id.worker] = id.sequence;
  return true;
}

void Journal::run_group(const std::vector<Pending*>& group) {
  std::map<uint64_t, uint64_t> next;
  std::vector<Pending*> fresh;
  std::vector<LogWriter::Entry> entries;
  for (Pending* pending : group) {
    try {
      check_whole();
      if (!take_ids(*pending, next)) {
        ++repeated_;
        continue;
      }
      fresh.push_back(pending);
      entries.push_back({pending->kind, pending->body, pending->crc});
    } catch (...) {
      pending->error = std::current_exception();
    }
  }
  try {
    if (log_ && !fresh.empty()) {
      log_->append(entries);
      ++writes_;
    }
  } catch (...) {
    for (Pending* pending : fresh) pending->error = std::current_exception();
    return;
  }
  for (const auto& [worker, sequence] : next) last_[worker] = sequence;
  for (Pending* pending : fresh) {
    try {
      pending->apply(++record_);
    } catch (...) {
      broken_ = true;
      pending->error = std::current_exception();
    }
  }
}

}  // namespace flotilla::ps
