#include "flotilla/rpc/data_server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <optional>
#include <utility>

#include "flotilla/base/mutex.h"
#include "flotilla/rpc/acceptor.h"
#include "flotilla/rpc/authenticator.h"
#include "flotilla/rpc/connection_settings.h"
#include "flotilla/rpc/frames.h"
#include "flotilla/rpc/messages.h"
#include "flotilla/rpc/statuses.h"
#include "flotilla/rpc/window.h"

namespace flotilla::rpc {
namespace {

// Up to here a request that is too large gets a sentence of ours; beyond it gRPC cuts it off.
constexpr size_t kSlack = size_t{1} << 20;

// What reactors need of the server. Outlives it, because callers may hold calls for longer.
class State {
 public:
  State(std::function<void(std::shared_ptr<DataCall>)> on_call, size_t max_message)
      : on_call(std::move(on_call)), max_message(max_message) {}

  struct Counters {
    std::atomic<uint64_t> calls = 0, without_token = 0, wrong_host = 0, oversized = 0,
                          malformed = 0, cut_off = 0, abandoned = 0, waiting = 0,
                          windows_refused = 0;
  };

  void began() {
    const MutexLock lock(mutex_);
    ++open_;
  }
  void ended() {
    const MutexLock lock(mutex_);
    --open_;
    changed_.notify_all();
  }
  void wait_until_quiet() {
    MutexLock lock(mutex_);
    while (open_ > 0) changed_.wait(lock);
  }

  const std::function<void(std::shared_ptr<DataCall>)> on_call;
  const size_t max_message;
  Counters counters;
  OpenedWindows windows;

 private:
  Mutex mutex_;
  Condition changed_;
  int64_t open_ FLT_GUARDED_BY(mutex_) = 0;  // reactors that gRPC is not done with
};

// Ends at once.
class Refusal final : public grpc::ServerGenericBidiReactor {
 public:
  Refusal(std::shared_ptr<State> state, const grpc::Status& status) : state_(std::move(state)) {
    state_->began();
    Finish(status);
  }

 private:
  void OnDone() override {
    state_->ended();
    delete this;
  }

