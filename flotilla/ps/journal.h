// flotilla/ps/journal.h
//
// The order in which a store changes. One thread at a time leads: it writes the records of all who
// wait to the log, at once, and hands them to the owners; the next leader finds what came
// meanwhile. A push has an id, and one that was applied before is not applied again.
//
// Thread safety: all methods may be called by any thread, but for those of the leader.

#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/ps/change.h"
#include "flotilla/ps/log_writer.h"
#include "flotilla/ps/shard_pool.h"

namespace flotilla::ps {

class Journal {
 public:
  // A record on its way into the log.
  struct Pending {
    RecordKind kind = RecordKind::kPush;
    std::span<const std::byte> body = {};
    uint32_t crc = 0;
    std::span<const PushId> ids = {};
    // Called by the leader, in the log's order, with the number of the record.
    std::function<void(uint64_t record)> apply = {};
    std::unique_ptr<ShardPool::Job> job = {};  // that apply() has submitted

    bool done = false;
    bool repeated = false;
    std::exception_ptr error = {};
  };

  // Records are written from now on, after those that there are.
  // REQUIRES: nobody else uses the journal yet
  void open(const std::filesystem::path& directory, const LogOptions& options);
  // Null: there is none. Its writes belong to the leader.
  LogWriter* log() const { return log_.get(); }
  int64_t log_bytes() const { return log_ ? log_->written() : 0; }

  // Takes part in a group: returns when `pending` is in the log and handed to the owners, or was
  // before. Throws what the log, or its apply(), has thrown.
  void commit(Pending& pending);
  // Waits for the owners of one that was committed.
  void wait_for(Pending& pending);
  // Runs f between two groups, as the leader; at once in one that runs already.
  void in_order(const std::function<void()>& f);

  // How many records were handed to the owners.
  uint64_t records() const { return record_; }

  // The memory is not what the log and the snapshots say, and nothing is taken any more.
  void set_broken() { broken_ = true; }
  void check_whole() const;

  // ---- Of the leader, or where nobody else uses the journal yet
  void set_records(uint64_t records) { record_ = records; }
  // The last sequence of each worker's pushes.
  std::map<uint64_t, uint64_t>& last_pushes() { return last_; }
  int64_t writes() const { return writes_; }
  int64_t repeated() const { return repeated_; }

 private:
  void run_group(const std::vector<Pending*>& group);
  bool take_ids(Pending& pending, std::map<uint64_t, uint64_t>& next) const;

  mutable Mutex mutex_;
  Condition changed_;
  std::vector<Pending*> waiting_ FLT_GUARDED_BY(mutex_);
  bool leading_ FLT_GUARDED_BY(mutex_) = false;
  std::thread::id orders_ FLT_GUARDED_BY(mutex_);  // who is in in_order()

  // Of the leader.
  std::unique_ptr<LogWriter> log_;     // null: none
  std::atomic<uint64_t> record_ = 0;   // the last that was handed to the owners; others may read
  std::map<uint64_t, uint64_t> last_;  // worker to sequence
  int64_t writes_ = 0;
  int64_t repeated_ = 0;

  std::atomic<bool> broken_ = false;  // an owner could not do what the log says
};

}  // namespace flotilla::ps
