#include "flotilla/job/job_state.h"

#include <fmt/format.h>

#include <utility>

#include "flotilla/base/error.h"

namespace flotilla::job {
namespace {

constexpr std::chrono::milliseconds kLook{100};
constexpr char kPrefix[] = "ps/";

std::string full(const std::string& key) { return kPrefix + key; }

}  // namespace

// Shared with the store's threads, which may outlive this object.
struct JobState::Shared {
  Mutex mutex;
  Condition changed;
  JobEntries entries FLT_GUARDED_BY(mutex);
  std::string stopped FLT_GUARDED_BY(mutex);
  Changed listener FLT_GUARDED_BY(mutex);

  void note(const std::string& full_key, const std::optional<std::string>& value) {
    const std::string key = full_key.substr(sizeof kPrefix - 1);
    const MutexLock lock(mutex);
    if (value) {
      entries[key] = *value;
    } else {
      entries.erase(key);
    }
    if (listener) listener(key, value);
    changed.notify_all();
  }
};

JobState::JobState(Membership& membership, std::function<void()> while_waiting)
    : membership_(membership),
      while_waiting_(std::move(while_waiting)),
      state_(std::make_shared<Shared>()) {
  listening_ = membership_.on_stop([state = state_](const std::string& why) {
    const MutexLock lock(state->mutex);
    state->stopped = why;
    state->changed.notify_all();
  });
  membership_.store().watch(
      kPrefix, [state = state_](const std::string& key, const std::optional<std::string>& value) {
        state->note(key, value);
      });
}

JobState::~JobState() { on_change({}); }

void JobState::set(const std::string& key, const std::string& value) {
  membership_.store().set(full(key), value);
}

void JobState::set_leased(const std::string& key, const std::string& value) {
  membership_.store().set_leased(full(key), value);
}

std::optional<std::string> JobState::find(const std::string& key) const {
  const MutexLock lock(state_->mutex);
  const auto found = state_->entries.find(key);
  if (found == state_->entries.end()) return std::nullopt;
  return found->second;
}

JobEntries JobState::entries() const {
  const MutexLock lock(state_->mutex);
  return state_->entries;
}

void JobState::wait(const Enough& enough, const char* doing) {
  while (true) {
    {
      MutexLock lock(state_->mutex);
      const auto deadline = std::chrono::steady_clock::now() + kLook;
      while (!enough(state_->entries)) {
        if (!state_->stopped.empty()) {
          throw Error(ErrorKind::kUnavailable,
                      fmt::format("{}; this process {}", state_->stopped, doing));
        }
        if (!state_->changed.wait_until(lock, deadline)) break;
      }
      if (enough(state_->entries)) return;
    }
    if (while_waiting_) while_waiting_();
  }
}

std::string JobState::wait_for(const std::string& key, const char* doing) {
  std::string value;
  wait(
      [&](const JobEntries& entries) {
        const auto found = entries.find(key);
        if (found != entries.end()) value = found->second;
        return found != entries.end();
      },
      doing);
  return value;
}

void JobState::on_change(Changed changed) {
  const MutexLock lock(state_->mutex);
  if (changed) {
    for (const auto& [key, value] : state_->entries) changed(key, value);
  }
  state_->listener = std::move(changed);
}

}  // namespace flotilla::job
