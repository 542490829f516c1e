#include "flotilla/job/status_port.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "flotilla/base/error.h"

namespace flotilla::job {
namespace {

using Clock = StatusPort::Clock;
using std::chrono::milliseconds;

constexpr std::chrono::seconds kPatience{2};
constexpr size_t kMostRequest = 8192;
constexpr size_t kMostAnswer = size_t{16} << 20;
constexpr size_t kMostVisitors = 16;
constexpr milliseconds kRest{100};
constexpr milliseconds kLongest{60'000};  // what poll() takes

// Whether something can be read or written before the time is over.
bool ready(int fd, int16_t events, Clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
  if (left <= 0) return false;
  pollfd one = {fd, events, 0};
  return ::poll(&one, 1, static_cast<int>(left)) > 0;
}

}  // namespace

std::string http_answer(const std::string& request, const std::function<std::string()>& text) {
  const std::string_view line = std::string_view(request).substr(0, request.find("\r\n"));
  const bool get = line.starts_with("GET ");
  const std::string_view rest = get ? line.substr(4) : std::string_view();
  const std::string_view path = rest.substr(0, rest.find_first_of(" ?"));
  std::string status = "200 OK", body;
  if (!get) {
    status = "405 Method Not Allowed";
  } else if (path != "/metrics") {
    status = "404 Not Found";
    body = "ask for /metrics\n";
  } else {
    try {
      body = text();
    } catch (const std::exception& error) {
      status = "503 Service Unavailable";
      body = fmt::format("{}\n", error.what());
    }
  }
  return fmt::format(
      "HTTP/1.0 {}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: "
      "close\r\n\r\n{}",
      status, body.size(), body);
}

struct StatusPort::Visitor {
  Fd connection = {};
  Clock::time_point deadline = {};
  std::string request = {};
  std::string answer = {};  // what is left to send; empty: it has not asked yet
};

StatusPort::StatusPort(int64_t port, std::function<std::string()> text)
    : text_(std::move(text)),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const int yes = 1;
  setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  socklen_t length = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  const bool listens = ::bind(listener_.get(), plain, length) == 0 &&
                       ::listen(listener_.get(), 16) == 0 &&
                       ::getsockname(listener_.get(), plain, &length) == 0;
  require(listens, "the status port {} cannot be listened on: {}", port, std::strerror(errno));
  port_ = ntohs(address.sin_port);
}

StatusPort::~StatusPort() = default;

std::string StatusPort::address() const { return fmt::format("127.0.0.1:{}", port_); }

void StatusPort::serve(int wake, Clock::time_point end) {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
    if (serve_once(wake, std::clamp(left, milliseconds(0), kLongest)) || left.count() <= 0) return;
  }
}

bool StatusPort::serve_once(int wake, milliseconds longest) {
  const Clock::time_point now = Clock::now();
  while (!visitors_.empty() && visitors_.front().deadline <= now) visitors_.pop_front();
  std::vector<pollfd> fds = {{wake, POLLIN, 0}, {now < open_ ? -1 : listener_.get(), POLLIN, 0}};
  for (const Visitor& v : visitors_) {
    const int16_t wanted = v.answer.empty() ? POLLIN : POLLOUT;
    fds.push_back({v.connection.get(), wanted, 0});
  }
  Clock::time_point next = now + longest;
  if (!visitors_.empty()) next = std::min(next, visitors_.front().deadline);
  if (now < open_) next = std::min(next, open_);
  const auto left = std::chrono::ceil<milliseconds>(next - now).count();
  if (::poll(fds.data(), fds.size(), static_cast<int>(left)) < 0) {
    if (errno == EINTR) return false;
    // As where there are more connections than a new limit of descriptors: it would fail again.
    visitors_.clear();
    std::this_thread::sleep_for(std::min(longest, kRest));
    return false;
  }
  for (size_t i = visitors_.size(); i > 0; --i) {
    if (fds[i + 1].revents == 0 || talk(visitors_[i - 1])) continue;
    visitors_.erase(visitors_.begin() + static_cast<ptrdiff_t>(i - 1));
  }
  if (fds[1].revents != 0 && !let_in()) open_ = Clock::now() + kRest;
  return fds[0].revents != 0;
}

bool StatusPort::let_in() {
  Fd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection) return errno == EAGAIN || errno == ECONNABORTED;
  if (visitors_.size() >= kMostVisitors) visitors_.pop_front();
  visitors_.push_back({.connection = std::move(connection), .deadline = Clock::now() + kPatience});
  return true;
}

bool StatusPort::talk(Visitor& visitor) const {
  const int fd = visitor.connection.get();
  if (visitor.answer.empty()) {
    char some[1024];
    const ssize_t got = ::recv(fd, some, sizeof some, 0);
    if (got <= 0) return false;
    visitor.request.append(some, static_cast<size_t>(got));
    if (visitor.request.find("\r\n\r\n") == std::string::npos) {
      return visitor.request.size() <= kMostRequest;
    }
    visitor.answer = http_answer(visitor.request, text_);
  }
  const ssize_t put = ::send(fd, visitor.answer.data(), visitor.answer.size(), MSG_NOSIGNAL);
  if (put < 0) return errno == EAGAIN;
  visitor.answer.erase(0, static_cast<size_t>(put));
  return !visitor.answer.empty();
}

std::string read_status(const Endpoint& port) {
  const Clock::time_point deadline = Clock::now() + kPatience;
  const auto fail = [&] [[noreturn]] {
    refuse("{} does not answer as the status port of a parameter server", port.text());
  };
  const Fd connection(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port.port));
  require(inet_pton(AF_INET, port.host.c_str(), &address.sin_addr) == 1,
          "a status port is an address and a port, as 127.0.0.1:6081, but \"{}\" was given",
          port.text());
  if (::connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 &&
      errno != EINPROGRESS) {
    fail();
  }
  constexpr std::string_view kAsk = "GET /metrics HTTP/1.0\r\n\r\n";
  if (!ready(connection.get(), POLLOUT, deadline) ||
      ::send(connection.get(), kAsk.data(), kAsk.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(kAsk.size())) {
    fail();
  }
  std::string answer;
  char some[4096];
  while (ready(connection.get(), POLLIN, deadline)) {
    const ssize_t got = ::recv(connection.get(), some, sizeof some, 0);
    if (got < 0) fail();
    if (got == 0) break;
    answer.append(some, static_cast<size_t>(got));
    if (answer.size() > kMostAnswer) fail();
  }
  const size_t body = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.0 200 ") || body == answer.npos) fail();
  return answer.substr(body + 4);
}

}  // namespace flotilla::job
