// flotilla/rpc/store_session.h
//
// The inside of store_client.h: a session with the store, and the connections that it has one after
// the other. Only store_client.cc includes it.

#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "flotilla/base/mutex.h"
#include "flotilla/rpc/connection_settings.h"
#include "flotilla/rpc/control.grpc.pb.h"
#include "flotilla/rpc/store_client.h"

namespace flotilla::rpc {

// One stream to the store. gRPC calls the On* functions, one after the other.
// REQUIRES: everything else under the session's lock
class StoreClient::Connection final : public grpc::ClientBidiReactor<Request, Reply> {
 public:
  Connection(Session& session, std::shared_ptr<grpc::Channel> channel, const std::string& token)
      : session_(session), channel_(std::move(channel)), stub_(Control::NewStub(channel_)) {
    context_.AddMetadata(kTokenKey, token);
  }

  bool welcomed = false;
  bool done = false;    // gRPC will not touch it any more
  grpc::Status status;  // once it is done
  std::string refusal;  // the answer to Hello

  void begin(Request hello) {
    stub_->async()->Connect(&context_, this);
    AddHold();  // writes are started from outside of the On* functions
    StartRead(&reply_);
    StartCall();
    send(std::make_shared<const Request>(std::move(hello)));
  }

  void send(std::shared_ptr<const Request> request) {
    if (closed_) return;
    queue_.push_back(std::move(request));
    if (queue_.size() == 1) StartWrite(queue_.front().get());
  }
  bool idle() const { return queue_.empty(); }

  // The store has ended it with this code.
  bool answered(grpc::StatusCode code) const { return done && status.error_code() == code; }
  bool refused() const {
    return answered(grpc::StatusCode::UNAUTHENTICATED) ||
           answered(grpc::StatusCode::PERMISSION_DENIED);
  }

  // Gives the stream back to gRPC, which calls OnDone when nothing is left to do.
  void close() {
    context_.TryCancel();
    release();
  }

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  // No more writes: OnDone may come.
  void release() {
    closed_ = true;
    if (!std::exchange(released_, true)) RemoveHold();
  }

  Session& session_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<Control::Stub> stub_;
  grpc::ClientContext context_;
  Reply reply_;                                       // being read
  std::deque<std::shared_ptr<const Request>> queue_;  // the first is being written
  bool closed_ = false;
  bool released_ = false;
};

// What outlives connections. Replies are handed to whoever waits for their number.
class StoreClient::Session {
 public:
  explicit Session(Options options);
  ~Session();

  // Waits for the reply. REQUIRES: the caller holds no lock.
  Reply ask(Request request, Changed watcher = {}) FLT_THREAD_ANNOTATION(locks_excluded(mutex_));

  // No reply is waited for. False: there is nobody to tell.
  bool tell(Request request);

  void expect_end();
  void leave();
  // Ends all waits, and the job's stop is told once.
  void end(const std::string& reason, bool tell);

 private:
  friend class Connection;
  static constexpr const char* kForgotten = "this process has left its job";
  static constexpr const char* kGivenUp = "the wait for the store of the job was interrupted";

  // Says Hello over a new connection and waits for the answer, at most so long.
  void greet(std::shared_ptr<grpc::Channel> channel, std::chrono::milliseconds patience);
  void say_hello(std::shared_ptr<grpc::Channel> channel);
  // Whether the greeting is over; waits for it until then.
  bool greeted(std::chrono::steady_clock::time_point until);
  // Whether nothing is to be waited for; before the first welcome Options::stop may say so.
  bool given_up() FLT_THREAD_ANNOTATION(locks_excluded(mutex_));
  void check_welcome();
  // Ends the connection, so that nothing of it comes any more.
  void hang_up();
  // Says now and then that this process is there, and comes back where the store does not answer.
  // Time is counted in beats, not read from the clock: while this process was stopped, it heard
  // nobody.
  void keep();
  // False: there is nothing to come back to, and whoever waits has been told.
  bool come_back();
  bool welcome_or_end(std::chrono::milliseconds away, bool told, const std::string& refusal);
  std::string why_lost() const FLT_REQUIRES(mutex_);
  void say_goodbye();

  uint64_t send(Request request) FLT_REQUIRES(mutex_);
  // Nothing: it has not come, and the time is over or nothing is to be waited for.
  std::optional<Reply> wait_for(uint64_t id, std::chrono::milliseconds patience, MutexLock& lock)
      FLT_REQUIRES(mutex_);

  void say_here() FLT_REQUIRES(mutex_);
  void hear_stop(const std::string& reason);
  void hear(Connection& connection, Reply& reply);
  void hear_welcome(Connection& connection, const Reply& reply) FLT_REQUIRES(mutex_);

  const Options options_;
  const Outage outage_;
  const bool returns_;      // where the connection breaks
  const std::string name_;  // of this session

  Mutex mutex_;
  Condition changed_;
  std::unique_ptr<Connection> connection_ FLT_GUARDED_BY(mutex_);
  uint64_t connections_ FLT_GUARDED_BY(mutex_) = 0;
  bool known_ FLT_GUARDED_BY(mutex_) = false;      // the store has welcomed it
  std::string early_stop_ FLT_GUARDED_BY(mutex_);  // what the welcome said of it
  // Requests that it may not have got.
  std::deque<std::shared_ptr<const Request>> unheard_ FLT_GUARDED_BY(mutex_);
  std::map<uint64_t, std::optional<Reply>> replies_ FLT_GUARDED_BY(mutex_);  // asked for
  std::map<uint64_t, Changed> watches_ FLT_GUARDED_BY(mutex_);
  uint64_t last_id_ FLT_GUARDED_BY(mutex_) = 0;
  uint64_t heard_ FLT_GUARDED_BY(mutex_) = 0;           // the sequence of the last reply
  uint64_t unacknowledged_ FLT_GUARDED_BY(mutex_) = 0;  // replies
  size_t unacknowledged_bytes_ FLT_GUARDED_BY(mutex_) = 0;
  std::chrono::milliseconds silent_ FLT_GUARDED_BY(mutex_){0};
  std::string ended_ FLT_GUARDED_BY(mutex_);  // why nothing is to be waited for; empty: go on
  bool left_ FLT_GUARDED_BY(mutex_) = false;
  bool expects_end_ FLT_GUARDED_BY(mutex_) = false;
  std::thread keeper_;
};

}  // namespace flotilla::rpc
