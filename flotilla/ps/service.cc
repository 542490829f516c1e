#include "flotilla/ps/service.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "flotilla/base/thread.h"
#include "flotilla/ps/bytes.h"
#include "flotilla/ps/metrics.h"
#include "flotilla/ps/round_merge.h"

namespace flotilla::ps {
namespace {

// Answers hold each pull up to a multiple of 8 bytes.
size_t even(size_t floats) { return (floats + 1) / 2 * 2; }

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', '?');
  return text;
}

// Lines of a text, without the empty ones.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// What a worker is told where its request fails. A disk that is full, or a folder that cannot be
// written, is an answer: to ask again, as one does where a server is away, would not end.
Error refusal_of(const Error& error) {
  if (error.kind() != ErrorKind::kUnavailable) return error;
  return {ErrorKind::kInternal, error.sentence(), error.where()};
}

}  // namespace

Service::Service(Store& store, Options options)
    : store_(store),
      options_(std::move(options)),
      rounds_(options_.workers),
      taken_(static_cast<size_t>(options_.workers)) {
  for (std::atomic<uint64_t>& taken : taken_) taken = kNoRecord;
  require_threads(options_.threads, "answer requests");
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { serve(); });
}

Service::~Service() {
  stop("the server ends");
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  threads_.clear();
}

// ---- Calls --------------------------------------------------------------------------------------

void Service::submit(std::shared_ptr<Call> call) {
  const MutexLock lock(mutex_);
  queue_.push_back(std::move(call));
  changed_.notify_one();
}

void Service::serve() {
  while (true) {
    std::shared_ptr<Call> call;
    {
      MutexLock lock(mutex_);
      while (queue_.empty() && !ending_) changed_.wait(lock);
      if (queue_.empty()) return;
      call = std::move(queue_.front());
      queue_.pop_front();
    }
    handle(std::move(call));
  }
}

void Service::handle(std::shared_ptr<Call> call) {
  ++requests_;
  bytes_in_ += static_cast<int64_t>(call->request().size());
  std::string stopped;
  {
    const MutexLock lock(mutex_);
    stopped = stopped_;
  }
  if (!stopped.empty()) return refuse(*call, Error(ErrorKind::kUnavailable, stopped));
  try {
    do_request(call);
  } catch (const Error& error) {
    refuse(*call, refusal_of(error));
  } catch (const std::exception& error) {
    refuse(*call, Error(ErrorKind::kInternal, error.what()));
  }
}

void Service::refuse(Call& call, const Error& error) {
  ++refused_;
  call.refuse(error);
}

void Service::do_request(const std::shared_ptr<Call>& call) {
  const Request request = decode_request(call->request());
  require(request.sender.workers == options_.workers,
          "worker {} was started in a job of {} workers, but this server in one of {}",
          request.sender.rank, request.sender.workers, options_.workers);
  switch (request.kind) {
    case RequestKind::kStep:
      return do_step(request, call);
    case RequestKind::kCreate:
      for (const std::string_view line : lines_of(request.text)) store_.create(parse_table(line));
      return call->answer();
    case RequestKind::kPresence:
      announce(request.presence);
      return call->answer();
    case RequestKind::kSave:
      store_.save(request.text, request.files);
      return call->answer();
    case RequestKind::kSaved:
      store_.saved(request.files);
      return call->answer();
    case RequestKind::kLoad:
      store_.load(request.text, request.files.table);
      return call->answer();
    case RequestKind::kCheck:
      store_.check_checkpoint(request.text, request.files.table);
      return call->answer();
    case RequestKind::kSnapshot:
      store_.snapshot();
      return call->answer();
    case RequestKind::kShrink: {
      const int64_t gone = store_.shrink(request.table, request.shrink);
      ByteWriter(call->room(sizeof gone)).put(gone);
      return call->answer();
    }
    case RequestKind::kScan:
      return answer_scan(request, *call);
    case RequestKind::kTables: {
      std::string text =
          fmt::format("{}\n{}\n", print(store_.values()), one_line(store_.directory()));
      for (const TableSpec& table : store_.tables()) text += print(table) + "\n";
      return answer_text(text, *call);
    }
    case RequestKind::kValues:
      store_.set_values(parse_values(request.text).id);
      return call->answer();
    case RequestKind::kStats:
      return answer_text(metrics_text(stats(), store_.stats()), *call);
  }
}

void Service::do_step(const Request& request, const std::shared_ptr<Call>& call) {
  const Step& step = request.step;
  floats_of(step);  // a step whose answer would be refused is not applied
  if (step.has_push && step.in_round) {
    if (park(request, call)) return;
  } else if (step.has_push) {
    count_missed(request.sender.rank);
    store_.push(step.push);
  }
  answer_pulls(request.sender.rank, step, *call);
}

// What the store knows may be old when the lock is taken, but then rounds_ knows better: it
// remembers all that was applied since this server started.
bool Service::park(const Request& request, const std::shared_ptr<Call>& call) {
  const PushId id = request.step.push.ids.front();
  if (store_.last_push(id.worker) >= id.sequence) return false;
  Rounds::Parked parked;
  std::string stopped;
  go_on([&] {
    const MutexLock lock(mutex_);
    stopped = stopped_;
    if (stopped.empty()) parked = rounds_.park({request.sender.rank, request.step, call});
  });
  if (!stopped.empty()) refuse(*call, Error(ErrorKind::kUnavailable, stopped));
  if (parked.before) {
    refuse(*parked.before, Error(ErrorKind::kUnavailable, "the worker sent its step again"));
  }
  return parked.outcome == Rounds::Parked::kWaits;
}

