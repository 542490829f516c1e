#include "flotilla/job/table_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/base/thread.h"
#include "flotilla/job/table_files.h"
#include "flotilla/ps/metrics.h"
#include "flotilla/ps/rpc_channel.h"
#include "flotilla/rpc/job_token.h"
#include "flotilla/rpc/tls.h"

namespace flotilla::job {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLook{100};
constexpr std::chrono::seconds kLookForSnapshot{1};
constexpr std::chrono::seconds kWordOfALoss{1};

// The rank behind a prefix, "alive/3".
std::optional<int64_t> rank_in(std::string_view key, std::string_view prefix) {
  if (!key.starts_with(prefix)) return std::nullopt;
  key.remove_prefix(prefix.size());
  int64_t rank = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), rank);
  if (error != std::errc() || end != key.data() + key.size()) return std::nullopt;
  return rank;
}

std::unique_ptr<rpc::DataServer> listen(TableServerOptions& options, const std::string& token,
                                        ps::Service& service) {
  const auto make = [&](const Endpoint& at) {
    rpc::DataServer::Options settings{.address = at.text(),
                                      .token = token,
                                      .only_from = options.only_from,
                                      .tls = rpc::Tls::from_environment()};
    settings.stop = options.stop;
    settings.listener = std::move(options.listener);
    settings.on_call = ps::answer_with(service);
    return std::make_unique<rpc::DataServer>(std::move(settings));
  };
  if (options.listener) return make({options.host, options.port});
  // A host may be known by an address that is not its own, as behind a service of Kubernetes.
  const Endpoint places[] = {{options.host, options.port}, {options.host, 0}, {"0.0.0.0", 0}};
  for (const Endpoint& place : places) {
    try {
      return make(place);
    } catch (const Error&) {
      if (&place == std::end(places) - 1) throw;
    }
  }
  return nullptr;
}

}  // namespace

TableServerOptions table_server_options(const fleet::Role& role) {
  require(role.is_server(), "only servers keep tables, and this process is {}", role.text());
  constexpr int64_t kMost = int64_t{1} << 40;
  const int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  TableServerOptions options{
      .server = role.index,
      .servers = role.servers(),
      .workers = role.workers,
      .launched = env::text("FLT_STORE").has_value(),
      .directory = env::text_or("FLT_PS_DIR", ""),
      .host = host_of(role.endpoint),
      .status_port = env::number_or("FLT_STATUS_PORT", 0, 0, 65535),
      .snapshot_seconds =
          static_cast<double>(env::number_or("FLT_PS_SNAPSHOT_SECONDS", 300, 0, kMost)),
      .threads = static_cast<int>(env::number_or(
          "FLT_THREADS", env::number_or("OMP_NUM_THREADS", cores, 1, 1024), 1, 1024))};
  const std::string sync = env::text_or("FLT_PS_SYNC", "interval");
  require(sync == "each" || sync == "interval" || sync == "off",
          "FLT_PS_SYNC is each, interval or off, but \"{}\" was given", sync);
  options.sync = sync == "each"  ? ps::Sync::kEach
                 : sync == "off" ? ps::Sync::kOff
                                 : ps::Sync::kInterval;
  if (const int64_t fd = env::number_or("FLT_LISTEN_FD", -1, -1, 1 << 20); fd >= 0) {
    // The number stays good, should there be another server in this process later.
    options.listener = Fd(fcntl(static_cast<int>(fd), F_DUPFD_CLOEXEC, 0));
  } else if (role.index > 0) {
    // The endpoint of the first server is that of the store.
    options.port = find_endpoint(role.endpoint).value_or(Endpoint()).port;
  }
  // A launcher without a secret gives its processes a token, and says where others can guess it.
  options.only_from = env::list("FLT_ONLY_FROM");
  if (options.only_from.empty() && !env::text("FLT_STORE") && !rpc::job_secret()) {
    options.only_from = hosts_of_job(role, options.host);
  }
  return options;
}