  const std::shared_ptr<State> state_;
};

// One request. gRPC's On* functions and the calls of the handler may meet at any time: whoever
// sets answered_ first ends it.
class Call final : public DataCall,
                   public grpc::ServerGenericBidiReactor,
                   public std::enable_shared_from_this<Call> {
 public:
  explicit Call(std::shared_ptr<State> state) : state_(std::move(state)) {}

  void begin() {
    const MutexLock lock(mutex_);  // for the same reason as in OnDone
    self_ = shared_from_this();
    state_->began();
    ++state_->counters.waiting;
    StartRead(&message_);
  }

  std::span<const std::byte> request() const override { return std::as_const(request_).bytes(); }

  Payload allocate(size_t bytes) override {
    if (bytes > room_.size() || room_taken_.exchange(true)) return Payload(bytes);
    Payload room = room_.share();
    room.shrink(bytes);
    return room;
  }

  void answer(Payload reply) override {
    if (!first_answer()) return;
    --state_->counters.waiting;
    const bool fits = reply.size() > 0 && reply.size() <= room_.size();
    if (fits && reply.bytes().data() != room_.bytes().data()) {
      std::memcpy(room_.bytes().data(), reply.bytes().data(), reply.size());
    }
    const ReplyHeader header = {.in_room = fits, .bytes = reply.size()};
    message_ = fits ? to_message(header) : to_message(header, reply);
    StartWriteAndFinish(&message_, grpc::WriteOptions(), grpc::Status::OK);
  }

  void refuse(const Error& error) override { end(to_status(error)); }

  bool abandoned() const override { return abandoned_; }

 private:
  bool first_answer() {
    const MutexLock lock(mutex_);
    return !std::exchange(answered_, true);
  }

  // False: it had an answer.
  bool end(const grpc::Status& status) {
    if (!first_answer()) return false;
    --state_->counters.waiting;
    Finish(status);
    return true;
  }

  void OnReadDone(bool ok) override {
    if (!ok) return give_up();
    received_ = true;
    // The handler's hold on the call: when it is gone, so is the chance of an answer.
    const std::shared_ptr<DataCall> held(
        static_cast<DataCall*>(this), [self = shared_from_this()](DataCall*) {
          self->end(to_status(
              Error(ErrorKind::kInternal, "the server dropped a request without an answer")));
        });
    try {
      if (!take_request()) {
        end({grpc::StatusCode::FAILED_PRECONDITION, "the window is not open here"});
        return;
      }
      ++state_->counters.calls;
      state_->on_call(held);
    } catch (const Error& error) {
      refuse(error);
    } catch (const std::exception& error) {
      refuse(Error(ErrorKind::kInternal, error.what()));
    }
  }

  template <typename Function>
  auto unless_malformed(Function read) {
    try {
      return read();
    } catch (const Error&) {
      ++state_->counters.malformed;
      throw;
    }
  }

  // False: it refers to windows that are not open here.
  bool take_request() {
    const MutexLock lock(mutex_);
    Payload message = from_message(message_);
    message_.Clear();
    const RequestHeader header = unless_malformed([&] { return read_request(message.bytes()); });
    if (header.request.bytes > state_->max_message) {
      ++state_->counters.oversized;
      flotilla::refuse("a request may have at most {} bytes, but this one has {}",
                       state_->max_message, header.request.bytes);
    }
    if (header.request_window == kNoWindow) {
      message.drop_front(sizeof header);
      request_ = std::move(message);
    }
    return unless_malformed([&] { return find_windows(header); });
  }

  // False: they are not open here.
  bool find_windows(const RequestHeader& header) {
    const auto find = [&](uint32_t number, const Place& place, Payload& payload) {
      if (number == kNoWindow) return true;
      const auto window = state_->windows.find(header.client, number);
      if (window) payload = window->at(place);
      return window != nullptr;
    };
    return find(header.request_window, header.request, request_) &&
           find(header.room_window, header.room, room_);
  }

  void OnCancel() override { give_up(); }

  void give_up() {
    State::Counters& c = state_->counters;
    if (end({grpc::StatusCode::CANCELLED, ""})) ++(received_ ? c.abandoned : c.cut_off);
    abandoned_ = true;
  }

  void OnDone() override {
    {
      // After all that other threads have done. gRPC sees to that as well, but tsan cannot see it.
      const MutexLock lock(mutex_);
    }
    const std::shared_ptr<Call> last = std::move(self_);
    state_->ended();
  }

  const std::shared_ptr<State> state_;
  std::shared_ptr<Call> self_;  // until gRPC is done
  grpc::ByteBuffer message_;    // that is read, then the one that is written
  Payload request_;
  Payload room_;  // for the answer, in a window of the client
  std::atomic<bool> room_taken_ = false;
  std::atomic<bool> received_ = false;
  std::atomic<bool> abandoned_ = false;

  Mutex mutex_;
  bool answered_ FLT_GUARDED_BY(mutex_) = false;
};

// A client of this host that shows its windows, one after the other, for as long as it lives.
class Viewer final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Viewer(std::shared_ptr<State> state) : state_(std::move(state)) {
    state_->began();
    say({.number = kNoWindow, .opened = 1});
  }

 private:
  void say(const WindowVerdict& verdict) {
    message_ = to_message(verdict);
    StartWrite(&message_);
  }

  void OnWriteDone(bool /*ok*/) override { StartRead(&message_); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    try {
      const WindowCard card = read_card(from_message(message_).bytes());
      require(!client_ || *client_ == card.client, "a stream shows the windows of one client");
      client_ = card.client;
      say({.number = card.number, .opened = open(card)});
    } catch (const Error& error) {
      ++state_->counters.malformed;
      Finish(to_status(error));
    }
  }

  bool open(const WindowCard& card) {
    try {
      state_->windows.open(card);
      return true;
    } catch (const Error&) {
      ++state_->counters.windows_refused;
      return false;
    }
  }

  void OnDone() override {
    if (client_) state_->windows.close(*client_);
    state_->ended();
    delete this;
  }

  const std::shared_ptr<State> state_;
  grpc::ByteBuffer message_;  // that is read, then the one that is written
  std::optional<ClientKey> client_;
};

}  // namespace

