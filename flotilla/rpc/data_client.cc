#include "flotilla/rpc/data_client.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/printable.h"
#include "flotilla/rpc/authenticator.h"
#include "flotilla/rpc/connecting.h"
#include "flotilla/rpc/connection_settings.h"
#include "flotilla/rpc/frames.h"
#include "flotilla/rpc/messages.h"
#include "flotilla/rpc/statuses.h"
#include "flotilla/rpc/window_pool.h"
#include "flotilla/rpc/window_stream.h"

namespace flotilla::rpc {
namespace {

std::shared_ptr<grpc::Channel> open_channel(const DataClient::Options& options) {
  prepare_grpc();
  check_token(options.token);
  const size_t most = std::min<size_t>(options.max_message + sizeof(ReplyHeader), INT_MAX);
  grpc::ChannelArguments settings = client_settings(options.address, static_cast<int>(most));
  const auto credentials = client_credentials(options.tls, settings);
  return grpc::CreateCustomChannel(options.address, credentials, settings);
}

struct Call {
  grpc::ClientContext context;
  grpc::ByteBuffer message;
  grpc::ByteBuffer reply;
  Payload request;
  std::optional<Payload> room;  // where the server may write the answer
  bool shared = false;          // the message refers to windows
  DataClient::Done done;
};

}  // namespace

class DataClient::Connection {
 public:
  explicit Connection(Options options)
      : options_(std::move(options)),
        channel_(open_channel(options_)),
        stub_(channel_),
        pool_(options_.shared_bytes) {
    if (!wait_for_connection(*channel_, options_.address, options_.tls, options_.patience,
                             options_.stop)) {
      if (options_.stop && options_.stop()) {
        throw Error(ErrorKind::kUnavailable,
                    fmt::format("the wait for the server at {} was interrupted", options_.address));
      }
      throw Error(ErrorKind::kUnavailable,
                  fmt::format("no server of the job answers at {} after {:.1f} s", options_.address,
                              std::chrono::duration<double>(options_.patience).count()));
    }
    const MutexLock lock(mutex_);
    show_windows();
  }

  ~Connection() {
    cancel("the client was closed");
    MutexLock lock(mutex_);
    if (stream_) stream_->close();
    while (!calls_.empty() || ending_ > 0 || stream_) changed_.wait(lock);
  }

  Payload allocate(size_t bytes) { return pool_.allocate(bytes); }

  void call(Payload request, size_t room, Done done) {
    require(request.size() <= options_.max_message,
            "a request may have at most {} bytes, but this one has {}", options_.max_message,
            request.size());
    auto call = std::make_unique<Call>();
    call->request = std::move(request);
    call->room = pool_.allocate_opened(room);
    call->done = std::move(done);
    ++calls_made_;
    send(std::move(call), true);
  }

  void cancel(const std::string& reason) {
    const MutexLock lock(mutex_);
    if (cancelled_.empty()) cancelled_ = reason;
    for (Call* call : calls_) call->context.TryCancel();
  }

  // Whether this thread is inside of a Done of this client's.
  bool telling() const { return telling_ == this; }

  Stats stats() const {
    return {.calls = calls_made_,
            .shared_requests = shared_requests_,
            .shared_replies = shared_replies_};
  }

 private:
  void send(std::unique_ptr<Call> made, bool may_share) {
    Call* call = made.release();  // finished() takes it back
    call->context.AddMetadata(kTokenKey, options_.token);
    call->message = message_of(*call, may_share);
    {
      const MutexLock lock(mutex_);
      calls_.insert(call);
      if (!cancelled_.empty()) call->context.TryCancel();
    }
    stub_.UnaryCall(&call->context, kCallMethod, grpc::StubOptions(), &call->message, &call->reply,
                    [this, call](const grpc::Status& status) { finished(call, status); });
  }

  grpc::ByteBuffer message_of(Call& call, bool may_share) {
    RequestHeader header = {.request = {.bytes = call.request.size()}};
    const auto request = may_share ? pool_.find(call.request) : std::nullopt;
    const auto room = may_share && call.room ? pool_.find(*call.room) : std::nullopt;
    // The server may have gone between the two, and windows are known to one server under one key.
    const bool one_key = !request || !room || request->client == room->client;
    if (room && one_key) {
      header.client = room->client;
      header.room_window = room->window;
      header.room = room->place;
      call.shared = true;
    }
    if (!request || !one_key) return to_message(header, call.request);
    header.client = request->client;
    header.request_window = request->window;
    header.request = request->place;
    call.shared = true;
    ++shared_requests_;
    return to_message(header);
  }

  void finished(Call* finished, const grpc::Status& status) {
    std::unique_ptr<Call> call(finished);
    {
      const MutexLock lock(mutex_);
      calls_.erase(finished);
      ++ending_;
    }
    const bool unknown_window = status.error_code() == grpc::StatusCode::FAILED_PRECONDITION;
    if (call->shared && unknown_window) {
      // Another server than the one that opened them. It has not looked at the request.
      auto again = std::make_unique<Call>();
      again->request = std::move(call->request);
      again->done = std::move(call->done);
      send(std::move(again), false);
    } else {
      tell(*call, status);
    }
    // Its context holds the channel, which must not go last in a thread of gRPC's: that would wait
    // for itself.
    call.reset();
    const MutexLock lock(mutex_);
    --ending_;
    if (status.ok() && !stream_) show_windows();
    changed_.notify_all();
  }

