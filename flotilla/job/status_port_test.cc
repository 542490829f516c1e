#include "flotilla/job/status_port.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/error.h"

namespace flotilla::job {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

using namespace std::chrono_literals;

// A port that a thread has nothing else to do than to serve.
class Served {
 public:
  explicit Served(std::function<std::string()> text)
      : port_(0, std::move(text)),
        thread_([this] { port_.serve(stop_.get(), StatusPort::Clock::now() + 1h); }) {}
  ~Served() { eventfd_write(stop_.get(), 1); }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  std::string address() const { return port_.address(); }

 private:
  StatusPort port_;
  const Fd stop_{::eventfd(0, EFD_CLOEXEC)};
  std::jthread thread_;
};

template <typename Port>
Fd connect_to(const Port& port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(find_endpoint(port.address())->port));
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

std::string ask(const Served& port, const std::string& request) {
  const Fd fd = connect_to(port);
  // In two parts, as it may come.
  const size_t half = request.size() / 2;
  ::send(fd.get(), request.data(), half, 0);
  ::send(fd.get(), request.data() + half, request.size() - half, 0);
  std::string answer;
  char some[512];
  for (ssize_t got = 0; (got = ::recv(fd.get(), some, sizeof some, 0)) > 0;) {
    answer.append(some, static_cast<size_t>(got));
  }
  return answer;
}

TEST(StatusPort, AnswersWithTheNumbersOfTheMoment) {
  int asked = 0;
  const Served port([&] { return "rows " + std::to_string(++asked) + "\n"; });
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n";
  EXPECT_THAT(ask(port, request), StartsWith("HTTP/1.0 200 OK\r\n"));
  EXPECT_THAT(ask(port, request), EndsWith("\r\n\r\nrows 2\n"));
}

TEST(StatusPort, OthersThanMetricsAreNotThere) {
  const auto text = [] { return std::string("rows 1\n"); };
  EXPECT_THAT(http_answer("GET / HTTP/1.0\r\n\r\n", text), HasSubstr("404"));
  EXPECT_THAT(http_answer("POST /metrics HTTP/1.0\r\n\r\n", text), HasSubstr("405"));
  EXPECT_THAT(http_answer("GET /metrics?x=1 HTTP/1.0\r\n\r\n", text), EndsWith("rows 1\n"));
  EXPECT_THAT(http_answer("\r\n\r\n", text), HasSubstr("405"));
  const auto broken = []() -> std::string { throw std::runtime_error("the store ends"); };
  EXPECT_THAT(http_answer("GET /metrics HTTP/1.0\r\n\r\n", broken),
              AllOf(HasSubstr("503"), EndsWith("the store ends\n")));
}

TEST(StatusPort, ThoseWhoSayNothingHoldNobodyUp) {
  const Served port([] { return std::string("rows 1\n"); });
  std::vector<Fd> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(connect_to(port));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(ask(port, "GET /metrics HTTP/1.0\r\n\r\n"), EndsWith("rows 1\n"));
  }
  // The first of them have been closed.
  char byte = 0;
  EXPECT_EQ(::recv(silent.front().get(), &byte, 1, 0), 0);
}

TEST(StatusPort, ALongAnswerIsReadAsSlowlyAsOneLikes) {
  const std::string body(8 << 20, 'x');
  const Served port([&] { return body; });
  EXPECT_EQ(read_status(*find_endpoint(port.address())), body);
}

TEST(StatusPort, DoesNotSpinWhereThereAreNoDescriptors) {
  const Served port([] { return std::string("rows 1\n"); });
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const Fd asks(::socket(AF_INET, SOCK_STREAM, 0));
  const rlimit tight = {.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(find_endpoint(port.address())->port));
  const int connected =
      ::connect(asks.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  const auto used = [] {
    timespec now = {};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  };
  const double began = used();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  const double seconds = used() - began;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_EQ(connected, 0);
  EXPECT_LT(seconds, 0.05);  // nearly all of the time where it spins
  // Afterwards it answers.
  const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
  ASSERT_EQ(::send(asks.get(), request.data(), request.size(), 0), std::ssize(request));
  char some[512];
  EXPECT_GT(::recv(asks.get(), some, sizeof some, 0), 0);
}

double seconds_of(const std::function<void()>& f) {
  const auto began = StatusPort::Clock::now();
  f();
  return std::chrono::duration<double>(StatusPort::Clock::now() - began).count();
}

TEST(StatusPort, WhoeverServesItIsFreeWhenSomethingElseIsToDo) {
  StatusPort port(0, [] { return std::string("rows 1\n"); });
  const Fd wake(::eventfd(0, EFD_CLOEXEC));
  const Fd silent = connect_to(port);
  EXPECT_GE(seconds_of([&] { port.serve(wake.get(), StatusPort::Clock::now() + 50ms); }), 0.05);
  const std::jthread other([&] {
    std::this_thread::sleep_for(50ms);
    eventfd_write(wake.get(), 1);
  });
  EXPECT_LT(seconds_of([&] { port.serve(wake.get(), StatusPort::Clock::now() + 1h); }), 5);
}

TEST(StatusPort, AFloodDoesNotKeepWhoeverServesIt) {
  StatusPort port(0, [] { return std::string("rows 1\n"); });
  std::atomic<bool> enough = false, over = false;
  const std::jthread flood([&] {
    while (!enough) {
      const Fd fd = connect_to(port);
      const linger at_once = {.l_onoff = 1, .l_linger = 0};  // the ports are free again
      setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    over = true;
  });
  const double seconds =
      seconds_of([&] { port.serve(/*wake=*/-1, StatusPort::Clock::now() + 200ms); });
  enough = true;
  while (!over) port.serve(-1, StatusPort::Clock::now() + 10ms);
  EXPECT_LT(seconds, 2);
}

TEST(StatusPort, RefusesAPortThatIsTaken) {
  const StatusPort port(0, [] { return std::string(); });
  EXPECT_THROW(StatusPort(find_endpoint(port.address())->port, {}), Error);
}

}  // namespace
}  // namespace flotilla::job
