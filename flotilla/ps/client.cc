#include "flotilla/ps/client.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/save_set.h"
#include "flotilla/ps/bytes.h"

namespace flotilla::ps {
namespace {

using std::chrono::steady_clock;

constexpr auto kFirstPause = std::chrono::milliseconds(10);
constexpr auto kLongestPause = std::chrono::milliseconds(200);

std::string text_of(const Bytes& answer) {
  return {reinterpret_cast<const char*>(answer.data.data()), answer.data.size()};
}

}  // namespace

uint64_t new_incarnation() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

// ---- Calls that wait ----------------------------------------------------------------------------

// What the threads of channels leave for the one that waits.
class Client::Waiting {
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

struct Client::Pending {
  Outgoing* outgoing = nullptr;
  std::shared_ptr<Channel> channel = {};
  bool done = false;
  // While it waits for another try.
  steady_clock::time_point again_at = steady_clock::time_point::max();
  std::chrono::milliseconds pause = kFirstPause;
  steady_clock::time_point lost_since = {};  // {}: not lost
};

Client::Client(Options options)
    : options_(std::move(options)),
      channels_(static_cast<size_t>(options_.servers)),
      incarnation_(options_.incarnation),
      sequences_(static_cast<size_t>(options_.servers)) {
  require(options_.servers > 0, "a job with parameter servers needs one, but has {}",
          options_.servers);
}

Client::~Client() { abort("the worker ends"); }

void Client::abort(const std::string& reason) {
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

bool Client::aborted() const {
  const MutexLock lock(mutex_);
  return !aborted_.empty();
}

void Client::check_aborted() const {
  const MutexLock lock(mutex_);
  if (!aborted_.empty()) throw Error(ErrorKind::kUnavailable, aborted_);
}

std::shared_ptr<Channel> Client::channel(int server) {
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

void Client::drop(int server, const std::shared_ptr<Channel>& channel) {
  const MutexLock lock(mutex_);
  std::shared_ptr<Channel>& current = channels_[static_cast<size_t>(server)];
  if (current == channel) current = nullptr;
}

void Client::start(Pending& pending, size_t index, const std::shared_ptr<Waiting>& waiting) {
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

void Client::try_again_later(Pending& pending, const Error& why) {
  const int server = pending.outgoing->server;
  const auto now = steady_clock::now();
  if (pending.lost_since == steady_clock::time_point{}) {
    pending.lost_since = now;
    if (options_.on_notice) {
      options_.on_notice(
          fmt::format("server {} does not answer ({}); it is asked again until it does", server,
                      why.sentence()));
    }
  }
  if (now - pending.lost_since > options_.patience) {
    throw Error(
        ErrorKind::kUnavailable,
        fmt::format("server {} did not come back in {} s: {}", server,
                    std::chrono::duration_cast<std::chrono::seconds>(options_.patience).count(),
                    why.sentence()));
  }
  if (pending.channel) drop(server, pending.channel);
  pending.again_at = now + pending.pause;
  pending.pause = std::min(pending.pause * 2, kLongestPause);
}

// After a push that failed nobody knows which servers have it: under its number the next one would
// be left out, and under another it would come out of turn. So it comes from somebody else.
std::vector<Bytes> Client::send(std::span<Outgoing> requests) {
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
std::vector<Bytes> Client::send_all(std::span<Outgoing> requests) {
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

Outgoing Client::prepare(int server, const ScatteredStep& step, size_t room) {
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

Bytes Client::ask(int server, const Request& request) {
  return ask_servers(server, server + 1, request)[0];
}

std::vector<Bytes> Client::ask_all(const Request& request) {
  return ask_servers(0, servers(), request);
}

std::vector<Bytes> Client::ask_servers(int begin, int end, const Request& request) {
  Request mine = request;
  mine.sender = options_.self;
  const auto bytes = std::make_shared<std::vector<std::byte>>(encode(mine));
  std::vector<Outgoing> requests;
  for (int server = begin; server < end; ++server) {
    requests.push_back({.server = server, .request = {*bytes, bytes}});
  }
  return send(requests);
}

void Client::create(const std::vector<TableSpec>& tables) {
  std::string text;
  for (const TableSpec& table : tables) text += print(table) + "\n";
  ask_all({.kind = RequestKind::kCreate, .text = text});
}

std::vector<TableSpec> Client::tables() {
  const std::string text = text_of(ask_all({.kind = RequestKind::kTables}).back());
  std::vector<TableSpec> tables;
  const size_t folder = text.find('\n') + 1;
  for (size_t begin = text.find('\n', folder) + 1; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    tables.push_back(parse_table(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return tables;
}

std::vector<ServerValues> Client::values() {
  std::vector<ServerValues> values;
  for (const Bytes& answer : ask_all({.kind = RequestKind::kTables})) {
    const std::string text = text_of(answer);
    const size_t folder = text.find('\n') + 1;
    values.push_back({.values = parse_values(text.substr(0, folder - 1)),
                      .folder = text.substr(folder, text.find('\n', folder) - folder)});
  }
  return values;
}

void Client::set_values() {
  // Not one of those that are not drawn (values.h).
  const std::string text = print(Values{.id = new_incarnation() | uint64_t{1} << 63});
  ask_all({.kind = RequestKind::kValues, .text = text});
}

void Client::announce(Presence presence) {
  presence.rank = options_.self.rank;
  ask_all({.kind = RequestKind::kPresence, .presence = presence});
}

void Client::save(const std::string& directory, const SaveOptions& what) {
  const std::filesystem::path target(directory);
  SaveSet save(target.parent_path());
  write(save.add_folder(target.filename()), what);
  save.commit();
  saved(what);
}

void Client::write(const std::string& directory, const SaveOptions& what) {
  ask_all({.kind = RequestKind::kSave, .text = directory, .files = what});
}

void Client::saved(const SaveOptions& what) {
  if (what.mode != SaveMode::kAll) ask_all({.kind = RequestKind::kSaved, .files = what});
}

void Client::load(const std::string& directory, uint32_t only) {
  // What one of them cannot read, none of them takes.
  ask_all({.kind = RequestKind::kCheck, .text = directory, .files = {.table = only}});
  ask_all({.kind = RequestKind::kLoad, .text = directory, .files = {.table = only}});
}

void Client::snapshot() { ask_all({.kind = RequestKind::kSnapshot}); }

int64_t Client::shrink(uint32_t table, const Shrink& rule) {
  int64_t gone = 0;
  for (const Bytes& answer :
       ask_all({.kind = RequestKind::kShrink, .table = table, .shrink = rule})) {
    gone += ByteReader(answer.data).get<int64_t>();
  }
  return gone;
}

void Client::for_each_row(const TableSpec& table, const SeeRows& see) {
  for (int shard = 0; shard < kShards; ++shard) {
    const Bytes answer = ask(Share::server_of(shard, servers()),
                             {.kind = RequestKind::kScan, .table = table.id, .shard = shard});
    ByteReader from(answer.data);
    const auto keys = from.get<uint64_t>();
    require(keys <= from.left() / sizeof(int64_t), "a server sent {} keys in {} bytes", keys,
            answer.data.size());
    const std::span<const std::byte> first = from.get_bytes(keys * sizeof(int64_t));
    const std::span<const std::byte> second =
        from.get_bytes(keys * static_cast<size_t>(table.width) * sizeof(float));
    if (keys == 0) continue;
    see({reinterpret_cast<const int64_t*>(first.data()), keys},
        {reinterpret_cast<const float*>(second.data()), second.size() / sizeof(float)});
  }
}

std::string Client::metrics(int server) {
  return text_of(ask(server, {.kind = RequestKind::kStats}));
}

}  // namespace flotilla::ps