TableServer::TableServer(Membership& membership, TableServerOptions options)
    : options_(std::move(options)),
      membership_(membership),
      job_state_(membership),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  const fs::path folder = folder_of_server(options_.directory, options_.server, options_.servers);
  store_ = std::make_unique<ps::Store>(ps::StoreOptions{
      .directory = folder,
      .log = !folder.empty(),
      .log_options = {.sync = options_.sync},
      .share = {static_cast<int>(options_.server), static_cast<int>(options_.servers)},
      .owners = options_.threads});
  service_ = std::make_unique<ps::Service>(
      *store_, ps::Service::Options{.workers = static_cast<int>(options_.workers),
                                    .threads = std::max(2, options_.threads)});
  data_ = listen(options_, membership_.token(), *service_);
  status_ = std::make_unique<StatusPort>(options_.status_port, [this] { return metrics(); });
  if (store_->recovered()) {
    log::info("server {} continues with the {} tables in {}", options_.server,
              store_->tables().size(), folder.string());
  }
}

TableServer::~TableServer() {
  job_state_.on_change({});
  snapshot_ = {};
  service_->stop("the server ends");
  data_.reset();
}

void TableServer::load(const fs::path& checkpoint) {
  if (store_->values().id != 0) {
    log::info("server {} has tables already: {} is not loaded", options_.server,
              checkpoint.string());
    return;
  }
  store_->load(tables_in(checkpoint));
}

std::string TableServer::metrics() {
  const rpc::DataServer::Stats calls = data_->stats();
  const std::pair<const char*, uint64_t> refused[] = {{"token", calls.without_token},
                                                      {"host", calls.wrong_host},
                                                      {"size", calls.oversized},
                                                      {"form", calls.malformed}};
  std::string text = ps::metrics_text(service_->stats(), store_->stats());
  text +=
      "# HELP flotilla_ps_turned_away_total Calls that were refused unread, by what was wrong.\n"
      "# TYPE flotilla_ps_turned_away_total counter\n";
  for (const auto& [reason, count] : refused) {
    text += fmt::format("flotilla_ps_turned_away_total{{wrong=\"{}\"}} {}\n", reason, count);
  }
  return text;
}

void TableServer::stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  wake();
}

bool TableServer::is_stopped() const {
  const MutexLock lock(mutex_);
  return stopped_;
}

void TableServer::wake() { ::eventfd_write(wake_.get(), 1); }

void TableServer::publish() {
  const Endpoint place{options_.host, find_endpoint(data_->address()).value().port};
  job_state_.set(fmt::format("status/{}", options_.server), status_->address());
  job_state_.set(fmt::format("server/{}", options_.server),
                 fmt::format("{} {}", place.text(), membership_.self().attempt));
}

std::string TableServer::run(const std::function<void()>& while_waiting) {
  job_state_.on_change([this](const std::string& key, const std::optional<std::string>& value) {
    const MutexLock lock(mutex_);
    notes_.emplace_back(key, value);
    wake();
  });
  snapshot_began_ = Clock::now();
  snapshot_log_bytes_ = store_->progress().log_bytes;
  try {
    publish();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnavailable) throw;
    return error.what();  // the job stopped before it began
  }
  const Membership::Listening heard = membership_.on_stop([this](const std::string&) { stop(); });
  Clock::time_point next_look = Clock::now() + kLookForSnapshot;
  std::optional<Clock::time_point> done;
  while (true) {
    follow_workers();
    if (Clock::now() >= next_look) {
      look_for_snapshot();
      next_look = Clock::now() + kLookForSnapshot;
    }
    if (all_done() && !done) done = Clock::now();
    // Of a worker that is gone the word may be under way that it was lost.
    if (is_stopped() || (done && (all_left() || Clock::now() - *done >= kWordOfALoss))) break;
    if (while_waiting) while_waiting();
    status_->serve(wake_.get(), Clock::now() + kLook);
    eventfd_t seen = 0;
    ::eventfd_read(wake_.get(), &seen);
  }
  return membership_.stopped();
}