class DataServer::Service final : public grpc::CallbackGenericService {
 public:
  explicit Service(Options options)
      : state_(std::make_shared<State>(std::move(options.on_call), options.max_message)),
        authenticator_(options.token, options.only_from) {
    require(!options.token.empty(), "a data server needs a token that calls must show");
    require(state_->on_call != nullptr, "a data server needs a function that takes its calls");
    const size_t colon = options.address.rfind(':');
    require(colon != std::string::npos, "a server's address must be host:port, but it is \"{}\"",
            options.address);
    prepare_grpc();
    Fd listener =
        options.listener ? std::move(options.listener) : listen_at(options.address, options.stop);
    require(static_cast<bool>(listener),
            "cannot listen on {}: the port is in use or the address does not belong to this host",
            options.address);
    address_ = fmt::format("{}:{}", options.address.substr(0, colon), listening_port(listener));
    door_.emplace(std::move(listener), address_, DoorLimits());
    grpc::ServerBuilder builder;
    const auto take = taker(builder, server_credentials(options.tls));
    apply_settings(builder, options.address,
                   static_cast<int>(std::min<size_t>(options.max_message + kSlack, INT_MAX)));
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
    require(server_ != nullptr, "the server at {} cannot be started", options.address);
    door_->start(take);
  }

  ~Service() override {
    door_->stop();
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    state_->wait_until_quiet();
  }

  const std::string& address() const { return address_; }

  Stats stats() const {
    const State::Counters& c = state_->counters;
    const auto [windows, window_bytes] = state_->windows.count();
    return {.calls = c.calls,
            .without_token = c.without_token,
            .wrong_host = c.wrong_host,
            .oversized = c.oversized,
            .malformed = c.malformed,
            .cut_off = c.cut_off,
            .abandoned = c.abandoned,
            .waiting = c.waiting,
            .windows_refused = c.windows_refused,
            .windows = windows,
            .window_bytes = window_bytes,
            .unauthenticated = static_cast<uint64_t>(door_->unauthenticated())};
  }

 private:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    const Authenticator::Verdict verdict =
        authenticator_.judge(shown_token(*context), context->peer());
    if (verdict != Authenticator::Verdict::kWelcome) return turn_away(*context, verdict);
    door_->welcome(context->peer());
    if (context->method() == kCallMethod) {
      const auto call = std::make_shared<Call>(state_);
      call->begin();
      return call.get();
    }
    if (context->method() == kWindowsMethod) return view(*context);
    ++state_->counters.malformed;
    return new Refusal(state_, {grpc::StatusCode::UNIMPLEMENTED, "no such method"});
  }

  grpc::ServerGenericBidiReactor* view(const grpc::GenericCallbackServerContext& context) {
    const auto shown = context.client_metadata().find(kBootIdKey);
    const bool here = !boot_id_.empty() && shown != context.client_metadata().end() &&
                      boot_id_ == std::string_view(shown->second.data(), shown->second.size());
    if (here) return new Viewer(state_);
    return new Refusal(state_, {grpc::StatusCode::FAILED_PRECONDITION, "on another host"});
  }

  grpc::ServerGenericBidiReactor* turn_away(const grpc::GenericCallbackServerContext& context,
                                            Authenticator::Verdict verdict) {
    State::Counters& c = state_->counters;
    ++(verdict == Authenticator::Verdict::kNoToken ? c.without_token : c.wrong_host);
    const std::string why = authenticator_.reason(verdict, context.peer());
    door_->refuse(context.peer(), why);
    return new Refusal(state_, refusal(verdict, why));
  }

  const std::shared_ptr<State> state_;
  const Authenticator authenticator_;
  const std::string boot_id_ = boot_id();
  std::string address_;
  std::optional<Acceptor> door_;
  std::unique_ptr<grpc::Server> server_;
};

DataServer::DataServer(Options options) : service_(std::make_unique<Service>(std::move(options))) {}
DataServer::~DataServer() = default;
const std::string& DataServer::address() const { return service_->address(); }
DataServer::Stats DataServer::stats() const { return service_->stats(); }

}  // namespace flotilla::rpc
