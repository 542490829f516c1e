#include "flotilla/ps/log_writer.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <system_error>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/base/thread.h"
#include "flotilla/ps/files.h"

namespace flotilla::ps {
namespace {

// The logs of a directory, by their first records.
std::vector<uint64_t> logs_in(const std::filesystem::path& directory) {
  std::vector<uint64_t> firsts;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const uint64_t first = first_of_log(entry.path().filename().string());
    if (first > 0) firsts.push_back(first);
  }
  std::sort(firsts.begin(), firsts.end());
  return firsts;
}

// A write may take less than it is given.
void write_vector(int fd, std::vector<iovec> pieces, const std::filesystem::path& path) {
  for (size_t i = 0; i < pieces.size();) {
    const int count = static_cast<int>(std::min<size_t>(pieces.size() - i, IOV_MAX));
    const ssize_t written = ::writev(fd, pieces.data() + i, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_to("write", path);
    auto left = static_cast<size_t>(written);
    while (i < pieces.size() && left >= pieces[i].iov_len) left -= pieces[i++].iov_len;
    if (left > 0) {
      pieces[i].iov_base = static_cast<std::byte*>(pieces[i].iov_base) + left;
      pieces[i].iov_len -= left;
    }
  }
}

iovec piece(const void* bytes, size_t size) { return {const_cast<void*>(bytes), size}; }

// The last file of a log that goes on in a new one ends at `end`, on the disk too: the process that
// wrote it may have been killed before it forced it there, and a file that is followed by another
// must be whole. One without a beginning is begun again, for a log never has no file.
void settle(const std::filesystem::path& path, uint64_t first, size_t end) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(end)) != 0) fail_to("shorten", path);
  if (end == 0) {
    std::array<std::byte, kLogHeader> header;
    write_log_header(header, first);
    write_vector(file.get(), {piece(header.data(), header.size())}, path);
  }
  if (::fdatasync(file.get()) != 0) fail_to("sync", path);
}

}  // namespace

LogWriter::LogWriter(std::filesystem::path directory, const LogOptions& options, uint64_t last)
    : directory_(std::move(directory)), options_(options), last_(last) {
  if (options.sync == Sync::kInterval)
    syncer_ = start_thread<std::thread>("syncs the log", [this] { sync_now_and_then(); });
}

LogWriter::~LogWriter() {
  if (!syncer_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    ends_ = true;
    wake_.notify_one();
  }
  syncer_.join();
}

void LogWriter::sync_file(int fd) const {
  if ((options_.sync_file ? options_.sync_file(fd) : ::fdatasync(fd)) != 0) {
    fail_to("sync", directory_);
  }
}

// The kernel drops what it could not write, and the next sync of the file says that all is well.
void LogWriter::sync_acknowledged(int fd) {
  try {
    sync_file(fd);
  } catch (const Error& error) {
    const MutexLock lock(mutex_);
    if (lost_.empty()) lost_ = error.sentence();
    throw;
  }
}

void LogWriter::check_synced() {
  const MutexLock lock(mutex_);
  if (lost_.empty()) return;
  throw Error(ErrorKind::kUnavailable,
              fmt::format("{}; acknowledged pushes may be missing on the disk, so no more are "
                          "accepted: repair the disk, then restart the job",
                          lost_));
}

void LogWriter::sync() {
  check_synced();
  if (file_) sync_acknowledged(file_->get());
}

void LogWriter::sync_now_and_then() {
  for (bool ends = false; !ends;) {
    std::shared_ptr<Fd> file;
    {
      MutexLock lock(mutex_);
      const auto next = std::chrono::steady_clock::now() + options_.sync_interval;
      while (!ends_ && wake_.wait_until(lock, next)) continue;
      file = std::exchange(dirty_, nullptr);
      ends = ends_;
    }
    if (!file) continue;
    try {
      sync_acknowledged(file->get());
    } catch (const Error& error) {
      log::warning("{}", error.what());
    }
  }
}

