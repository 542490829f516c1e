#include "flotilla/data/pipe_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "flotilla/base/error.h"
#include "flotilla/base/regular_file.h"
#include "flotilla/base/thread.h"

namespace flotilla::data {
namespace {

constexpr int kStopCheckMs = 50;
constexpr size_t kRememberedLines = 20;
constexpr size_t kRememberedBytes = 400;  // of a line

std::string reason(int code) { return std::generic_category().message(code); }

struct Pipe {
  Descriptor read = {}, write = {};
};

Pipe make_pipe() {
  int ends[2] = {-1, -1};
  require(pipe2(ends, O_CLOEXEC) == 0, "cannot create a pipe: {}", reason(errno));
  fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);  // fewer switches between the processes; 64 KiB will do
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// A socket, because writing to a pipe that nobody reads raises SIGPIPE.
Pipe make_socket() {
  int ends[2] = {-1, -1};
  require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0,
          "cannot create a socket: {}", reason(errno));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

pid_t reap(pid_t pid, int& status) {
  pid_t reaped = -1;
  do {
    reaped = waitpid(pid, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  return reaped;
}

// Ours, with the group's mark, and `folder`, if any, first in the PATH.
std::vector<std::string> environment_with(const std::string& mark, const std::string& folder) {
  const std::string name = mark.substr(0, mark.find('=') + 1);
  std::vector<std::string> entries = {mark};
  std::string path;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("PATH=")) path = text.substr(std::strlen("PATH="));
    const bool replaced = text.starts_with(name) || (text.starts_with("PATH=") && !folder.empty());
    if (!replaced) entries.emplace_back(text);
  }
  if (!folder.empty()) {
    entries.push_back(fmt::format("PATH={}{}{}", folder, path.empty() ? "" : ":", path));
  }
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> found;
  for (std::string& text : texts) found.push_back(text.data());
  found.push_back(nullptr);
  return found;
}

}  // namespace

void Descriptor::reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

PipeCommand::PipeCommand(const std::filesystem::path& file, const std::string& command,
                         const std::string& folder, const std::atomic<bool>* stop)
    : file_(file.string()), command_(command), stop_(stop) {
  auto probe = std::make_unique<PackedFile>(file);
  if (probe->packed()) packed_ = std::move(probe);
  start(file, folder);
}

void PipeCommand::start(const std::filesystem::path& file, const std::string& folder) {
  Pipe out = make_pipe(), error = make_pipe(), in;
  if (packed_ != nullptr) {
    in = make_socket();
    fcntl(in.write.get(), F_SETFL, O_NONBLOCK);
  } else {
    in.read = Descriptor(open_regular_file(file).release());
  }
  SpawnPlan plan(group_.id());
  posix_spawn_file_actions_adddup2(&plan.actions, in.read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&plan.actions, out.write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&plan.actions, error.write.get(), STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&plan.actions, STDERR_FILENO + 1);
  std::vector<std::string> words = group_.shell(command_);
  std::vector<std::string> environment = environment_with(group_.mark(), folder);
  const int code = posix_spawn(&pid_, "/bin/sh", &plan.actions, &plan.attributes,
                               pointers(words).data(), pointers(environment).data());
  if (code != 0) pid_ = -1;
  require(code == 0, "cannot start the pipe command \"{}\": {}. {}", command_, reason(code),
          thread_limits());
  in_ = std::move(in.write);
  out_ = std::move(out.read);
  error_ = std::move(error.read);
  fcntl(error_.get(), F_SETFL, O_NONBLOCK);
}

PipeCommand::~PipeCommand() {
  if (pid_ < 0) return;
  group_.end();
  int status = 0;
  reap(pid_, status);
}

size_t PipeCommand::read(std::span<char> into) {
  while (pid_ >= 0) {
    if (!wait()) continue;
    const ssize_t got = ::read(out_.get(), into.data(), into.size());
    if (got > 0) return static_cast<size_t>(got);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    require(got == 0, "{}: cannot read from the pipe command \"{}\": {}", file_, command_,
            reason(errno));
    finish();
  }
  return 0;
}

bool PipeCommand::wait() {
  // A negative descriptor is passed over.
  std::array<pollfd, 3> fds = {
      {{out_.get(), POLLIN, 0}, {error_.get(), POLLIN, 0}, {in_.get(), POLLOUT, 0}}};
  if (poll(fds.data(), fds.size(), stop_ != nullptr ? kStopCheckMs : -1) < 0) {
    require(errno == EINTR, "cannot wait for the pipe command \"{}\": {}", command_, reason(errno));
    return false;
  }
  give_up_if_stopped();
  if (fds[1].revents != 0) drain_errors();
  if (fds[2].revents != 0) feed();
  return fds[0].revents != 0;
}

void PipeCommand::give_up_if_stopped() const {
  if (stop_ == nullptr || !*stop_) return;
  throw Error(ErrorKind::kUnavailable,
              fmt::format("{}: reading from the pipe command \"{}\" was stopped", file_, command_));
}

void PipeCommand::feed() {
  if (fed_ == unpacked_.size()) {
    unpacked_.resize(size_t{1} << 18);
    fed_ = 0;
    unpacked_.resize(packed_->read(unpacked_));
  }
  // At the end of the file, or when nobody reads: a command may stop early, as `head` does.
  const ssize_t sent = unpacked_.empty() ? 0
                                         : send(in_.get(), unpacked_.data() + fed_,
                                                unpacked_.size() - fed_, MSG_NOSIGNAL);
  if (sent > 0) {
    fed_ += static_cast<size_t>(sent);
  } else if (sent == 0 || (errno != EAGAIN && errno != EINTR)) {
    in_.reset();
  }
}

void PipeCommand::drain_errors() {
  std::array<char, 4096> text;
  const ssize_t got = ::read(error_.get(), text.data(), text.size());
  if (got > 0) {
    remember({text.data(), static_cast<size_t>(got)});
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    error_.reset();
  }
}

void PipeCommand::remember(std::string_view text) {
  // The user sees it as it comes; where stderr is closed, there is nobody to tell.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  for (const char c : text) {
    if (lines_.empty()) lines_.emplace_back();
    if (c == '\n') {
      lines_.emplace_back();
    } else if (lines_.back().size() < kRememberedBytes) {
      lines_.back() += c;
    }
    if (lines_.size() > kRememberedLines + 1) lines_.pop_front();
  }
}