bool TableServer::all_left() const {
  return std::all_of(seen_.begin(), seen_.end(), [](const auto& one) { return one.second.left; });
}

// Where a launcher runs, workers that are gone may come again.
bool TableServer::all_done() const {
  for (int64_t rank = 0; rank < options_.workers; ++rank) {
    const auto found = seen_.find(rank);
    if (found == seen_.end()) return false;
    const Seen& seen = found->second;
    if (!seen.left && (options_.launched || !seen.came || seen.alive)) return false;
  }
  return true;
}

void TableServer::follow_workers() {
  std::deque<Note> notes;
  {
    const MutexLock lock(mutex_);
    notes.swap(notes_);
  }
  for (const auto& [key, value] : notes) {
    try {
      note(key, value);
    } catch (const std::exception& error) {
      log::warning("server {} does not understand ps/{}: {}", options_.server, key, error.what());
    }
  }
}

// A worker's lease is there before its presence, and goes when it does.
void TableServer::note(const std::string& key, const std::optional<std::string>& value) {
  std::optional<uint64_t> gone;
  std::optional<ps::Presence> presence;
  const std::optional<int64_t> living = rank_in(key, "alive/");
  const std::optional<int64_t> placed = rank_in(key, "presence/");
  if (living) {
    Seen& seen = seen_[*living];
    if (value) {
      seen = {.attempt = std::stoull(*value), .came = true, .alive = true};
    } else {
      seen.alive = false;
      gone = seen.attempt;
    }
  } else if (placed && value) {
    presence = ps::parse_presence(static_cast<int>(*placed), *value);
    Seen& seen = seen_[*placed];
    seen.left = presence->state == ps::Presence::kLeft;
    if (!seen.alive) gone = presence->attempt;  // it ended while this server was away
  }
  if (presence) service_->announce(*presence);
  if (gone) service_->gone(static_cast<int>(living ? *living : *placed), *gone);
}

// Asks nothing of the store that waits for its owners: Ctrl-C would wait, too.
void TableServer::look_for_snapshot() {
  if (snapshot_under_way_) return;
  if (options_.directory.empty()) return warn_of_memory();
  const double seconds = std::chrono::duration<double>(Clock::now() - snapshot_began_).count();
  const bool due = options_.snapshot_seconds > 0 && seconds >= options_.snapshot_seconds;
  const int64_t log_bytes = store_->progress().log_bytes;
  if (!due && log_bytes - snapshot_log_bytes_ < options_.snapshot_bytes) return;
  snapshot_began_ = Clock::now();
  snapshot_log_bytes_ = log_bytes;
  if (store_->progress().records != store_->progress().snapshot_record) start_snapshot();
}

void TableServer::warn_of_memory() {
  const uint64_t records = store_->progress().records;
  if (warned_of_memory_ || records == 0) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - snapshot_began_).count();
  warned_of_memory_ = true;
  log::warning(
      "server {} keeps its tables in memory alone: a crash costs all that was learned since the "
      "last save, {} updates in the last {:.0f} s. With FLT_PS_DIR it costs nothing",
      options_.server, records, seconds);
}

// A thread only for as long as it takes: in most jobs that is a second in five minutes.
void TableServer::start_snapshot() {
  const auto warn = [this](const Error& error) {
    log::warning("server {} could not write a snapshot and keeps its log: {}", options_.server,
                 error.what());
  };
  snapshot_under_way_ = true;
  try {
    snapshot_ = start_thread("writes a snapshot", [this, warn] {
      try {
        store_->snapshot();
      } catch (const Error& error) {
        warn(error);
      }
      snapshot_under_way_ = false;
    });
  } catch (const Error& error) {
    warn(error);
    snapshot_under_way_ = false;
  }
}

}  // namespace flotilla::job
