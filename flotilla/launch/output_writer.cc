#include "flotilla/launch/output_writer.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/base/fd.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/thread.h"

namespace flotilla::launch {
namespace {

using Clock = std::chrono::steady_clock;

// How long the thread may take to end; it does so at once unless it hangs in a write.
constexpr std::chrono::milliseconds kGoodbye{200};

struct Piece {
  int fd = -1;
  std::string text = {};
  size_t done = 0;

  // What a pipe takes at once when it takes anything: whole lines, where they are not longer.
  std::string_view next() const {
    const std::string_view rest = std::string_view(text).substr(done);
    if (rest.size() <= PIPE_BUF) return rest;
    const size_t line = rest.substr(0, PIPE_BUF).rfind('\n');
    return rest.substr(0, line == rest.npos ? PIPE_BUF : line + 1);
  }
};

// A descriptor.
struct Way {
  size_t waiting = 0;       // bytes
  int64_t left_out = 0;     // lines, of which has not been told yet
  bool closed = false;      // nobody will read any more
  bool wants_room = false;  // somebody asks
};

void ring(const Fd& bell) {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(bell.get(), &one, sizeof one);
}

void silence(const Fd& bell) {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(bell.get(), &count, sizeof count);
}

}  // namespace

struct OutputWriter::State {
  Fd news{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};  // for the thread
  Fd room{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};  // for the owner
  Mutex mutex;
  Condition changed;
  std::deque<Piece> queue FLT_GUARDED_BY(mutex);
  std::map<int, Way> ways FLT_GUARDED_BY(mutex);
  uint64_t moved FLT_GUARDED_BY(mutex) = 0;  // bytes, ever
  bool ends FLT_GUARDED_BY(mutex) = false;
  bool ended FLT_GUARDED_BY(mutex) = false;

  void add(int fd, std::string_view text) FLT_REQUIRES(mutex) {
    ways[fd].waiting += text.size();
    if (!queue.empty() && queue.back().fd == fd && queue.back().text.size() < PIPE_BUF) {
      queue.back().text += text;
    } else {
      queue.push_back({fd, std::string(text)});
    }
  }

  void write(int fd, std::string_view text) {
    const MutexLock lock(mutex);
    Way& way = ways[fd];
    if (way.closed || text.empty()) return;
    if (way.waiting >= kRoom || way.left_out > 0) {
      way.left_out += std::max<int64_t>(1, std::count(text.begin(), text.end(), '\n'));
      return;
    }
    add(fd, text);
    ring(news);
  }

  // The descriptors that something waits for, in the order of what waits; then the bell.
  std::vector<pollfd> wanted() {
    const MutexLock lock(mutex);
    std::vector<pollfd> fds;
    for (const Piece& piece : queue) {
      const auto same = [&](const pollfd& other) { return other.fd == piece.fd; };
      if (std::none_of(fds.begin(), fds.end(), same)) fds.push_back({piece.fd, POLLOUT, 0});
    }
    fds.push_back({news.get(), POLLIN, 0});
    return fds;
  }

  std::string next_for(int fd) {
    const MutexLock lock(mutex);
    for (const Piece& piece : queue) {
      if (piece.fd == fd) return std::string(piece.next());
    }
    return {};
  }

  void moved_on(int fd, size_t bytes) {
    const MutexLock lock(mutex);
    const auto piece =
        std::find_if(queue.begin(), queue.end(), [&](const Piece& each) { return each.fd == fd; });
    if (piece == queue.end()) return;  // the owner has given it up meanwhile
    piece->done += bytes;
    if (piece->done == piece->text.size()) queue.erase(piece);
    Way& way = ways[fd];
    way.waiting -= bytes;
    moved += bytes;
    if (way.waiting < kRoom / 2) {
      if (way.left_out > 0) {
        add(fd, fmt::format("fleetrun: {} lines are missing here, because the output before them "
                            "was not read\n",
                            way.left_out));
        way.left_out = 0;
      }
      if (std::exchange(way.wants_room, false)) ring(room);
    }
    changed.notify_all();
  }

