#include "flotilla/ps/server_calls.h"

#include <algorithm>
#include <random>
#include <utility>

#include "flotilla/base/error.h"

namespace flotilla::ps {
namespace {

using std::chrono::steady_clock;

constexpr auto kFirstPause = std::chrono::milliseconds(10);
constexpr auto kLongestPause = std::chrono::milliseconds(200);

}  // namespace

uint64_t new_incarnation() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

// ---- Calls that wait ----------------------------------------------------------------------------

// What the threads of channels leave for the one that waits.
class ServerCalls::Waiting {
 public:
  struct Result {
    size_t index = 0;
    Bytes answer = {};
    std::exception_ptr error = {};
  };

  void put(Result result) {
    const MutexLock lock(mutex_);
    results_.push_back(std::move(result));
    changed_.notify_one();
  }
  // What came, at the latest at `until`; perhaps nothing.
  std::vector<Result> take(steady_clock::time_point until) {
    MutexLock lock(mutex_);
    while (results_.empty()) {
      if (until == steady_clock::time_point::max()) {
        changed_.wait(lock);
      } else if (!changed_.wait_until(lock, until)) {
        break;
      }
    }
    return std::exchange(results_, {});
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::vector<Result> results_ FLT_GUARDED_BY(mutex_);
};

struct ServerCalls::Pending {
  Outgoing* outgoing = nullptr;
  std::shared_ptr<Channel> channel = {};
  bool done = false;
  // While it waits for another try.
  steady_clock::time_point again_at = steady_clock::time_point::max();
  std::chrono::milliseconds pause = kFirstPause;
  steady_clock::time_point lost_since = {};  // {}: not lost
};

ServerCalls::ServerCalls(Options options)
    : options_(std::move(options)),
      channels_(static_cast<size_t>(options_.servers)),
      incarnation_(options_.incarnation),
      sequences_(static_cast<size_t>(options_.servers)) {
  require(options_.servers > 0, "a job with parameter servers needs one, but has {}",
          options_.servers);
}

ServerCalls::~ServerCalls() { abort("the worker ends"); }

void ServerCalls::abort(const std::string& reason) {
  std::vector<std::shared_ptr<Channel>> channels;
  {
    const MutexLock lock(mutex_);
    if (aborted_.empty()) aborted_ = reason;
    channels = channels_;
  }
  for (const std::shared_ptr<Channel>& channel : channels) {
    if (channel) channel->cancel(reason);
  }
}

bool ServerCalls::aborted() const {
  const MutexLock lock(mutex_);
  return !aborted_.empty();
}

void ServerCalls::check_aborted() const {
  const MutexLock lock(mutex_);
  if (!aborted_.empty()) throw Error(ErrorKind::kUnavailable, aborted_);
}

std::shared_ptr<Channel> ServerCalls::channel(int server) {
  const auto i = static_cast<size_t>(server);
  {
    const MutexLock lock(mutex_);
    if (channels_.at(i)) return channels_[i];
  }
  check_aborted();
  std::shared_ptr<Channel> made = options_.connect(server, [this] { return aborted(); });
  std::string aborted;
  {
    const MutexLock lock(mutex_);
    if (!channels_[i]) channels_[i] = made;
    made = channels_[i];
    aborted = aborted_;
  }
  if (!aborted.empty()) made->cancel(aborted);
  return made;
}

void ServerCalls::drop(int server, const std::shared_ptr<Channel>& channel) {
  const MutexLock lock(mutex_);
  std::shared_ptr<Channel>& current = channels_[static_cast<size_t>(server)];
  if (current == channel) current = nullptr;
}

void ServerCalls::start(Pending& pending, size_t index, const std::shared_ptr<Waiting>& waiting) {
  pending.again_at = steady_clock::time_point::max();
  try {
    pending.channel = channel(pending.outgoing->server);
  } catch (const Error& error) {
    waiting->put({index, {}, std::current_exception()});
    return;
  }
  pending.channel->call(pending.outgoing->request, pending.outgoing->room,
                        [waiting, index](Bytes answer, std::exception_ptr error) {
                          waiting->put({index, std::move(answer), std::move(error)});
                        });
}

void ServerCalls::try_again_later(Pending& pending, const Error& why) {
  const int server = pending.outgoing->server;
  const auto now = steady_clock::now();
  if (pending.lost_since == steady_clock::time_point{}) {
    pending.lost_since = now;
    if (options_.on_notice) {
      options_.on_notice(fmt::format("server {} does not answer ({}); retrying until it does",
                                     server, why.sentence()));
    }
  }
  if (now - pending.lost_since > options_.patience) {
    throw Error(
        ErrorKind::kUnavailable,
        fmt::format("server {} did not come back within {} s: {}", server,
                    std::chrono::duration_cast<std::chrono::seconds>(options_.patience).count(),
                    why.sentence()));
  }
  if (pending.channel) drop(server, pending.channel);
  pending.again_at = now + pending.pause;
  pending.pause = std::min(pending.pause * 2, kLongestPause);
}

// After a push that failed nobody knows which servers have it: under its number the next one would
// be left out, and under another it would come out of turn. So it comes from somebody else.
std::vector<Bytes> ServerCalls::send(std::span<Outgoing> requests) {
  check_aborted();
  const bool push = std::any_of(requests.begin(), requests.end(),
                                [](const Outgoing& request) { return request.has_push; });
  if (!push) return send_all(requests);
  const MutexLock lock(push_mutex_);
  try {
    return send_all(requests);
  } catch (...) {
    incarnation_ = new_incarnation();
    std::fill(sequences_.begin(), sequences_.end(), 0);
    throw;
  }
}

// Each server is asked again by itself: were a worker to wait for all answers first, two workers
// could wait for each other at two servers.
std::vector<Bytes> ServerCalls::send_all(std::span<Outgoing> requests) {
  const auto waiting = std::make_shared<Waiting>();
  std::vector<Pending> pending(requests.size());
  std::vector<Bytes> answers(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    pending[i].outgoing = &requests[i];
    if (requests[i].has_push) {
      uint64_t& sequence = sequences_[static_cast<size_t>(requests[i].server)];
      set_push_id(requests[i].request.data, {incarnation_, ++sequence});
    }
    start(pending[i], i, waiting);
  }
  for (size_t left = requests.size(); left > 0;) {
    auto until = steady_clock::time_point::max();
    for (const Pending& one : pending) until = std::min(until, one.again_at);
    for (Waiting::Result& result : waiting->take(until)) {
      Pending& one = pending[result.index];
      try {
        if (result.error) std::rethrow_exception(result.error);
        answers[result.index] = std::move(result.answer);
        one.done = true;
        --left;
      } catch (Error& error) {
        check_aborted();
        if (error.kind() != ErrorKind::kUnavailable) {
          error.note("server", fmt::to_string(one.outgoing->server));
          throw;
        }
        try_again_later(one, error);
      }
    }
    check_aborted();
    const auto now = steady_clock::now();
    for (size_t i = 0; i < pending.size(); ++i) {
      if (!pending[i].done && pending[i].again_at <= now) start(pending[i], i, waiting);
    }
  }
  return answers;
}

// ---- Requests -----------------------------------------------------------------------------------

Outgoing ServerCalls::prepare(int server, const ScatteredStep& step, size_t room) {
  Outgoing outgoing = {.server = server, .room = room, .has_push = !step.changes.empty()};
  const size_t size = encoded_size(step);
  try {
    outgoing.request = channel(server)->allocate(size);
  } catch (const Error&) {
    // The server is away just now; send() waits for it.
    outgoing.request = heap_bytes(size);
  }
  encode(options_.self, step, outgoing.request.data);
  return outgoing;
}

Bytes ServerCalls::ask(int server, const Request& request) {
  return ask_servers(server, server + 1, request)[0];
}

std::vector<Bytes> ServerCalls::ask_all(const Request& request) {
  return ask_servers(0, servers(), request);
}

std::vector<Bytes> ServerCalls::ask_servers(int begin, int end, const Request& request) {
  Request mine = request;
  mine.sender = options_.self;
  const auto bytes = std::make_shared<std::vector<std::byte>>(encode(mine));
  std::vector<Outgoing> requests;
  for (int server = begin; server < end; ++server) {
    requests.push_back({.server = server, .request = {*bytes, bytes}});
  }
  return send(requests);
}

}  // namespace flotilla::ps
