#include "flotilla/rpc/store_server.h"

#include <grpcpp/grpcpp.h>
#include <sys/random.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/thread.h"
#include "flotilla/rpc/acceptor.h"
#include "flotilla/rpc/authenticator.h"
#include "flotilla/rpc/connection_settings.h"
#include "flotilla/rpc/control.grpc.pb.h"

namespace flotilla::rpc {
namespace {

// A reader that never reads must not fill our memory.
constexpr size_t kMaxUnheardBytes = size_t{256} << 20;

// So many requests without an answer are acknowledged at last.
constexpr uint64_t kUnheard = 32;

bool same_host(const std::string& peer) {
  return peer.starts_with("ipv4:127.") || peer.starts_with("ipv6:%5B::1%5D") ||
         peer.starts_with("ipv6:[::1]");
}

double seconds_of(Outage::milliseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

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
      : options_(std::move(options)),
        outage_(options_.outage ? *options_.outage : Outage::from_environment()),
        authenticator_(options_.token, options_.only_from) {
    require(!options_.token.empty(), "the store needs a token that connections must show");
    const size_t colon = options_.address.rfind(':');
    require(colon != std::string::npos, "the store's address must be host:port, but it is \"{}\"",
            options_.address);
    prepare_grpc();
    Fd listener = listen_at(options_.address, options_.stop);
    require(static_cast<bool>(listener),
            "the store cannot listen on {}: the port is in use or the address does not belong to "
            "this host",
            options_.address);
    address_ = fmt::format("{}:{}", options_.address.substr(0, colon), listening_port(listener));
    door_.emplace(std::move(listener), "the store", DoorLimits{.reserve = options_.reserve});
    grpc::ServerBuilder builder;
    const auto take = taker(builder, server_credentials(options_.tls));
    apply_settings(builder, "");
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    require(server_ != nullptr, "the store at {} cannot be started", options_.address);
    door_->start(take);
    if (options_.outage || !within_host(options_.address)) {
      watcher_ = start_thread<std::thread>("watches for silence", [this] { watch(); });
    }
  }

  ~Service() override {
    {
      const MutexLock lock(mutex_);
      closing_ = true;
      changed_.notify_all();
    }
    if (watcher_.joinable()) watcher_.join();
    door_->stop();
    // Streams that are open are cut: their clients hear UNAVAILABLE.
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    // gRPC may still be telling a stream that it is done.
    MutexLock lock(mutex_);
    while (!streams_.empty() || telling_ > 0) changed_.wait(lock);
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
  using Message = std::shared_ptr<const Reply>;
  struct Session;

  // One connection of a client. gRPC calls the On* functions of a stream one after the other;
  // writes may be started from any thread. REQUIRES: all but begin() the service's lock
  class Stream final : public grpc::ServerBidiReactor<Request, Reply> {
   public:
    Stream(Service& service, grpc::CallbackServerContext& context, bool waited_for)
        : waited_for(waited_for), service_(service), context_(context) {}

    Session* session = nullptr;  // null: nobody has said who this is, or another has its place
    const bool waited_for;       // one that breaks may be followed by another

    void begin() { StartRead(&request_); }
    void refuse(const grpc::Status& status) {
      finishing_ = finished_ = true;
      Finish(status);
    }

    void send(Message reply) {
      if (finishing_) return;
      queue_.push_back(std::move(reply));
      if (queue_.size() == 1) StartWrite(queue_.front().get());
    }
    void finish_when_written() {
      finishing_ = true;
      if (finished_ || !queue_.empty()) return;
      finished_ = true;
      Finish(grpc::Status::OK);
    }
    // Also where nobody reads what is written.
    void cut() {
      drop_queue();
      context_.TryCancel();
      finish_when_written();
    }
    void pop_written() {
      queue_.pop_front();
      if (!queue_.empty()) {
        StartWrite(queue_.front().get());
      } else if (finishing_) {
        finish_when_written();
      }
    }
    void drop_queue() {
      // The first is gRPC's until its OnWriteDone.
      if (queue_.size() > 1) queue_.resize(1);
    }

    void OnReadDone(bool ok) override { service_.received(*this, ok); }
    void OnWriteDone(bool ok) override { service_.written(*this, ok); }
    void OnDone() override { service_.done(*this); }

    const Request& request() const { return request_; }

   private:
    Service& service_;
    grpc::CallbackServerContext& context_;
    Request request_;
    std::deque<Message> queue_;  // the first is being written
    bool finishing_ = false;
    bool finished_ = false;
  };

  // A client, through all its connections.
  struct Session {
    ClientId id = 0;
    std::string name = {};
    Stream* stream = nullptr;  // null: its connection is broken
    uint64_t connection = 0;
    std::deque<Message> unheard = {};  // what it may not have got
    size_t unheard_bytes = 0;
    uint64_t sent = 0;      // the sequence of the last reply
    uint64_t heard = 0;     // the id of the last request
    uint64_t answered = 0;  // the last of them that the client knows to be heard
    // In time in which this process ran.
    Outage::milliseconds silent{0};
    Outage::milliseconds away{0};  // since its connection was closed
    // Until when a silence that has ended is remembered. Where a link comes back, what was sent
    // before arrives first, and then that the client has given the connection up.
    Outage::milliseconds suspect{0};
    bool overdue = false;   // what closed it came after a silence: it may take as long
    bool hopeless = false;  // it does not read
  };

  grpc::ServerBidiReactor<Request, Reply>* Connect(grpc::CallbackServerContext* context) override;
  void received(Stream& stream, bool ok);
  // What happened, if anything. False: the stream is finished once all is written.
  bool take(Stream& stream, std::optional<Happening>& what) FLT_REQUIRES(mutex_);
  bool welcome(Stream& stream, std::optional<Happening>& what) FLT_REQUIRES(mutex_);
  void forget_former(const Hello& hello) FLT_REQUIRES(mutex_);
  bool resume(Session& session, Stream& stream) FLT_REQUIRES(mutex_);
  void written(Stream& stream, bool ok);
  void done(Stream& stream);

  void send(std::vector<Outgoing>& replies) FLT_REQUIRES(mutex_);
  void send(Session& session, Reply reply) FLT_REQUIRES(mutex_);
  void acknowledge(Session& session) FLT_REQUIRES(mutex_);
  static void forget_heard(Session& session, uint64_t heard);

  void watch();
  // Longer than a client is that lives and is connected.
  bool was_silent(const Session& session) const { return session.silent >= 2 * outage_.beat(); }
  bool lost(const Session& session) const FLT_REQUIRES(mutex_);
  // The member, where one is lost that had not left.
  std::vector<Member> end(Session& session) FLT_REQUIRES(mutex_);
  void happened(Happening what, const Member& member);

  const Options options_;
  const Outage outage_;
  const Authenticator authenticator_;
  std::string address_;
  std::optional<Acceptor> door_;
  std::unique_ptr<grpc::Server> server_;

  Mutex events_;  // one event at a time; taken before mutex_, never after it
  mutable Mutex mutex_;
  StoreTable table_ FLT_GUARDED_BY(mutex_);
  std::map<Stream*, std::unique_ptr<Stream>> streams_ FLT_GUARDED_BY(mutex_);
  std::map<ClientId, Session> sessions_ FLT_GUARDED_BY(mutex_);
  ClientId last_id_ FLT_GUARDED_BY(mutex_) = 0;
  int64_t telling_ FLT_GUARDED_BY(mutex_) = 0;  // calls of done() that have not returned
  bool closing_ FLT_GUARDED_BY(mutex_) = false;
  Condition changed_;
  std::thread watcher_;  // of clients on other hosts
};

grpc::ServerBidiReactor<Request, Reply>* StoreServer::Service::Connect(
    grpc::CallbackServerContext* context) {
  const Authenticator::Verdict verdict =
      authenticator_.judge(shown_token(*context), context->peer());
  const bool welcome = verdict == Authenticator::Verdict::kWelcome;
  const std::string why = authenticator_.reason(verdict, context->peer());
  if (welcome) {
    door_->welcome(context->peer());
  } else {
    door_->refuse(context->peer(), why);
  }
  const bool waited_for = options_.outage || !same_host(context->peer());
  const MutexLock lock(mutex_);
  auto made = std::make_unique<Stream>(*this, *context, waited_for);
  Stream& stream = *made;
  streams_[&stream] = std::move(made);
  if (welcome) {
    stream.begin();
  } else {
    stream.refuse(refusal(verdict, why));
  }
  return &stream;
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
    if (!take(stream, what)) return stream.finish_when_written();
    if (what) member = table_.member(stream.session->id);
  }
  if (what) happened(*what, member);
  // Reads begin again only after the event: what a client does is told in its order.
  stream.begin();
}

bool StoreServer::Service::take(Stream& stream, std::optional<Happening>& what) {
  const Request& request = stream.request();
  if (request.has_hello()) return welcome(stream, what);
  if (stream.session == nullptr) {
    Reply reply;
    reply.set_error("the first request to the store must identify its sender");
    stream.send(std::make_shared<const Reply>(std::move(reply)));
    return false;
  }
  Session& session = *stream.session;
  if (was_silent(session)) session.suspect = outage_.retry();
  session.silent = {};
  forget_heard(session, request.heard());
  if (request.id() == 0) {
    acknowledge(session);
    return true;
  }
  if (request.id() <= session.heard) return true;  // it was answered, or will be
  session.heard = request.id();
  std::vector<Outgoing> replies;
  const bool stays = table_.handle(session.id, request, replies);
  send(replies);
  if (session.heard - session.answered >= kUnheard) acknowledge(session);
  if (request.has_progress()) what = Happening::kProgress;
  if (request.has_leave()) what = Happening::kLeft;
  return stays;
}

bool StoreServer::Service::welcome(Stream& stream, std::optional<Happening>& what) {
  const Request& request = stream.request();
  const Hello& hello = request.hello();
  if (stream.session != nullptr) return false;  // a stream has one
  for (auto& [id, session] : sessions_) {
    if (!hello.session().empty() && session.name == hello.session()) return resume(session, stream);
  }
  forget_former(hello);
  const ClientId id = ++last_id_;
  std::vector<Outgoing> replies;
  if (hello.again()) {
    Reply& reply = replies.emplace_back().reply;
    reply.set_error(
        fmt::format("the store of the job at {} no longer knows {} {}: it was considered lost, or "
                    "the job was restarted",
                    address_, hello.role(), hello.rank()));
  } else if (table_.handle(id, request, replies)) {
    Session& session = sessions_[id];
    session.id = id;
    session.name = hello.session();
    session.connection = hello.connection();
    session.stream = &stream;
    stream.session = &session;
    what = Happening::kJoined;
  }
  stream.send(std::make_shared<const Reply>(std::move(replies[0].reply)));
  return what.has_value();
}

// A process may have given up a connection before it was welcomed, and try again.
void StoreServer::Service::forget_former(const Hello& hello) {
  for (auto& [id, session] : sessions_) {
    const Member& member = table_.member(id);
    const bool same = member.role == hello.role() && member.rank == hello.rank() &&
                      member.host == hello.host() && member.pid == hello.pid();
    if (!same || session.stream != nullptr || !table_.stays(id)) continue;
    std::vector<Outgoing> replies;
    table_.gone(id, replies);
    sessions_.erase(id);
    return send(replies);
  }
}

// What it has not heard is said again; what it says again has been heard.
bool StoreServer::Service::resume(Session& session, Stream& stream) {
  const Hello& hello = stream.request().hello();
  if (hello.connection() <= session.connection) return false;  // one that it has given up
  if (session.stream != nullptr) {
    session.stream->session = nullptr;
    session.stream->cut();
  }
  session.stream = &stream;
  stream.session = &session;
  session.connection = hello.connection();
  session.silent = session.away = session.suspect = {};
  session.overdue = false;
  forget_heard(session, stream.request().heard());
  Reply reply;
  reply.set_heard(session.answered = session.heard);
  if (!hello.again()) reply.set_stop(table_.stopped());  // it has not heard its first welcome
  stream.send(std::make_shared<const Reply>(std::move(reply)));
  for (const Message& reply : session.unheard) stream.send(reply);
  return true;
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
    ++telling_;
    ended = std::move(streams_.at(&stream));
    streams_.erase(&stream);
    if (Session* session = stream.session) {
      session->stream = nullptr;
      session->overdue = was_silent(*session) || session->suspect.count() > 0;
      const bool comes_back = stream.waited_for && !session->hopeless && table_.stays(session->id);
      if (!comes_back || closing_) lost = end(*session);
      changed_.notify_all();
    }
  }
  for (const Member& member : lost) happened(Happening::kLost, member);
  ended.reset();
  const MutexLock lock(mutex_);
  --telling_;
  changed_.notify_all();
}

std::vector<Member> StoreServer::Service::end(Session& session) {
  std::vector<Outgoing> replies;
  std::vector<Member> members = table_.gone(session.id, replies);
  for (Member& member : members) {
    member.silent = session.silent >= outage_.limit;
    if (!options_.stop_when_lost) continue;
    table_.stop(member.silent
                    ? fmt::format("nothing has been heard from {} for {:g} s (FLT_OUTAGE_LIMIT)",
                                  name_of(member), seconds_of(outage_.limit))
                    : fmt::format("{} is gone: its connection ended", name_of(member)),
                replies);
  }
  if (session.stream != nullptr) {
    session.stream->session = nullptr;
    session.stream->cut();
  }
  sessions_.erase(session.id);
  send(replies);
  return members;
}

bool StoreServer::Service::lost(const Session& session) const {
  if (session.silent >= outage_.limit) return true;
  return session.stream == nullptr && !session.overdue && session.away >= outage_.come_back;
}

// Time is counted in beats, not read from the clock: while this process was stopped, it heard
// nobody.
void StoreServer::Service::watch() {
  const auto beat = outage_.beat();
  while (true) {
    std::vector<Member> members;
    {
      MutexLock lock(mutex_);
      const auto until = std::chrono::steady_clock::now() + beat;
      while (!closing_ && changed_.wait_until(lock, until)) continue;
      if (closing_) return;
      std::vector<Session*> ending;
      for (auto& [id, session] : sessions_) {
        if (session.stream != nullptr && !session.stream->waited_for) continue;
        session.silent += beat;
        session.suspect = std::max(session.suspect - beat, Outage::milliseconds(0));
        if (session.stream == nullptr) session.away += beat;
        if (lost(session)) ending.push_back(&session);
      }
      for (Session* session : ending) {
        for (Member& member : end(*session)) members.push_back(std::move(member));
      }
    }
    for (const Member& member : members) happened(Happening::kLost, member);
  }
}

void StoreServer::Service::happened(Happening what, const Member& member) {
  if (!options_.on_event) return;
  const MutexLock lock(events_);
  options_.on_event(what, member);
}

void StoreServer::Service::send(std::vector<Outgoing>& replies) {
  for (Outgoing& reply : replies) {
    const auto found = sessions_.find(reply.to);
    if (found != sessions_.end()) send(found->second, std::move(reply.reply));
  }
}

void StoreServer::Service::send(Session& session, Reply reply) {
  if (session.hopeless) return;
  reply.set_sequence(++session.sent);
  reply.set_heard(session.answered = session.heard);
  const auto message = std::make_shared<const Reply>(std::move(reply));
  session.unheard.push_back(message);
  session.unheard_bytes += message->ByteSizeLong();
  if (session.stream != nullptr) session.stream->send(message);
  if (session.unheard_bytes <= kMaxUnheardBytes) return;
  session.hopeless = true;
  session.unheard.clear();
  if (session.stream != nullptr) session.stream->cut();
}

// A sign of life, and of what has come.
void StoreServer::Service::acknowledge(Session& session) {
  Reply reply;
  reply.set_heard(session.answered = session.heard);
  session.stream->send(std::make_shared<const Reply>(std::move(reply)));
}

void StoreServer::Service::forget_heard(Session& session, uint64_t heard) {
  while (!session.unheard.empty() && session.unheard.front()->sequence() <= heard) {
    session.unheard_bytes -= session.unheard.front()->ByteSizeLong();
    session.unheard.pop_front();
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
