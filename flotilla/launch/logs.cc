#include "flotilla/launch/logs.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>

#include "flotilla/base/error.h"

namespace flotilla::launch {

namespace fs = std::filesystem;

Fd open_log(const fs::path& file, bool append) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (append ? 0 : O_TRUNC);
  Fd fd(::open(file.c_str(), flags, 0644));
  require(static_cast<bool>(fd), "the log {} cannot be written: {}. Choose another --log_dir",
          file.string(), std::strerror(errno));
  return fd;
}

std::vector<std::string> last_lines(const fs::path& file, int64_t from, size_t count) {
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

void write_out(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR && errno != EAGAIN) return;  // nobody reads any more
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
}

Mirror::Mirror() : notify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

void Mirror::follow(const fs::path& file, int64_t from, std::string prefix) {
  Followed followed{.file = Fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC)),
                    .prefix = std::move(prefix),
                    .pending = {}};
  if (!followed.file) return;
  ::lseek(followed.file.get(), from, SEEK_SET);
  inotify_add_watch(notify_.get(), file.c_str(), IN_MODIFY);
  files_.push_back(std::move(followed));
}

void Mirror::pump() {
  char events[4096];
  while (::read(notify_.get(), events, sizeof events) > 0) {
  }
  for (Followed& followed : files_) pump(followed);
}

void Mirror::pump(Followed& followed) const {
  char buffer[64 << 10];
  std::string text;
  for (ssize_t got = 0; (got = ::read(followed.file.get(), buffer, sizeof buffer)) > 0;) {
    followed.pending.append(buffer, static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end = 0; (end = followed.pending.find('\n', begin)) != std::string::npos;) {
      text += followed.prefix;
      text.append(followed.pending, begin, end + 1 - begin);
      begin = end + 1;
    }
    followed.pending.erase(0, begin);
  }
  write_out(STDOUT_FILENO, text);
}

void Mirror::drain() {
  pump();
  for (Followed& followed : files_) {
    if (followed.pending.empty()) continue;
    write_out(STDOUT_FILENO, followed.prefix + followed.pending + "\n");
    followed.pending.clear();
  }
}

}  // namespace flotilla::launch
