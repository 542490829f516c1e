#include "flotilla/rpc/store_session.h"

#include <algorithm>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/base/printable.h"
#include "flotilla/base/thread.h"
#include "flotilla/rpc/authenticator.h"
#include "flotilla/rpc/connecting.h"
#include "flotilla/rpc/dial.h"
#include "flotilla/rpc/store_server.h"

namespace flotilla::rpc {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Message = std::shared_ptr<const Request>;

[[noreturn]] void unavailable(const std::string& reason) {
  throw Error(ErrorKind::kUnavailable, reason);
}

constexpr std::chrono::seconds kGoodbye{1};

// What has come is acknowledged after so many replies or bytes, if nothing is asked meanwhile.
constexpr uint64_t kUnheard = 32;
constexpr size_t kUnheardBytes = size_t{1} << 20;

constexpr milliseconds kForEver = std::chrono::hours(24 * 365);

// How long one attempt to come back waits for TCP, and then for gRPC.
constexpr milliseconds kDial{700};
constexpr milliseconds kConnect{2000};
constexpr milliseconds kPause{100};
// An outage of which people are told.
constexpr milliseconds kNoticed{1000};

double seconds_of(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::shared_ptr<grpc::Channel> open_channel(const StoreClient::Options& options) {
  prepare_grpc();
  check_token(options.token);
  grpc::ChannelArguments settings = client_settings("");
  const auto credentials = client_credentials(options.tls, settings);
  return grpc::CreateCustomChannel(options.address, credentials, settings);
}

// False: it took too long, or `stop` said so.
bool connects(grpc::Channel& channel, const std::function<bool()>& stop) {
  const auto until = std::chrono::system_clock::now() + kConnect;
  while (std::chrono::system_clock::now() < until) {
    if (channel.WaitForConnected(std::chrono::system_clock::now() + kPause)) return true;
    if (stop()) return false;
  }
  return false;
}

}  // namespace

StoreClient::Session::Session(Options options)
    : options_(std::move(options)),
      outage_(options_.outage ? *options_.outage : Outage::from_environment()),
      returns_((options_.outage || !within_host(options_.address)) &&
               find_endpoint(options_.address)),
      name_(new_token()) {
  auto channel = open_channel(options_);
  if (!wait_for_connection(*channel, options_.address, options_.tls, options_.patience,
                           options_.stop)) {
    if (given_up()) unavailable(kGivenUp);
    unavailable(
        fmt::format("no store has answered at {} for {:.1f} s; is the launcher or the first host "
                    "of the job running, and does the firewall allow this port?",
                    options_.address, seconds_of(options_.patience)));
  }
  try {
    greet(std::move(channel), returns_ ? std::max(options_.patience, outage_.retry()) : kForEver);
    check_welcome();
  } catch (...) {
    hang_up();
    throw;
  }
  std::string stop;  // the job had stopped before this process came
  {
    const MutexLock lock(mutex_);
    stop = early_stop_;
  }
  if (!stop.empty()) hear_stop(stop);
  if (returns_) keeper_ = start_thread<std::thread>("keeps the session", [this] { keep(); });
}

StoreClient::Session::~Session() {
  say_goodbye();
  if (keeper_.joinable()) keeper_.join();
  hang_up();
}

Reply StoreClient::Session::ask(Request request, Changed watcher) {
  MutexLock lock(mutex_);
  const uint64_t id = send(std::move(request));
  if (watcher) watches_[id] = std::move(watcher);
  std::optional<Reply> reply = wait_for(id, kForEver, lock);
  if (!reply) unavailable(ended_);
  require(reply->error().empty(), "{}", reply->error());
  return *std::move(reply);
}

bool StoreClient::Session::tell(Request request) {
  const MutexLock lock(mutex_);
  if (ended_.empty()) send(std::move(request));
  return ended_.empty();
}

void StoreClient::Session::expect_end() {
  const MutexLock lock(mutex_);
  expects_end_ = true;
}

void StoreClient::Session::leave() {
  {
    const MutexLock lock(mutex_);
    if (left_ || !ended_.empty()) return;
    left_ = true;
  }
  Request request;
  request.mutable_leave();
  try {
    ask(std::move(request));
  } catch (const Error&) {
    // The store may have heard it, and forgotten this process, before the connection broke.
    const MutexLock lock(mutex_);
    if (ended_ != kForgotten) throw;
  }
}

void StoreClient::Session::end(const std::string& reason, bool tell) {
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

void StoreClient::Session::greet(std::shared_ptr<grpc::Channel> channel, milliseconds patience) {
  const Clock::time_point until = Clock::now() + patience;
  say_hello(std::move(channel));
  while (!greeted(std::min(until, Clock::now() + kPause)) && !given_up() && Clock::now() < until) {
    continue;
  }
}

void StoreClient::Session::say_hello(std::shared_ptr<grpc::Channel> channel) {
  const MutexLock lock(mutex_);
  Request request;
  request.set_heard(heard_);
  Hello& hello = *request.mutable_hello();
  hello.set_role(options_.self.role);
  hello.set_rank(options_.self.rank);
  hello.set_host(options_.self.host);
  hello.set_pid(options_.self.pid);
  hello.set_attempt(options_.self.attempt);
  hello.set_session(name_);
  hello.set_connection(++connections_);
  hello.set_again(known_);
  connection_ = std::make_unique<Connection>(*this, std::move(channel), options_.token);
  connection_->begin(std::move(request));
}

bool StoreClient::Session::greeted(Clock::time_point until) {
  MutexLock lock(mutex_);
  const auto over = [this]() FLT_REQUIRES(mutex_) {
    return connection_->welcomed || !connection_->refusal.empty() || connection_->done ||
           !ended_.empty();
  };
  while (!over() && changed_.wait_until(lock, until)) continue;
  return over();
}

bool StoreClient::Session::given_up() {
  {
    const MutexLock lock(mutex_);
    if (!ended_.empty()) return true;
    if (known_ || !options_.stop) return false;
  }
  if (!options_.stop()) return false;
  end(kGivenUp, false);
  return true;
}

void StoreClient::Session::check_welcome() {
  {
    const MutexLock lock(mutex_);
    if (connection_->welcomed) return;
    if (!connection_->refusal.empty()) refuse("{}", connection_->refusal);
    if (!ended_.empty()) unavailable(ended_);
    if (!returns_ || connection_->refused()) unavailable(why_lost());
  }
  if (come_back()) return;
  const MutexLock lock(mutex_);
  unavailable(ended_);
}

void StoreClient::Session::hang_up() {
  std::unique_ptr<Connection> last;
  MutexLock lock(mutex_);
  if (!connection_) return;
  connection_->close();
  while (!connection_->done) changed_.wait(lock);
  last = std::move(connection_);
  // Its channel must not go last in a thread of gRPC's: that would wait for itself.
}

void StoreClient::Session::keep() {
  while (true) {
    bool broken = false;
    {
      MutexLock lock(mutex_);
      const Clock::time_point until = Clock::now() + outage_.beat();
      bool waits = true;
      while (ended_.empty() && !connection_->done && waits) {
        waits = changed_.wait_until(lock, until);
      }
      if (!ended_.empty()) return;
      if (connection_->done && expects_end_) break;
      if (!connection_->done) silent_ += outage_.beat();
      // What is still being written may be long.
      const auto patience = connection_->idle() ? outage_.retry() : outage_.limit / 2;
      broken = connection_->done || silent_ >= patience;
      if (!broken && connection_->idle()) say_here();
    }
    if (broken && !come_back()) return;
  }
  end("the store of the job has closed", true);
}

bool StoreClient::Session::come_back() {
  milliseconds away;
  {
    const MutexLock lock(mutex_);
    away = silent_;
  }
  bool told = false;
  std::string refusal;
  milliseconds closed{0};  // how long nobody has listened there
  while (true) {
    hang_up();
    const Clock::time_point began = Clock::now();
    const Dialed dialed =
        dial(*find_endpoint(options_.address), kDial, [this] { return given_up(); });
    if (!dialed.listens_not) closed = {};
    if (closed >= outage_.come_back) break;
    if (dialed.ok()) {
      auto channel = open_channel(options_);
      if (connects(*channel, [this] { return given_up(); })) {
        greet(std::move(channel), outage_.retry());
      }
    }
    if (given_up()) return false;
    {
      const MutexLock lock(mutex_);
      if (connection_ && connection_->welcomed) {
        silent_ = {};
        break;
      }
      if (connection_) refusal = connection_->refusal;
      if (connection_ && connection_->refused()) refusal = why_lost();
    }
    if (!refusal.empty()) break;
    // Beyond that this process was stopped itself.
    const auto spent = std::clamp(std::chrono::ceil<milliseconds>(Clock::now() - began), kPause,
                                  kDial + kConnect + outage_.retry());
    away += spent;
    if (dialed.listens_not) closed += spent;
    if (away >= outage_.limit + options_.longer) break;
    if (away >= kNoticed && closed.count() == 0 && !std::exchange(told, true)) {
      log::warning("the store of the job at {} does not answer; waiting for it for up to {:g} s",
                   options_.address, seconds_of(outage_.limit));
    }
    std::this_thread::sleep_for(kPause);
  }
  return welcome_or_end(away, told, refusal);
}

bool StoreClient::Session::welcome_or_end(milliseconds away, bool told,
                                          const std::string& refusal) {
  bool welcomed = false, not_yet = false;
  std::string why;
  {
    const MutexLock lock(mutex_);
    welcomed = connection_ && connection_->welcomed;
    not_yet = connection_ && connection_->answered(grpc::StatusCode::ABORTED);
    why = why_lost();
    if (left_ && !refusal.empty()) why = kForgotten;
  }
  if (welcomed) {
    if (told) {
      log::warning("the store of the job at {} answers again after {:.1f} s", options_.address,
                   seconds_of(away));
    }
    return true;
  }
  if (why != kForgotten && !refusal.empty()) {
    why = refusal;
  } else if (why != kForgotten && !not_yet && away >= outage_.limit) {
    why = fmt::format(
        "the store of the job, at {}, has not answered for {:g} s (FLT_OUTAGE_LIMIT): host {} "
        "is down, paused or cut off",
        options_.address, seconds_of(outage_.limit), host_of(options_.address));
  }
  end(why, true);
  return false;
}

std::string StoreClient::Session::why_lost() const {
  const auto answered = [this](grpc::StatusCode code) FLT_REQUIRES(mutex_) {
    return connection_ && connection_->answered(code);
  };
  if (answered(grpc::StatusCode::UNAUTHENTICATED)) {
    return fmt::format(
        "the store at {} refused this process: its FLT_JOB_TOKEN is not that of the job",
        options_.address);
  }
  if (answered(grpc::StatusCode::PERMISSION_DENIED) || answered(grpc::StatusCode::ABORTED)) {
    return fmt::format(
        "the store at {} {}: {}", options_.address,
        connection_->refused() ? "refused this process" : "does not accept this process yet",
        printable(connection_->status.error_message()));
  }
  return fmt::format("the connection to the store of the job at {} was lost", options_.address);
}

void StoreClient::Session::say_goodbye() {
  MutexLock lock(mutex_);
  if (!left_ && ended_.empty()) {
    left_ = true;
    Request request;
    request.mutable_leave();
    wait_for(send(std::move(request)), kGoodbye, lock);
  }
  if (ended_.empty()) ended_ = "the connection to the store was closed";
  changed_.notify_all();
}

uint64_t StoreClient::Session::send(Request request) {
  request.set_id(++last_id_);
  request.set_heard(heard_);
  unacknowledged_ = unacknowledged_bytes_ = 0;
  const auto message = std::make_shared<const Request>(std::move(request));
  unheard_.push_back(message);
  if (connection_ && connection_->welcomed) connection_->send(message);
  return last_id_;
}

std::optional<Reply> StoreClient::Session::wait_for(uint64_t id, milliseconds patience,
                                                    MutexLock& lock) {
  const Clock::time_point until = Clock::now() + patience;
  std::optional<Reply>& reply = replies_[id];
  while (!reply && ended_.empty() && changed_.wait_until(lock, until)) continue;
  std::optional<Reply> found = std::move(reply);
  replies_.erase(id);
  return found;
}

void StoreClient::Session::say_here() {
  Request request;
  request.set_heard(heard_);
  unacknowledged_ = unacknowledged_bytes_ = 0;
  connection_->send(std::make_shared<const Request>(std::move(request)));
}

void StoreClient::Session::hear_stop(const std::string& reason) {
  if (!options_.outlives_stop) return end(reason, true);
  if (options_.on_stop) options_.on_stop(reason);
}

void StoreClient::Session::hear_welcome(Connection& connection, const Reply& reply) {
  if (!reply.error().empty()) {
    connection.refusal = reply.error();
  } else {
    connection.welcomed = known_ = true;
    early_stop_ = reply.stop();
    while (!unheard_.empty() && unheard_.front()->id() <= reply.heard()) unheard_.pop_front();
    for (const Message& request : unheard_) connection.send(request);
  }
  changed_.notify_all();
}

void StoreClient::Session::hear(Connection& connection, Reply& reply) {
  Changed* watcher = nullptr;
  std::string stop;
  {
    const MutexLock lock(mutex_);
    silent_ = {};
    if (!connection.welcomed) {
      hear_welcome(connection, reply);
    } else {
      while (!unheard_.empty() && unheard_.front()->id() <= reply.heard()) unheard_.pop_front();
      if (reply.sequence() <= heard_) return;  // a sign of life, or said again
      heard_ = reply.sequence();
      unacknowledged_bytes_ += reply.ByteSizeLong();
      if (++unacknowledged_ >= kUnheard || unacknowledged_bytes_ >= kUnheardBytes) say_here();
      stop = reply.id() == 0 ? reply.stop() : "";
      const auto found = watches_.find(reply.id());
      if (found != watches_.end() && !reply.key().empty()) {
        watcher = &found->second;  // entries stay
      } else if (const auto asked = replies_.find(reply.id()); asked != replies_.end()) {
        asked->second = std::move(reply);
        changed_.notify_all();
      }
    }
  }
  if (watcher != nullptr) {
    (*watcher)(reply.key(), reply.erased() ? std::nullopt : std::optional(reply.value()));
  }
  if (!stop.empty()) hear_stop(stop);
}

void StoreClient::Connection::OnReadDone(bool ok) {
  if (ok) {
    session_.hear(*this, reply_);
    StartRead(&reply_);
    return;
  }
  const MutexLock lock(session_.mutex_);
  release();  // OnDone knows why
}

void StoreClient::Connection::OnWriteDone(bool ok) {
  const MutexLock lock(session_.mutex_);
  closed_ = closed_ || !ok;
  queue_.pop_front();
  if (!queue_.empty() && !closed_) StartWrite(queue_.front().get());
}

void StoreClient::Connection::OnDone(const grpc::Status& ended) {
  std::string lost;
  {
    const MutexLock lock(session_.mutex_);
    status = ended;
    // Where nobody comes back, and the greeting is over, this is the end.
    if (!session_.returns_ && welcomed) {
      lost = fmt::format("the connection to the store of the job at {} was lost",
                         session_.options_.address);
    }
  }
  if (!lost.empty()) session_.end(lost, true);
  const MutexLock lock(session_.mutex_);
  done = true;
  session_.changed_.notify_all();
}

}  // namespace flotilla::rpc