// What other workers did meanwhile is missing in the gradients.
void Service::count_missed(int rank) {
  const uint64_t taken = taken_[static_cast<size_t>(rank)];
  if (taken == kNoRecord) return;
  const auto missed = static_cast<int64_t>(store_.progress().records - taken);
  ++free_pushes_;
  missed_updates_ += missed;
  int64_t most = most_missed_;
  while (missed > most && !most_missed_.compare_exchange_weak(most, missed)) continue;
}

// ---- Rounds -------------------------------------------------------------------------------------

void Service::announce(const Presence& presence) {
  go_on([&] {
    const MutexLock lock(mutex_);
    rounds_.announce(presence);
  });
}

void Service::gone(int rank, uint64_t attempt) {
  go_on([&] {
    const MutexLock lock(mutex_);
    rounds_.gone(rank, attempt);
  });
}

void Service::go_on(const std::function<void()>& change) {
  change();
  std::vector<ParkedStep> round;
  bool last = false;
  {
    const MutexLock lock(mutex_);
    round = rounds_.take_complete();
    last = !all_left_ && rounds_.all_left();
    all_left_ = all_left_ || last;
  }
  if (!round.empty()) do_round(std::move(round));
  if (last && options_.on_all_left) options_.on_all_left();
}

void Service::do_round(std::vector<ParkedStep> round) {
  std::optional<Error> failure;
  try {
    if (options_.on_round) options_.on_round();
    std::vector<Push> pushes;
    for (const ParkedStep& parked : round) pushes.push_back(parked.step.push);
    store_.push(merge_round(pushes).push);
    ++completed_;
  } catch (const Error& error) {
    failure = refusal_of(error);
  } catch (const std::exception& error) {
    failure = Error(ErrorKind::kInternal, error.what());
  }
  {
    const MutexLock lock(mutex_);
    std::vector<ParkedStep> again = rounds_.finish(round, !failure);
    std::move(again.begin(), again.end(), std::back_inserter(round));
  }
  for (const ParkedStep& parked : round) {
    try {
      if (failure) throw *failure;
      answer_pulls(parked.rank, parked.step, *parked.call);
    } catch (const Error& error) {
      refuse(*parked.call, error);
    } catch (const std::exception& error) {
      refuse(*parked.call, Error(ErrorKind::kInternal, error.what()));
    }
  }
}

void Service::stop(const std::string& reason) {
  std::vector<std::shared_ptr<Call>> waiting;
  {
    const MutexLock lock(mutex_);
    if (stopped_.empty()) stopped_ = reason;
    for (ParkedStep& parked : rounds_.take_all()) waiting.push_back(std::move(parked.call));
    waiting.insert(waiting.end(), queue_.begin(), queue_.end());
    queue_.clear();
  }
  for (const std::shared_ptr<Call>& call : waiting) {
    refuse(*call, Error(ErrorKind::kUnavailable, reason));
  }
}

// ---- Answers ------------------------------------------------------------------------------------

std::vector<size_t> Service::floats_of(const Step& step) const {
  std::vector<size_t> floats;
  for (const Pull& pull : step.pulls) {
    floats.push_back(pull.dense ? static_cast<size_t>(store_.slice(pull.table).size())
                                : pull.keys.size() * store_.width(pull.table));
  }
  return floats;
}

void Service::answer_pulls(int rank, const Step& step, Call& call) {
  if (!step.pulls.empty()) taken_[static_cast<size_t>(rank)] = store_.progress().records;
  const std::vector<size_t> floats = floats_of(step);
  size_t all = 0;
  for (const size_t one : floats) all += even(one);
  if (all > 0) {
    const std::span<std::byte> room = call.room(all * sizeof(float));
    std::span<float> values(reinterpret_cast<float*>(room.data()), all);
    for (size_t i = 0; i < step.pulls.size(); ++i) {
      const Pull& pull = step.pulls[i];
      const std::span<float> part = values.first(floats[i]);
      if (pull.dense) {
        store_.pull_dense(pull.table, part);
      } else {
        store_.pull(pull.table, pull.keys, part, pull.create);
      }
      if (floats[i] % 2 != 0) values[floats[i]] = 0;
      values = values.subspan(even(floats[i]));
    }
    bytes_out_ += static_cast<int64_t>(room.size());
  }
  call.answer();
}

void Service::answer_text(const std::string& text, Call& call) {
  ByteWriter(call.room(text.size())).put_bytes(std::as_bytes(std::span(text)));
  call.answer();
}

void Service::answer_scan(const Request& request, Call& call) {
  std::vector<int64_t> keys;
  std::vector<float> values;
  store_.collect(request.table, request.shard, keys, values);
  const std::span<std::byte> room =
      call.room(8 + keys.size() * sizeof(int64_t) + values.size() * sizeof(float));
  ByteWriter to(room);
  to.put<uint64_t>(keys.size());
  to.put_bytes(std::as_bytes(std::span(keys)));
  to.put_bytes(std::as_bytes(std::span(values)));
  call.answer();
}

// ---- Statistics ---------------------------------------------------------------------------------

ServiceStats Service::stats() const {
  ServiceStats stats = {.requests = requests_,
                        .refused = refused_,
                        .rounds = completed_,
                        .bytes_in = bytes_in_,
                        .bytes_out = bytes_out_,
                        .free_pushes = free_pushes_,
                        .missed_updates = missed_updates_,
                        .most_missed = most_missed_};
  const MutexLock lock(mutex_);
  stats.queued = static_cast<int64_t>(queue_.size());
  stats.parked = static_cast<int64_t>(rounds_.waiting());
  return stats;
}

std::vector<int> Service::missing() const {
  const MutexLock lock(mutex_);
  return rounds_.missing();
}

}  // namespace flotilla::ps
