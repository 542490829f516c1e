#include "flotilla/rpc/store_client.h"

#include <grpcpp/grpcpp.h>

#include <deque>
#include <map>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/mutex.h"
#include "flotilla/rpc/connecting.h"
#include "flotilla/rpc/connection_settings.h"
#include "flotilla/rpc/control.grpc.pb.h"
#include "flotilla/rpc/strangers.h"

namespace flotilla::rpc {
namespace {

[[noreturn]] void unavailable(const std::string& reason) {
  throw Error(ErrorKind::kUnavailable, reason);
}

constexpr std::chrono::seconds kGoodbye{1};

std::shared_ptr<grpc::Channel> open_channel(const StoreClient::Options& options) {
  silence_grpc();
  check_token(options.token);
  grpc::ChannelArguments settings = client_settings(options.address);
  const auto credentials = client_credentials(options.tls, settings);
  return grpc::CreateCustomChannel(options.address, credentials, settings);
}

}  // namespace

// gRPC calls the On* functions; replies are handed to whoever waits for their number.
class StoreClient::Stream final : public grpc::ClientBidiReactor<Request, Reply> {
 public:
  explicit Stream(Options options)
      : options_(std::move(options)), channel_(open_channel(options_)) {
    if (!wait_for_connection(*channel_, options_.address, options_.tls, options_.patience)) {
      unavailable(fmt::format(
          "no store answers at {} after {:.1f} s; is the launcher or the first host of the job "
          "running, and does a firewall let this port through?",
          options_.address, std::chrono::duration<double>(options_.patience).count()));
    }
    stub_ = Control::NewStub(channel_);
    context_.AddMetadata(kTokenKey, options_.token);
    stub_->async()->Connect(&context_, this);
    AddHold();  // writes are started from outside of the On* functions
    StartRead(&reply_);
    StartCall();
    try {
      say_hello();
    } catch (...) {
      close(std::chrono::seconds(0));
      throw;
    }
  }

  ~Stream() override { close(kGoodbye); }

  // Waits for the reply. REQUIRES: the caller holds no lock.
  Reply ask(Request request, Changed watcher = {}) FLT_THREAD_ANNOTATION(locks_excluded(mutex_)) {
    MutexLock lock(mutex_);
    const uint64_t id = send(std::move(request));
    if (watcher) watches_[id] = std::move(watcher);
    while (!replies_.contains(id) && ended_.empty()) changed_.wait(lock);
    const auto found = replies_.find(id);
    if (found == replies_.end()) unavailable(ended_);
    Reply reply = std::move(found->second);
    replies_.erase(found);
    require(reply.error().empty(), "{}", reply.error());
    return reply;
  }

  // No reply is waited for.
  void tell(Request request) {
    const MutexLock lock(mutex_);
    if (ended_.empty()) send(std::move(request));
  }

  void leave() {
    {
      const MutexLock lock(mutex_);
      if (left_ || !ended_.empty()) return;
      left_ = true;
    }
    Request request;
    request.mutable_leave();
    ask(std::move(request));
  }

  // Ends all waits, and the job's stop is told once.
  void end(const std::string& reason, bool tell) {
    bool first = false;
    {
      const MutexLock lock(mutex_);
      first = ended_.empty();
      if (first) ended_ = reason;
      changed_.notify_all();
      first = first && tell && !left_;
    }
    if (first && options_.on_stop) options_.on_stop(reason);
  }

 private:
  void say_hello() {
    Request request;
    Hello& hello = *request.mutable_hello();
    hello.set_role(options_.self.role);
    hello.set_rank(options_.self.rank);
    hello.set_host(options_.self.host);
    hello.set_pid(options_.self.pid);
    hello.set_attempt(options_.self.attempt);
    const Reply reply = ask(std::move(request));
    if (!reply.stop().empty()) hear_stop(reply.stop());
  }

  void hear_stop(const std::string& reason) {
    if (!options_.outlives_stop) return end(reason, true);
    if (options_.on_stop) options_.on_stop(reason);
  }

  uint64_t send(Request request) FLT_REQUIRES(mutex_) {
    request.set_id(++last_id_);
    queue_.push_back(std::move(request));
    if (queue_.size() == 1 && !broken_) StartWrite(&queue_.front());
    return last_id_;
  }

  // Gives the stream back to gRPC, which calls OnDone when nothing is left to do.
  void close(std::chrono::seconds patience) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    MutexLock lock(mutex_);
    if (!left_ && ended_.empty()) {
      left_ = true;
      Request request;
      request.mutable_leave();
      const uint64_t id = send(std::move(request));
      while (!replies_.contains(id) && ended_.empty()) {
        if (!changed_.wait_until(lock, deadline)) break;
      }
    }
    if (ended_.empty()) ended_ = "the connection to the store was closed";
    changed_.notify_all();
    context_.TryCancel();
    release();
    while (!done_) changed_.wait(lock);
  }

  // No more writes: OnDone may come.
  void release() FLT_REQUIRES(mutex_) {
    broken_ = true;
    if (!std::exchange(released_, true)) RemoveHold();
  }