  void tell(Call& call, const grpc::Status& status) {
    Payload reply;
    std::exception_ptr error;
    try {
      if (!status.ok()) throw error_of(status);
      reply = answer_of(call);
    } catch (...) {
      error = std::current_exception();
    }
    const bool answered = status.ok() || to_error(status);
    if (call.shared && !answered) {
      pool_.retire(call.request);
      if (call.room) pool_.retire(*call.room);
    }
    // What the call holds is free for the next one, which may be made by done().
    call.request = {};
    call.room.reset();
    telling_ = this;
    call.done(std::move(reply), error);
    call.done = nullptr;  // what it holds goes before the client does
    telling_ = nullptr;
  }

  Payload answer_of(Call& call) {
    Payload message = from_message(call.reply);
    const ReplyHeader header = read_reply(message.bytes());
    if (header.in_room == 0) {
      message.drop_front(sizeof header);
      return message;
    }
    require(call.shared && call.room && header.bytes <= call.room->size(),
            "a reply of {} bytes does not fit into the memory reserved for it", header.bytes);
    Payload reply = std::move(*call.room);
    reply.shrink(header.bytes);
    ++shared_replies_;
    return reply;
  }

  // Opens the stream on which a server on this host hears of windows.
  void show_windows() FLT_REQUIRES(mutex_) {
    if (options_.shared_bytes == 0 || elsewhere_ || !cancelled_.empty()) return;
    stream_ = std::make_unique<WindowStream>(
        stub_, options_.token,
        WindowStream::Events{.on_verdict = [this](const WindowVerdict& verdict) { heard(verdict); },
                             .on_end = [this](bool for_good) { stream_ended(for_good); }});
  }

  void heard(const WindowVerdict& verdict) {
    if (verdict.number != kNoWindow) return pool_.verdict(verdict.number, verdict.opened == 1);
    WindowStream* stream = nullptr;
    {
      const MutexLock lock(mutex_);
      stream = stream_.get();
    }
    pool_.begin([stream](const WindowCard& card) { stream->show(card); });
  }

  void stream_ended(bool for_good) {
    pool_.end();
    const MutexLock lock(mutex_);
    elsewhere_ = elsewhere_ || for_good;
    stream_.reset();
    changed_.notify_all();
  }

  Error error_of(const grpc::Status& status) const {
    if (auto error = to_error(status)) return *error;
    {
      const MutexLock lock(mutex_);
      if (!cancelled_.empty()) return Error(ErrorKind::kUnavailable, cancelled_);
    }
    const std::string& address = options_.address;
    switch (status.error_code()) {
      case grpc::StatusCode::ABORTED:
        return Error(ErrorKind::kUnavailable,
                     fmt::format("the server at {} does not accept this process yet: {}", address,
                                 printable(status.error_message())));
      case grpc::StatusCode::PERMISSION_DENIED:
      case grpc::StatusCode::UNAUTHENTICATED:
        return Error(ErrorKind::kInvalidArgument,
                     fmt::format("the server at {} refused this process: {}", address,
                                 printable(status.error_message())));
      case grpc::StatusCode::UNIMPLEMENTED:
        return Error(ErrorKind::kInvalidArgument,
                     fmt::format("what listens at {} is not a data server of a job", address));
      case grpc::StatusCode::RESOURCE_EXHAUSTED:
        return Error(
            ErrorKind::kInvalidArgument,
            fmt::format("a message is too large for the server at {} or for its client", address));
      default:
        return Error(ErrorKind::kUnavailable,
                     fmt::format("the connection to the server at {} was lost", address));
    }
  }

  static thread_local const Connection* telling_;

  const Options options_;
  const std::shared_ptr<grpc::Channel> channel_;
  grpc::GenericStub stub_;
  WindowPool pool_;

  mutable Mutex mutex_;
  Condition changed_;
  std::set<Call*> calls_ FLT_GUARDED_BY(mutex_);  // gRPC has them; finished() frees them
  int64_t ending_ FLT_GUARDED_BY(mutex_) = 0;     // calls inside of finished()
  std::string cancelled_ FLT_GUARDED_BY(mutex_);  // why; empty: it is not
  std::unique_ptr<WindowStream> stream_ FLT_GUARDED_BY(mutex_);
  bool elsewhere_ FLT_GUARDED_BY(mutex_) = false;  // the server cannot open windows

  std::atomic<uint64_t> calls_made_ = 0, shared_requests_ = 0, shared_replies_ = 0;
};

thread_local const DataClient::Connection* DataClient::Connection::telling_ = nullptr;

DataClient::DataClient(Options options)
    : connection_(std::make_unique<Connection>(std::move(options))) {}
DataClient::~DataClient() {
  if (!connection_->telling()) return;
  // It would wait for the Done that it is in.
  Connection* const last = connection_.release();
  try {
    std::thread([last] { delete last; }).detach();
  } catch (const std::system_error&) {
    // Without a thread it stays until the process ends.
  }
}
Payload DataClient::allocate(size_t bytes) { return connection_->allocate(bytes); }
void DataClient::call(Payload request, size_t room, Done done) {
  connection_->call(std::move(request), room, std::move(done));
}
void DataClient::cancel(const std::string& reason) { connection_->cancel(reason); }
DataClient::Stats DataClient::stats() const { return connection_->stats(); }

}  // namespace flotilla::rpc
