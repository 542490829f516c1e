// flotilla/job/table_server.h
//
// A server of a job: tables on a port, which workers pull from and push to until all have left.
//
//   rpc::DataServer ─► ps::Service ─► ps::Store: log and snapshots in a folder of its own
//        ▲                  ▲
//   workers' calls      JobState: which workers are there, and which of them rounds wait for
//
// The thread that runs it also follows the workers and serves the status port: all of them wait
// most of the time.
//
// Thread safety: one thread, but for stop() and metrics().

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "flotilla/base/fd.h"
#include "flotilla/base/mutex.h"
#include "flotilla/fleet/role.h"
#include "flotilla/job/job_state.h"
#include "flotilla/job/membership.h"
#include "flotilla/job/status_port.h"
#include "flotilla/ps/service.h"
#include "flotilla/ps/store.h"
#include "flotilla/rpc/data_server.h"

namespace flotilla::job {

struct TableServerOptions {
  int64_t server = 0;
  int64_t servers = 1;
  int64_t workers = 1;

  // A launcher starts workers that ended again, and ends the servers when all are done.
  bool launched = false;

  // Where all servers of the job keep their tables, each in a folder of its own, and find them
  // again. Empty: in memory alone.
  std::filesystem::path directory = {};
  ps::Sync sync = ps::Sync::kInterval;  // what a power cut may cost

  // Where workers reach it: a socket that listens already, or any port of `host`.
  std::string host = "127.0.0.1";
  int64_t port = 0;
  Fd listener = {};
  std::vector<std::string> only_from = {};  // hosts; empty: any
  std::function<bool()> stop = {};          // as that of rpc::StoreServer::Options

  // Of the loopback interface, for Prometheus; 0: any that is free.
  int64_t status_port = 0;

  // A snapshot is made after so much time or log; then a restart has less to do again.
  double snapshot_seconds = 300;
  int64_t snapshot_bytes = int64_t{1} << 30;

  int threads = 1;  // that own tables
};

// What the environment says of a server with this role.
TableServerOptions table_server_options(const fleet::Role& role);

class TableServer {
 public:
  // Continues with the tables of its folder. Refuses a folder that another number of servers wrote,
  // or that another server uses. `membership` outlives it.
  TableServer(Membership& membership, TableServerOptions options);
  ~TableServer();
  TableServer(const TableServer&) = delete;
  TableServer& operator=(const TableServer&) = delete;

  // Fills the tables from a checkpoint, unless the folder had tables with values. Before run().
  void load(const std::filesystem::path& checkpoint);

  // Serves until all workers have left, stop() is called, or the job stops: then returns why, ""
  // where all is well. `while_waiting` is called about ten times a second and may throw.
  std::string run(const std::function<void()>& while_waiting = {});
  // From any thread, also before run().
  void stop();

  const std::string& address() const { return data_->address(); }
  Membership& membership() { return membership_; }
  std::string metrics();

 private:
  // What the job state says of a worker.
  struct Seen {
    uint64_t attempt = 0;
    bool came = false;
    bool alive = false;
    bool left = false;
  };
  using Note = std::pair<std::string, std::optional<std::string>>;

  void publish();
  // Heeds what the job state has said of the workers since the last time.
  void follow_workers();
  void note(const std::string& key, const std::optional<std::string>& value);
  void look_for_snapshot();
  void warn_of_memory();
  void start_snapshot();
  bool all_done() const;
  bool all_left() const;
  bool is_stopped() const;
  // From any thread: whoever runs it looks what there is to do.
  void wake();

  TableServerOptions options_;  // constant after construction
  Membership& membership_;
  std::unique_ptr<ps::Store> store_;
  std::unique_ptr<ps::Service> service_;
  std::unique_ptr<rpc::DataServer> data_;
  std::unique_ptr<StatusPort> status_;
  JobState job_state_;

  const Fd wake_;  // readable: there is something to do

  mutable Mutex mutex_;
  std::deque<Note> notes_ FLT_GUARDED_BY(mutex_);
  bool stopped_ FLT_GUARDED_BY(mutex_) = false;

  // Of the thread that runs it; of snapshots, when and after how much log the last was begun.
  std::map<int64_t, Seen> seen_;
  std::chrono::steady_clock::time_point snapshot_began_ = {};
  int64_t snapshot_log_bytes_ = 0;
  bool warned_of_memory_ = false;

  std::atomic<bool> snapshot_under_way_ = false;
  std::jthread snapshot_;  // the last: it uses all of the above
};

}  // namespace flotilla::job