void LogWriter::open_next() {
  if (file_ && options_.sync != Sync::kOff) sync_acknowledged(file_->get());
  path_ = directory_ / log_name(last_ + 1);
  // A file of this name holds no record: the last record was last_.
  auto file = std::make_shared<Fd>(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0666));
  if (!*file) fail_to("create", path_);
  std::array<std::byte, kLogHeader> header;
  write_log_header(header, last_ + 1);
  write_vector(file->get(), {piece(header.data(), header.size())}, path_);
  if (options_.sync != Sync::kOff) sync_directory(directory_);
  file_ = std::move(file);
  size_ = kLogHeader;
  rotate_ = false;
}

void LogWriter::roll_back() {
  if (::ftruncate(file_->get(), size_) != 0) fail_to("shorten", path_);
  failed_ = false;
}

void LogWriter::write_all(std::span<const Entry> entries) {
  static constexpr std::array<std::byte, 8> kZeros = {};
  std::vector<std::array<std::byte, kRecordHeader>> headers(entries.size());
  std::vector<iovec> pieces;
  int64_t bytes = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    const size_t size = entry.body.size();
    write_record_header(headers[i], {last_ + 1 + i, entry.kind, entry.body}, entry.body_crc);
    pieces.push_back(piece(headers[i].data(), kRecordHeader));
    if (size > 0) pieces.push_back(piece(entry.body.data(), size));
    if (padded(size) > size) pieces.push_back(piece(kZeros.data(), padded(size) - size));
    bytes += static_cast<int64_t>(kRecordHeader + padded(size));
  }
  write_vector(file_->get(), std::move(pieces), path_);
  if (options_.sync == Sync::kEach) sync_file(file_->get());
  size_ += bytes;
  written_ += bytes;
}

void LogWriter::append(std::span<const Entry> entries) {
  if (entries.empty()) return;
  for (const Entry& entry : entries) {
    invariant(entry.body.size() <= kMostBody, "a record has {} bytes", entry.body.size());
  }
  check_synced();
  if (failed_) roll_back();
  if (rotate_ || size_ >= options_.file_bytes) open_next();
  failed_ = true;
  try {
    write_all(entries);
  } catch (const Error&) {
    // Where this fails too, the next append tries it again before it writes.
    if (::ftruncate(file_->get(), size_) == 0) failed_ = false;
    throw;
  }
  failed_ = false;
  last_ += entries.size();
  if (options_.sync == Sync::kInterval) {
    const MutexLock lock(mutex_);
    dirty_ = file_;
  }
}

void LogWriter::remove_up_to(uint64_t number) const {
  const std::vector<uint64_t> firsts = logs_in(directory_);
  for (size_t i = 0; i + 1 < firsts.size(); ++i) {
    if (firsts[i + 1] > number + 1) return;
    std::error_code ignored;  // it is tried again after the next snapshot
    std::filesystem::remove(directory_ / log_name(firsts[i]), ignored);
  }
}

bool has_log(const std::filesystem::path& directory) { return !logs_in(directory).empty(); }

uint64_t replay_log(const std::filesystem::path& directory, uint64_t after,
                    const std::function<void(const Record&)>& f) {
  const std::vector<uint64_t> firsts = logs_in(directory);
  uint64_t last = after;
  for (size_t i = 0; i < firsts.size(); ++i) {
    const bool is_last = i + 1 == firsts.size();
    if (!is_last && firsts[i + 1] <= after + 1) continue;
    const std::filesystem::path path = directory / log_name(firsts[i]);
    require(firsts[i] <= last + 1, "{} exists, but records {} to {} are missing", path.string(),
            last + 1, firsts[i] - 1);
    const std::vector<std::byte> bytes = read_file(path);
    uint64_t number = firsts[i] - 1;
    const size_t end =
        scan_log(bytes, path.string(), firsts[i], is_last, [&](const Record& record) {
          number = record.number;
          if (number > after) f(record);
        });
    last = std::max(last, number);
    if (end < bytes.size()) {
      log::warning("{}: the last write is incomplete; {} bytes after record {} are dropped",
                   path.string(), bytes.size() - end, number);
    }
    if (is_last) settle(path, firsts[i], end);
  }
  return last;
}

}  // namespace flotilla::ps
