#include "flotilla/launch/logs.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>

#include "flotilla/base/error.h"
#include "flotilla/base/regular_file.h"

namespace flotilla::launch {

namespace fs = std::filesystem;

Fd open_log(const fs::path& file, bool append) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  require(!error, "the folder {} for logs cannot be made: {}. Choose another --log_dir",
          file.parent_path().string(), error.message());
  // A pipe that nobody reads is not waited for; the process itself may wait for its reader.
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | (append ? 0 : O_TRUNC);
  Fd fd(::open(file.c_str(), flags, 0644));
  require(static_cast<bool>(fd), "the log {} cannot be written: {}. Choose another --log_dir",
          file.string(),
          errno == ENXIO ? "it is a named pipe that nobody reads" : std::strerror(errno));
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
  return fd;
}

std::vector<std::string> last_lines(const fs::path& file, int64_t from, size_t count) {
  if (*other_than_a_file(file) != '\0') return {};
  std::ifstream in(file);
  // More than so many bytes are not read, however long the log is.
  constexpr int64_t kTail = 64 << 10;
  in.seekg(0, std::ios::end);
  const int64_t size = in.tellg();
  in.seekg(std::max(from, size - kTail));
  std::deque<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(std::move(line));
    if (lines.size() > count) lines.pop_front();
  }
  return {lines.begin(), lines.end()};
}

bool disk_is_full(const fs::path& file) {
  struct statvfs disk = {};
  return !file.empty() && ::statvfs(file.c_str(), &disk) == 0 && disk.f_blocks > 0 &&
         disk.f_bavail == 0;
}

Mirror::Mirror() : notify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

void Mirror::follow(const fs::path& file, int64_t from, std::string prefix) {
  if (*other_than_a_file(file) != '\0') return;
  Followed followed{.file = Fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC)),
                    .prefix = std::move(prefix),
                    .pending = {}};
  if (!followed.file) return;
  ::lseek(followed.file.get(), from, SEEK_SET);
  inotify_add_watch(notify_.get(), file.c_str(), IN_MODIFY);
  files_.push_back(std::move(followed));
}

void Mirror::pump(Outlet& outlet) {
  char events[4096];
  while (::read(notify_.get(), events, sizeof events) > 0) {
  }
  behind_ = false;
  for (Followed& followed : files_) behind_ = !pump(followed, outlet) || behind_;
}

bool Mirror::pump(Followed& followed, Outlet& outlet) {
  char buffer[64 << 10];
  while (outlet.has_room(STDOUT_FILENO)) {
    const ssize_t got = ::read(followed.file.get(), buffer, sizeof buffer);
    if (got <= 0) return true;
    followed.pending.append(buffer, static_cast<size_t>(got));
    std::string text;
    size_t begin = 0;
    for (size_t end = 0; (end = followed.pending.find('\n', begin)) != std::string::npos;) {
      text += followed.prefix;
      text.append(followed.pending, begin, end + 1 - begin);
      begin = end + 1;
    }
    followed.pending.erase(0, begin);
    outlet.write(STDOUT_FILENO, text);
  }
  return false;
}

bool Mirror::drain(Outlet& outlet) {
  for (pump(outlet); behind_; pump(outlet)) {
    if (!outlet.wait_for_room(STDOUT_FILENO)) return false;
  }
  for (Followed& followed : files_) {
    if (followed.pending.empty()) continue;
    outlet.write(STDOUT_FILENO, followed.prefix + followed.pending + "\n");
    followed.pending.clear();
  }
  return true;
}

}  // namespace flotilla::launch
