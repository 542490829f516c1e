// flotilla/ps/log_writer.h
//
// Appends records to the log, many in one write, and reads them all when a server starts.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "flotilla/base/fd.h"
#include "flotilla/base/mutex.h"
#include "flotilla/ps/log_file.h"

namespace flotilla::ps {

// When what was written is forced to the disk. A killed process loses nothing in any case; this is
// about a power cut.
enum class Sync {
  kEach,      // before a push is acknowledged
  kInterval,  // every `sync_interval`
  kOff,       // when the kernel likes
};

struct LogOptions {
  Sync sync = Sync::kInterval;
  std::chrono::milliseconds sync_interval{200};
  int64_t file_bytes = int64_t{64} << 20;  // a longer file is followed by a new one
  // Forces a file to the disk, as fdatasync(2) does; tests have one that fails.
  std::function<int(int fd)> sync_file = {};
};

// Thread safety: one thread at a time, but for what is said otherwise.
class LogWriter {
 public:
  // Goes on after `last`, in a new file.
  LogWriter(std::filesystem::path directory, const LogOptions& options, uint64_t last);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  struct Entry {
    RecordKind kind = RecordKind::kPush;
    std::span<const std::byte> body = {};
    uint32_t body_crc = 0;
  };

  // Writes all entries, numbered from last() + 1, or none: on an Error (of kind kUnavailable: the
  // disk may be full now and not later) the log is as it was. Where records that were acknowledged
  // could not be forced to the disk, all that come later are refused: what the disk lost, no second
  // try brings back.
  void append(std::span<const Entry> entries);
  // Forces all that was appended to the disk, whatever the policy.
  void sync();

  uint64_t last() const { return last_; }
  int64_t written() const { return written_; }  // bytes, since the start; thread-safe

  // The next append starts a new file.
  void rotate() { rotate_ = true; }
  // Removes the files whose records are all <= `number`. Thread-safe.
  void remove_up_to(uint64_t number) const;

 private:
  void open_next();
  void roll_back();
  void write_all(std::span<const Entry> entries);
  void sync_file(int fd) const;
  // Of records that were acknowledged.
  void sync_acknowledged(int fd);
  void check_synced();
  void sync_now_and_then();

  const std::filesystem::path directory_;
  const LogOptions options_;
  uint64_t last_ = 0;
  std::atomic<int64_t> written_ = 0;
  bool rotate_ = true;
  bool failed_ = false;  // the file may be longer than size_
  std::filesystem::path path_;
  std::shared_ptr<Fd> file_;
  int64_t size_ = 0;

  Mutex mutex_;
  Condition wake_;
  std::shared_ptr<Fd> dirty_ FLT_GUARDED_BY(mutex_);  // written since the last sync
  bool ends_ FLT_GUARDED_BY(mutex_) = false;
  std::string lost_ FLT_GUARDED_BY(mutex_);  // why acknowledged records may be missing on the disk
  std::thread syncer_;                       // only for kInterval
};

// Whether there is a log, perhaps without a record.
bool has_log(const std::filesystem::path& directory);
// Calls f for every record after number `after`, in order, and returns the number of the last one.
// Cuts off, with a notice, what a write left that was cut short.
uint64_t replay_log(const std::filesystem::path& directory, uint64_t after,
                    const std::function<void(const Record&)>& f);

}  // namespace flotilla::ps
