#include "flotilla/launch/logs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/regular_file.h"
#include "flotilla/base/utf8.h"

namespace flotilla::launch {

namespace fs = std::filesystem;

namespace {

// What is read of the end of a log.
constexpr int64_t kTail = 64 << 10;
constexpr size_t kLongestLine = 2000;

// What a terminal shows of a line in which the cursor goes back.
std::string_view last_state(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  const size_t back = line.rfind('\r');
  return back == line.npos ? line : line.substr(back + 1);
}

// Up to and including the first "\n" or "\r", unless that is followed by "\n"; all, where there is
// none.
std::string_view first_segment(std::string_view text) {
  const size_t end = text.find_first_of("\r\n");
  if (end == text.npos) return text;
  const bool both = text.substr(end).starts_with("\r\n");
  return text.substr(0, end + (both ? 2 : 1));
}

}  // namespace

Fd open_log(const fs::path& file, bool append) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  require(!error, "cannot create the log folder {}: {}. Choose another --log_dir",
          file.parent_path().string(), error.message());
  // A pipe that nobody reads is not waited for; the process itself may wait for its reader.
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | (append ? 0 : O_TRUNC);
  Fd fd(::open(file.c_str(), flags, 0644));
  require(static_cast<bool>(fd), "cannot write the log {}: {}. Choose another --log_dir",
          file.string(),
          errno == ENXIO ? "it is a named pipe without a reader" : std::strerror(errno));
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
  return fd;
}

std::vector<std::string> last_lines(const fs::path& file, int64_t from, size_t count) {
  if (*other_than_a_file(file) != '\0') return {};
  std::ifstream in(file);
  in.seekg(0, std::ios::end);
  const int64_t size = in.tellg();
  in.seekg(std::max(from, size - kTail));
  std::deque<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    const std::string_view shown = last_state(line);
    lines.push_back(valid_utf8(shown.substr(0, kLongestLine)));
    if (shown.size() > kLongestLine) lines.back() += " ...";
    if (lines.size() > count) lines.pop_front();
  }
  return {lines.begin(), lines.end()};
}

bool disk_is_full(const fs::path& file) {
  struct statvfs disk = {};
  return !file.empty() && ::statvfs(file.c_str(), &disk) == 0 && disk.f_blocks > 0 &&
         disk.f_bavail == 0;
}

Mirror::Mirror(int output) : output_(output), notify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

void Mirror::follow(const fs::path& file, int64_t from, std::string prefix) {
  if (*other_than_a_file(file) != '\0') return;
  Followed followed;
  followed.file = Fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  followed.path = file.string();
  followed.prefix = std::move(prefix);
  if (!followed.file) return;
  ::lseek(followed.file.get(), from, SEEK_SET);
  inotify_add_watch(notify_.get(), file.c_str(), IN_MODIFY);
  files_.push_back(std::move(followed));
}

std::optional<Mirror::Clock::time_point> Mirror::due() const {
  if (behind_ && has_room_) return Clock::now();
  std::optional<Clock::time_point> first;
  for (const Followed& followed : files_) {
    if (followed.pending.empty()) continue;
    if (!first || followed.since + kHold < *first) first = followed.since + kHold;
  }
  return first;
}

void Mirror::pump(OutputWriter& writer) {
  char events[4096];  // the same event of a file is not queued twice
  [[maybe_unused]] const ssize_t got = ::read(notify_.get(), events, sizeof events);
  behind_ = false;
  for (Followed& followed : files_) behind_ = !pump(followed, writer) || behind_;
}

bool Mirror::pump(Followed& followed, OutputWriter& writer) {
  char buffer[64 << 10];
  ssize_t got = 0;
  for (size_t done = 0; done < kAtOnce; done += static_cast<size_t>(got)) {
    has_room_ = writer.has_room(output_);
    if (!has_room_) return false;
    got = ::read(followed.file.get(), buffer, sizeof buffer);
    if (got <= 0) break;
    if (followed.pending.empty()) followed.since = Clock::now();
    followed.pending.append(buffer, static_cast<size_t>(got));
    // A "\r" at the end may be half of a "\r\n".
    std::string_view whole = followed.pending;
    if (whole.ends_with('\r')) whole.remove_suffix(1);
    whole = whole.substr(0, whole.find_last_of("\r\n") + 1);
    if (whole.empty()) continue;
    show(followed, whole, writer);
    followed.pending.erase(0, whole.size());
    followed.since = Clock::now();
  }
  const bool held_long = Clock::now() - followed.since >= kHold;
  if (!followed.pending.empty() && (held_long || followed.pending.size() > kHeld)) {
    show(followed, std::exchange(followed.pending, {}), writer);
  }
  return got <= 0;
}

void Mirror::show(Followed& followed, std::string_view text, OutputWriter& writer) {
  std::string shown;
  Followed& last = files_[last_];
  if (&last != &followed && last.line != Line::kNone) {
    shown += '\n';
    last.line = Line::kNone;
    last.broken = true;
  }
  last_ = static_cast<size_t>(&followed - files_.data());
  while (!text.empty()) {
    const std::string_view segment = first_segment(text);
    text.remove_prefix(segment.size());
    const bool nothing_more = segment == "\n" || segment == "\r\n";
    if (std::exchange(followed.broken, false) && nothing_more) continue;
    const bool begins = followed.line == Line::kNone;
    const bool begins_again = followed.line == Line::kReturned && !nothing_more;
    if (begins || begins_again) shown += followed.prefix;
    shown += segment;
    followed.line = segment.ends_with('\n')   ? Line::kNone
                    : segment.ends_with('\r') ? Line::kReturned
                                              : Line::kInside;
  }
  writer.write(output_, shown);
}

void Mirror::skip_to_the_end() {
  for (Followed& followed : files_) {
    const off_t at = ::lseek(followed.file.get(), 0, SEEK_CUR);
    const off_t size = ::lseek(followed.file.get(), 0, SEEK_END);
    const off_t left_out = size - at - kTail;
    if (left_out <= 0) {
      ::lseek(followed.file.get(), at, SEEK_SET);
      continue;
    }
    ::lseek(followed.file.get(), -kTail, SEEK_END);
    followed.pending += fmt::format(
        "\nfleetrun: {:.1f} MB of output are omitted here, because it is read more slowly than it "
        "is written; all of it is in {}\n",
        static_cast<double>(left_out) / 1e6, followed.path);
  }
}

bool Mirror::drain(OutputWriter& writer, std::optional<std::chrono::milliseconds> limit) {
  const Clock::time_point begin = Clock::now();
  for (pump(writer); behind_; pump(writer)) {
    if (!has_room_ && !writer.wait_for_room(output_)) return false;
    if (limit && Clock::now() - begin >= *limit) {
      limit.reset();
      skip_to_the_end();
    }
  }
  for (Followed& followed : files_) {
    if (!followed.pending.empty()) show(followed, std::exchange(followed.pending, {}), writer);
    if (followed.line != Line::kNone) show(followed, "\n", writer);
  }
  return true;
}

}  // namespace flotilla::launch
