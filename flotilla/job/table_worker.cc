#include "flotilla/job/table_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <span>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/job/server_tables.h"
#include "flotilla/job/table_files.h"
#include "flotilla/ps/rpc_channel.h"

namespace flotilla::job {
namespace {

// Of a connection; the client tries again, where the server is by then.
constexpr std::chrono::seconds kOneTry{5};

// Of a table that becomes a tensor: floats in all, and rows of one request.
constexpr int64_t kMostFloats = int64_t{1} << 33;
constexpr int64_t kRowsAtOnce = 1 << 16;

constexpr char kWaitsForServers[] = "waits for the parameter servers";
constexpr char kWaitsForValues[] = "waits until worker 0 has given the servers their first values";

std::shared_ptr<ps::Client> make_client(const TableWorker::Options& options, JobState& job_state,
                                        const std::string& token) {
  const auto connect = [&job_state, token](int server, const std::function<bool()>& aborted) {
    const std::optional<std::string> place = job_state.find(fmt::format("server/{}", server));
    if (!place) {
      throw Error(ErrorKind::kUnavailable,
                  fmt::format("server {} has not said where it is", server));
    }
    return ps::make_rpc_channel({.address = place->substr(0, place->find(' ')),
                                 .token = token,
                                 .tls = rpc::Tls::from_environment(),
                                 .patience = kOneTry,
                                 .stop = aborted});
  };
  return std::make_shared<ps::Client>(
      ps::Client::Options{.self = {.rank = static_cast<int>(options.role.index),
                                   .workers = static_cast<int>(options.role.workers)},
                          .servers = static_cast<int>(options.role.servers()),
                          .incarnation = ps::new_incarnation(),
                          .connect = connect,
                          .on_notice = [](const std::string& text) { log::warning("{}", text); }});
}

Tensor& parameter(Scope& scope, const std::string& name) {
  Tensor* found = scope.find(name);
  require(found != nullptr && found->defined(),
          "the parameter {} has no value: run the startup program before fleet.init_worker()",
          name);
  return *found;
}

}  // namespace

TableWorker::TableWorker(Membership& membership, Options options)
    : options_(std::move(options)),
      membership_(membership),
      job_state_(membership, options_.while_waiting),
      client_(make_client(options_, job_state_, membership.token())),
      meeting_(membership, job_state_, static_cast<int>(options_.role.index),
               static_cast<int>(options_.role.workers)) {
  listening_ = membership_.on_stop([client = client_](const std::string& why) {  //
    client->abort(why);
  });
}

TableWorker::~TableWorker() = default;

ps::Worker& TableWorker::prepare(const passes::PsOptions& how,
                                 std::vector<passes::ServerTable> tables) {
  require(!connected(),
          "this worker trains a program on the servers already; a job has one program");
  mode_ = how.mode;
  tables_ = std::move(tables);
  worker_ = std::make_unique<ps::Worker>(worker_options(how, options_.role, options_.progress));
  return *worker_;
}

// ---- First values -------------------------------------------------------------------------------

// Those that workers hold: all dense ones, and sparse ones where workers update their own.
bool TableWorker::has_values(const passes::ServerTable& table) const {
  return !table.sparse || mode_ == passes::PsMode::kGeo;
}

// Tables of the servers too: what their rows start with is drawn by the startup program, which
// leaves them without rows here.
bool TableWorker::can_connect(Scope& scope) const {
  return std::all_of(tables_.begin(), tables_.end(), [&](const passes::ServerTable& table) {
    return std::all_of(table.params.begin(), table.params.end(), [&](const std::string& name) {
      const Tensor* found = scope.find(name);
      return found != nullptr && found->defined();
    });
  });
}

void TableWorker::connect(Scope& scope) {
  require(worker_ != nullptr,
          "there is nothing to train on the servers: call minimize() of a "
          "fleet.distributed_optimizer() before fleet.init_worker()");
  require(!stopped_, "this worker has left its servers");
  if (connected()) return;
  const Progress::Span span(options_.progress, Progress::Kind::kBarrier, kWaitsForServers);
  for (int i = 0; i < client_->servers(); ++i) {
    job_state_.wait_for(fmt::format("server/{}", i), kWaitsForServers);
  }
  announce(ps::Presence::kPresent);
  // The store itself knows: what the job state says may be a moment old.
  const bool first = meeting_.rank() == 0 && !membership_.store().find("ps/ready");
  const std::vector<ps::TableSpec> specs = table_specs(tables_, mode_, *worker_);
  if (first) client_->create(specs);
  if (!first) job_state_.wait_for("ready", kWaitsForValues);
  worker_->connect(client_, specs);
  bool give_first = false;
  if (first) {
    const std::vector<ps::ServerValues> there = client_->values();
    give_first = !ps::have_values(there);
    if (give_first) give(scope);
    // Before anybody learns.
    if (give_first || ps::are_as_loaded(there)) client_->set_values();
  }
  if (!give_first) take(scope, /*dense_only=*/false);
  if (first) job_state_.set("ready", "1");
}

void TableWorker::give(Scope& scope) {
  for (const passes::ServerTable& table : tables_) {
    if (!has_values(table)) continue;
    std::vector<Tensor> plain;
    std::vector<std::span<const float>> parts;
    for (const std::string& name : table.params) {
      parts.emplace_back(plain.emplace_back(parameter(scope, name).plain()).span<float>());
    }
    worker_->give(static_cast<uint32_t>(table.id), parts);
  }
}

void TableWorker::take(Scope& scope, bool dense_only) {
  for (const passes::ServerTable& table : tables_) {
    if (!has_values(table) || (dense_only && table.sparse)) continue;
    std::vector<Tensor> plain;
    std::vector<std::span<float>> parts;
    for (const std::string& name : table.params) {
      parts.emplace_back(plain.emplace_back(parameter(scope, name).plain()).span<float>());
    }
    worker_->take(static_cast<uint32_t>(table.id), parts);
    for (size_t i = 0; i < plain.size(); ++i) {
      Tensor& kept = parameter(scope, table.params[i]);
      if (!kept.layout().plain()) kept.copy_from(plain[i]);
    }
  }
}

void TableWorker::settle() {
  require(connected(), "{} has not connected to its servers yet: call fleet.init_worker() first",
          options_.role.text());
  worker_->flush();
}

void TableWorker::take_dense(Scope& scope) {
  settle();
  take(scope, /*dense_only=*/true);
}

void TableWorker::save(const std::string& directory, int64_t mode, uint32_t only) {
  SaveSet save(std::filesystem::absolute(directory));
  write(save, mode, only);
  save.commit();
  saved(mode, only);
}

void TableWorker::write(SaveSet& save, int64_t mode, uint32_t only) {
  require(0 <= mode && mode <= 2,
          "tables are saved in mode 0 (all rows), 1 (all rows, and deltas follow) or 2 (rows that "
          "have changed since the last save in mode 1 or 2), but {} was given",
          mode);
  settle();
  const std::filesystem::path folder = std::filesystem::absolute(save.add_folder(kTablesFolder));
  client_->write(folder, {static_cast<ps::SaveMode>(mode), only});
}

void TableWorker::saved(int64_t mode, uint32_t only) {
  client_->saved({static_cast<ps::SaveMode>(mode), only});
}

void TableWorker::load(const std::string& directory, Scope& scope, uint32_t only) {
  settle();
  client_->load(tables_in(std::filesystem::absolute(directory)), only);
  take(scope, /*dense_only=*/false);
}

int64_t TableWorker::shrink(uint32_t max_unseen) {
  settle();
  int64_t gone = 0;
  for (const passes::ServerTable& table : tables_) {
    if (!table.sparse) continue;
    gone += client_->shrink(static_cast<uint32_t>(table.id), {.max_unseen = max_unseen});
  }
  return gone;
}

Tensor TableWorker::read_rows(const passes::ServerTable& table) {
  settle();
  int64_t least = 0, most = table.rows - 1;
  const std::vector<ps::TableSpec> specs = table_specs({table}, mode_, *worker_);
  client_->for_each_row(specs[0], [&](std::span<const int64_t> keys, std::span<const float>) {
    for (const int64_t key : keys) {
      least = std::min(least, key);
      most = std::max(most, key);
    }
  });
  require(least >= 0 && most < kMostFloats / table.width,
          "the table {} has keys from {} to {}, which are no rows of a tensor: save it with "
          "fleet.save_inference_model() or fleet.save_persistables(), where servers write it",
          table.name, least, most);
  Tensor all(f32, Shape{most + 1, table.width});
  float* rows = all.data<float>();
  std::vector<int64_t> ids;
  for (int64_t begin = 0; begin <= most; begin += kRowsAtOnce) {
    ids.resize(static_cast<size_t>(std::min(kRowsAtOnce, most + 1 - begin)));
    std::iota(ids.begin(), ids.end(), begin);
    const ps::Lookup slot{.ids = ids, .rows = rows + begin * table.width};
    worker_->lookup(static_cast<uint32_t>(table.id), {&slot, 1}, ps::Worker::kNoPadding,
                    /*test=*/true);
  }
  return all;
}

// ---- Other workers ------------------------------------------------------------------------------

void TableWorker::announce(ps::Presence::State state) {
  const ps::Presence presence{.rank = meeting_.rank(),
                              .attempt = static_cast<uint64_t>(membership_.self().attempt),
                              .version = ++version_,
                              .state = state};
  // Servers end when they read in the store that all have left: they must have answered by then.
  client_->announce(presence);
  job_state_.set(fmt::format("presence/{}", presence.rank), ps::print(presence));
}

void TableWorker::barrier() {
  while_away([&](const auto& come_back) { meeting_.barrier(come_back); });
}

std::vector<std::optional<std::string>> TableWorker::gather(const std::string& mine) {
  std::vector<std::optional<std::string>> all;
  while_away([&](const auto& come_back) { all = meeting_.gather(mine, come_back); });
  return all;
}

void TableWorker::while_away(const std::function<void(const WorkerMeeting::AllCame&)>& meet) {
  const Progress::Span span(options_.progress, Progress::Kind::kBarrier, kWaitsForWorkers);
  if (!connected() || stopped_) return meet([] {});
  worker_->flush();
  announce(ps::Presence::kAway);
  // Nobody begins a round that others do not know to be part of.
  meet([&] { announce(ps::Presence::kPresent); });
}

void TableWorker::stop() {
  if (stopped_) return;
  if (connected()) {
    worker_->flush();
    announce(ps::Presence::kLeft);
    // Servers may end now: what still asked them would wait for their return.
    client_->abort("this worker has left its servers: ask them before fleet.stop_worker()");
  }
  meeting_.leave();
  stopped_ = true;
}

}  // namespace flotilla::job