  void OnReadDone(bool ok) override {
    Changed* watcher = nullptr;
    std::string stop;
    {
      const MutexLock lock(mutex_);
      if (!ok) return release();  // OnDone knows why
      stop = reply_.id() == 0 ? reply_.stop() : "";
      const auto found = watches_.find(reply_.id());
      if (found != watches_.end() && !reply_.key().empty()) {
        watcher = &found->second;  // entries stay
      } else if (reply_.id() != 0) {
        replies_[reply_.id()] = std::move(reply_);
        changed_.notify_all();
      }
    }
    if (watcher != nullptr) {
      (*watcher)(reply_.key(), reply_.erased() ? std::nullopt : std::optional(reply_.value()));
    }
    if (!stop.empty()) hear_stop(stop);
    StartRead(&reply_);
  }

  void OnWriteDone(bool ok) override {
    const MutexLock lock(mutex_);
    broken_ = broken_ || !ok;
    queue_.pop_front();
    if (!queue_.empty() && !broken_) StartWrite(&queue_.front());
  }

  void OnDone(const grpc::Status& status) override {
    std::string reason =
        fmt::format("the connection to the store of the job was lost, at {}", options_.address);
    if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED) {
      reason = fmt::format(
          "the store at {} refused this process: its FLT_JOB_TOKEN is not that of the job",
          options_.address);
    }
    end(reason, true);
    const MutexLock lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }

  const Options options_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Control::Stub> stub_;
  grpc::ClientContext context_;
  Reply reply_;  // being read

  Mutex mutex_;
  Condition changed_;
  std::deque<Request> queue_ FLT_GUARDED_BY(mutex_);  // the first is being written
  std::map<uint64_t, Reply> replies_ FLT_GUARDED_BY(mutex_);
  std::map<uint64_t, Changed> watches_ FLT_GUARDED_BY(mutex_);
  uint64_t last_id_ FLT_GUARDED_BY(mutex_) = 0;
  std::string ended_ FLT_GUARDED_BY(mutex_);  // why nothing is to be waited for; empty: go on
  bool left_ FLT_GUARDED_BY(mutex_) = false;
  bool broken_ FLT_GUARDED_BY(mutex_) = false;    // no more writes
  bool released_ FLT_GUARDED_BY(mutex_) = false;  // the hold
  bool done_ FLT_GUARDED_BY(mutex_) = false;
};

StoreClient::StoreClient(Options options) : stream_(std::make_unique<Stream>(std::move(options))) {}
StoreClient::~StoreClient() = default;

void StoreClient::set(const std::string& key, const std::string& value) {
  Request request;
  request.mutable_set()->set_key(key);
  request.mutable_set()->set_value(value);
  stream_->ask(std::move(request));
}

void StoreClient::set_leased(const std::string& key, const std::string& value) {
  Request request;
  request.mutable_set()->set_key(key);
  request.mutable_set()->set_value(value);
  request.mutable_set()->set_leased(true);
  stream_->ask(std::move(request));
}

std::string StoreClient::set_if_absent(const std::string& key, const std::string& value) {
  Request request;
  request.mutable_set()->set_key(key);
  request.mutable_set()->set_value(value);
  request.mutable_set()->set_only_if_absent(true);
  return stream_->ask(std::move(request)).value();
}

std::optional<std::string> StoreClient::find(const std::string& key) {
  Request request;
  request.mutable_get()->set_key(key);
  const Reply reply = stream_->ask(std::move(request));
  return reply.found() ? std::optional(reply.value()) : std::nullopt;
}

std::string StoreClient::get(const std::string& key) {
  Request request;
  request.mutable_get()->set_key(key);
  request.mutable_get()->set_wait(true);
  return stream_->ask(std::move(request)).value();
}

int64_t StoreClient::add(const std::string& key, int64_t amount) {
  Request request;
  request.mutable_add()->set_key(key);
  request.mutable_add()->set_amount(amount);
  return stream_->ask(std::move(request)).number();
}

void StoreClient::erase(const std::string& prefix) {
  Request request;
  request.mutable_erase()->set_prefix(prefix);
  stream_->ask(std::move(request));
}

void StoreClient::barrier(const std::string& name, int64_t members) {
  Request request;
  request.mutable_barrier()->set_name(name);
  request.mutable_barrier()->set_members(members);
  stream_->ask(std::move(request));
}

void StoreClient::watch(const std::string& prefix, Changed changed) {
  Request request;
  request.mutable_watch()->set_prefix(prefix);
  stream_->ask(std::move(request), std::move(changed));
}

void StoreClient::report(const Report& report) {
  Request request;
  Progress& progress = *request.mutable_progress();
  progress.set_step(report.step);
  progress.set_doing(report.doing);
  progress.set_doing_seconds(report.doing_seconds);
  progress.set_for_others(report.for_others);
  progress.set_age(report.age);
  progress.mutable_seconds()->insert(report.seconds.begin(), report.seconds.end());
  progress.mutable_reached()->insert(report.reached.begin(), report.reached.end());
  stream_->tell(std::move(request));
}

void StoreClient::leave() { stream_->leave(); }
void StoreClient::cancel(const std::string& reason) { stream_->end(reason, false); }

}  // namespace flotilla::rpc
