#include "flotilla/ps/push_queue.h"

#include <utility>

#include "flotilla/base/thread.h"
#include "flotilla/ps/round_merge.h"

namespace flotilla::ps {

PushQueue::PushQueue(Client& client, Options options)
    : client_(client),
      options_(options),
      thread_(start_thread("pushes gradients", [this] { run(); })) {}

PushQueue::~PushQueue() {
  const MutexLock lock(mutex_);
  ending_ = true;
  changed_.notify_all();
}

void PushQueue::rethrow_failure() const {
  if (failure_) std::rethrow_exception(failure_);
}

void PushQueue::put(QueuedStep step) {
  MutexLock lock(mutex_);
  const auto under_way = [&]() FLT_REQUIRES(mutex_) { return queue_.size() + (sending_ ? 1 : 0); };
  while (under_way() >= static_cast<size_t>(options_.length) && !failure_) changed_.wait(lock);
  rethrow_failure();
  queue_.push_back(std::move(step));
  changed_.notify_all();
}

void PushQueue::flush() {
  MutexLock lock(mutex_);
  while ((!queue_.empty() || sending_) && !failure_) changed_.wait(lock);
  rethrow_failure();
}

std::vector<Bytes> PushQueue::take_values() {
  const MutexLock lock(mutex_);
  return std::exchange(values_, {});
}

void PushQueue::run() {
  while (true) {
    std::vector<QueuedStep> steps;
    {
      MutexLock lock(mutex_);
      while (queue_.empty() && !ending_) changed_.wait(lock);
      if (queue_.empty() || failure_) return;
      while (!queue_.empty() && static_cast<int>(steps.size()) < options_.max_merge) {
        steps.push_back(std::move(queue_.front()));
        queue_.pop_front();
      }
      sending_ = true;
      changed_.notify_all();
    }
    std::exception_ptr failure;
    std::vector<Bytes> answers;
    bool wants_values = false;
    try {
      QueuedStep step = steps.size() == 1 ? std::move(steps[0]) : merge(std::move(steps));
      wants_values = step.wants_values;
      answers = client_.send(step.requests);
    } catch (...) {
      failure = std::current_exception();
    }
    const MutexLock lock(mutex_);
    sending_ = false;
    if (failure) failure_ = failure;
    if (wants_values && !failure) values_ = std::move(answers);
    changed_.notify_all();
    if (failure) return;
  }
}

QueuedStep PushQueue::merge(std::vector<QueuedStep> steps) {
  QueuedStep merged;
  for (const QueuedStep& step : steps) merged.wants_values |= step.wants_values;
  for (size_t server = 0; server < steps[0].requests.size(); ++server) {
    std::vector<Push> pushes;
    std::vector<Pull> pulls;
    size_t room = 0;
    for (const QueuedStep& step : steps) {
      const Outgoing& one = step.requests[server];
      Step decoded = decode_request(one.request.data).step;
      pushes.push_back(std::move(decoded.push));
      if (!decoded.pulls.empty()) pulls = std::move(decoded.pulls);
      room = std::max(room, one.room);
    }
    const MergedRound sum = merge_round(pushes);
    ScatteredStep step = {.pulls = std::move(pulls)};
    for (const Change& change : sum.push.changes) {
      ScatteredChange& made = step.changes.emplace_back();
      made = {change, {change.values}};
      made.change.values = {};
      if (options_.sum) made.change.scale = 1;
    }
    merged.requests.push_back(client_.prepare(static_cast<int>(server), step, room));
  }
  return merged;
}

}  // namespace flotilla::ps
