#include "flotilla/rpc/store_server.h"

#include <grpcpp/grpcpp.h>
#include <sys/random.h>

#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/base/mutex.h"
#include "flotilla/rpc/connection_settings.h"
#include "flotilla/rpc/control.grpc.pb.h"
#include "flotilla/rpc/strangers.h"

namespace flotilla::rpc {
namespace {

// A reader that never reads must not fill our memory.
constexpr size_t kMaxQueuedBytes = size_t{256} << 20;

}  // namespace

std::string new_token() {
  unsigned char bytes[16];
  size_t filled = 0;
  while (filled < sizeof bytes) {
    const ssize_t got = getrandom(bytes + filled, sizeof bytes - filled, 0);
    if (got > 0) filled += static_cast<size_t>(got);
  }
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

class StoreServer::Service final : public Control::CallbackService {
 public:
  explicit Service(Options options)
      : options_(std::move(options)), strangers_(options_.token, options_.only_from) {
    require(!options_.token.empty(), "the store needs a token that connections must show");
    const size_t colon = options_.address.rfind(':');
    require(colon != std::string::npos, "the store's address must be host:port, but it is \"{}\"",
            options_.address);
    silence_grpc();
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(options_.address, server_credentials(options_.tls), &port);
    apply_settings(builder, options_.address);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    require(server_ != nullptr && port != 0,
            "the store cannot listen on {}: the port is in use or the address is not this host's",
            options_.address);
    address_ = fmt::format("{}:{}", options_.address.substr(0, colon), port);
  }

  ~Service() override {
    // Streams that are open are cut: their clients hear UNAVAILABLE.
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    // gRPC may still be telling a stream that it is done.
    MutexLock lock(mutex_);
    while (!streams_.empty() || telling_ > 0) quiet_.wait(lock);
  }

  const std::string& address() const { return address_; }

  void stop(const std::string& reason) {
    const MutexLock lock(mutex_);
    std::vector<Outgoing> replies;
    table_.stop(reason, replies);
    send(replies);
  }

  std::vector<Member> members() const {
    const MutexLock lock(mutex_);
    return table_.members();
  }

  std::optional<std::string> find(const std::string& key) const {
    const MutexLock lock(mutex_);
    const std::string* value = table_.find(key);
    return value == nullptr ? std::nullopt : std::optional(*value);
  }

 private:
  // One client. gRPC calls the On* functions of a stream one after the other; writes may be
  // started from any thread.
  class Stream final : public grpc::ServerBidiReactor<Request, Reply> {
   public:
    Stream(Service& service, ClientId id) : service_(service), id_(id) {}

    void begin() { StartRead(&request_); }
    void refuse(const grpc::Status& status) { Finish(status); }

    // REQUIRES: the service's lock
    void send(Reply reply) {
      if (finishing_) return;
      queued_bytes_ += reply.ByteSizeLong();
      queue_.push_back(std::move(reply));
      if (queue_.size() == 1) StartWrite(&queue_.front());
      if (queued_bytes_ > kMaxQueuedBytes) finish_when_written();
    }
    // REQUIRES: the service's lock
    void finish_when_written() {
      finishing_ = true;
      finish_if_idle();
    }

    void OnReadDone(bool ok) override { service_.received(*this, ok); }
    void OnWriteDone(bool ok) override { service_.written(*this, ok); }
    void OnDone() override { service_.done(*this); }

    // REQUIRES: the service's lock
    void pop_written() {
      queued_bytes_ -= queue_.front().ByteSizeLong();
      queue_.pop_front();
      if (!queue_.empty()) {
        StartWrite(&queue_.front());
      } else {
        finish_if_idle();
      }
    }
    // REQUIRES: the service's lock
    void drop_queue() {
      // The first is gRPC's until its OnWriteDone.
      if (queue_.size() > 1) queue_.resize(1);
    }

    ClientId id() const { return id_; }
    const Request& request() const { return request_; }

   private:
    void finish_if_idle() {
      if (!finishing_ || finished_ || !queue_.empty()) return;
      finished_ = true;
      Finish(grpc::Status::OK);
    }

    Service& service_;
    const ClientId id_;
    Request request_;
    std::deque<Reply> queue_;  // the first is being written
    size_t queued_bytes_ = 0;
    bool finishing_ = false;
    bool finished_ = false;
  };

  grpc::ServerBidiReactor<Request, Reply>* Connect(grpc::CallbackServerContext* context) override;
  void received(Stream& stream, bool ok);
  void written(Stream& stream, bool ok);
  void done(Stream& stream);
  void happened(Happening what, const Member& member);
  void send(std::vector<Outgoing>& replies) FLT_REQUIRES(mutex_);

  const Options options_;
  const Strangers strangers_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;

  Mutex events_;  // one event at a time; taken before mutex_, never after it
  mutable Mutex mutex_;
  StoreTable table_ FLT_GUARDED_BY(mutex_);
  std::map<ClientId, std::unique_ptr<Stream>> streams_ FLT_GUARDED_BY(mutex_);
  ClientId last_id_ FLT_GUARDED_BY(mutex_) = 0;
  int64_t telling_ FLT_GUARDED_BY(mutex_) = 0;  // calls of done() that have not returned
  Condition quiet_;
};

grpc::ServerBidiReactor<Request, Reply>* StoreServer::Service::Connect(
    grpc::CallbackServerContext* context) {
  const Strangers::Verdict verdict = strangers_.judge(shown_token(*context), context->peer());
  const MutexLock lock(mutex_);
  const ClientId id = ++last_id_;
  auto& stream = streams_[id] = std::make_unique<Stream>(*this, id);
  if (verdict == Strangers::Verdict::kWelcome) {
    stream->begin();
  } else {
    log::warning("the store refused a connection from {}: {}", context->peer(), reason(verdict));
    stream->refuse({grpc::StatusCode::UNAUTHENTICATED, "not of this job"});
  }
  return stream.get();
}

void StoreServer::Service::received(Stream& stream, bool ok) {
  std::optional<Happening> what;
  Member member;
  {
    const MutexLock lock(mutex_);
    if (!ok) {
      stream.drop_queue();
      stream.finish_when_written();
      return;
    }
    const Request& request = stream.request();
    std::vector<Outgoing> replies;
    const bool stays = table_.handle(stream.id(), request, replies);
    send(replies);
    if (!stays) {
      stream.finish_when_written();
      return;
    }
    if (request.has_hello()) what = Happening::kJoined;
    if (request.has_progress()) what = Happening::kProgress;
    if (request.has_leave()) what = Happening::kLeft;
    if (what) member = table_.member(stream.id());
  }
  if (what) happened(*what, member);
  // Reads begin again only after the event: what a client does is told in its order.
  stream.begin();
}

void StoreServer::Service::written(Stream& stream, bool ok) {
  const MutexLock lock(mutex_);
  if (!ok) stream.drop_queue();
  stream.pop_written();
}

void StoreServer::Service::done(Stream& stream) {
  std::vector<Member> lost;
  std::unique_ptr<Stream> ended;
  {
    const MutexLock lock(mutex_);
    std::vector<Outgoing> replies;
    lost = table_.gone(stream.id(), replies);
    ++telling_;
    ended = std::move(streams_.at(stream.id()));
    streams_.erase(stream.id());
    if (!lost.empty() && options_.stop_when_lost) {
      table_.stop(fmt::format("{} is gone: its connection ended", name_of(lost[0])), replies);
    }
    send(replies);
  }
  for (const Member& member : lost) happened(Happening::kLost, member);
  ended.reset();
  const MutexLock lock(mutex_);
  --telling_;
  quiet_.notify_all();
}

void StoreServer::Service::happened(Happening what, const Member& member) {
  if (!options_.on_event) return;
  const MutexLock lock(events_);
  options_.on_event(what, member);
}

void StoreServer::Service::send(std::vector<Outgoing>& replies) {
  for (Outgoing& reply : replies) {
    const auto found = streams_.find(reply.to);
    if (found != streams_.end()) found->second->send(std::move(reply.reply));
  }
}

StoreServer::StoreServer(Options options)
    : service_(std::make_unique<Service>(std::move(options))) {}
StoreServer::~StoreServer() = default;
const std::string& StoreServer::address() const { return service_->address(); }
void StoreServer::stop(const std::string& reason) { service_->stop(reason); }
std::vector<Member> StoreServer::members() const { return service_->members(); }
std::optional<std::string> StoreServer::find(const std::string& key) const {
  return service_->find(key);
}

}  // namespace flotilla::rpc