std::string PipeCommand::last_words() const {
  std::string text;
  for (const std::string& line : lines_) {
    if (!line.empty()) text += "\n    " + line;
  }
  return text.empty() ? "it wrote nothing to stderr" : "the end of its stderr:" + text;
}

void PipeCommand::finish() {
  in_.reset();
  siginfo_t ended = {};
  // It may still write to stderr, and then wait for us; a grandchild may hold stderr open for ever.
  while (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == 0) {
    give_up_if_stopped();
    pollfd fd = {error_.get(), POLLIN, 0};
    if (poll(&fd, 1, 5) > 0) drain_errors();
  }
  group_.end();  // and with it what the command left in the background
  int status = 0;
  const pid_t reaped = reap(pid_, status);
  pid_ = -1;
  pollfd fd = {error_.get(), POLLIN, 0};
  while (error_.open() && poll(&fd, 1, 0) > 0) drain_errors();
  // Somebody who ignores SIGCHLD has lost us the status.
  if (reaped < 0 || status == 0) return;
  const std::string how = WIFSIGNALED(status)
                              ? fmt::format("was killed by signal {} ({})", WTERMSIG(status),
                                            strsignal(WTERMSIG(status)))
                              : fmt::format("ended with exit status {}", WEXITSTATUS(status));
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: the pipe command \"{}\" {}; {}", file_,
                                                       command_, how, last_words()));
}

}  // namespace flotilla::data