  void close(int fd) FLT_REQUIRES(mutex) {
    std::erase_if(queue, [&](const Piece& each) { return each.fd == fd; });
    ways[fd] = {.closed = true};
    ring(room);
    changed.notify_all();
  }

  // False: nothing has moved for `patience`.
  template <typename Done>
  bool wait(MutexLock& lock, std::chrono::milliseconds patience, Done done) {
    Clock::time_point until = Clock::now() + patience;
    for (uint64_t seen = moved; !done();) {
      const bool in_time = changed.wait_until(lock, until);
      if (moved != std::exchange(seen, moved)) {
        until = Clock::now() + patience;
      } else if (!in_time && !done()) {
        return false;
      }
    }
    return true;
  }

  bool over() {
    const MutexLock lock(mutex);
    return ends;
  }

  void serve() {
    while (!over()) {
      std::vector<pollfd> fds = wanted();
      if (::poll(fds.data(), fds.size(), -1) < 0) continue;
      if (fds.back().revents != 0) silence(news);
      fds.pop_back();
      const auto ready =
          std::find_if(fds.begin(), fds.end(), [](const pollfd& fd) { return fd.revents != 0; });
      if (ready == fds.end()) continue;
      const std::string text = next_for(ready->fd);
      // It waits only where somebody else fills the pipe in between: then this thread does.
      const ssize_t written = ::write(ready->fd, text.data(), text.size());
      if (written >= 0) {
        moved_on(ready->fd, static_cast<size_t>(written));
      } else if (errno != EINTR && errno != EAGAIN) {
        const MutexLock lock(mutex);
        close(ready->fd);
      }
    }
    const MutexLock lock(mutex);
    ended = true;
    changed.notify_all();
  }
};

OutputWriter::OutputWriter() : state_(std::make_shared<State>()) {}

OutputWriter::~OutputWriter() {
  if (!thread_.joinable()) return;
  finish();
  bool ended = false;
  {
    MutexLock lock(state_->mutex);
    state_->ends = true;
    ring(state_->news);
    const Clock::time_point until = Clock::now() + kGoodbye;
    while (!state_->ended && state_->changed.wait_until(lock, until)) continue;
    ended = state_->ended;
  }
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void OutputWriter::write(int fd, std::string_view text) {
  if (!thread_.joinable()) {
    try {
      thread_ = start_thread<std::thread>("writes output", [state = state_] { state->serve(); });
    } catch (const Error&) {
      // Why nothing else can be started either must still be said, even to a slow reader.
      [[maybe_unused]] const ssize_t written = ::write(fd, text.data(), text.size());
      return;
    }
  }
  state_->write(fd, text);
}

bool OutputWriter::has_room(int fd) {
  const MutexLock lock(state_->mutex);
  Way& way = state_->ways[fd];
  const bool room = way.closed || (way.waiting < kRoom && way.left_out == 0);
  way.wants_room = !room;
  return room;
}

int OutputWriter::fd() const { return state_->room.get(); }
void OutputWriter::clear_fd() { silence(state_->room); }

bool OutputWriter::wait_for_room(int fd, std::chrono::milliseconds patience) {
  MutexLock lock(state_->mutex);
  return state_->wait(lock, patience, [&] { return state_->ways[fd].waiting < kRoom / 2; });
}

void OutputWriter::give_up(int fd) {
  const MutexLock lock(state_->mutex);
  state_->close(fd);
}

bool OutputWriter::settle(std::chrono::milliseconds patience) {
  MutexLock lock(state_->mutex);
  return state_->wait(lock, patience, [&] { return state_->queue.empty(); });
}

void OutputWriter::finish(std::chrono::milliseconds patience) {
  if (settle(patience)) return;
  const MutexLock lock(state_->mutex);
  while (!state_->queue.empty()) state_->close(state_->queue.front().fd);
}

}  // namespace flotilla::launch
