// Those who connect and do not show the token: silent, many, with wrong tokens, or more than there
// are descriptors.

#include "flotilla/rpc/acceptor.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <algorithm>

#include "flotilla/base/endpoint.h"
#include "flotilla/rpc/data_testing.h"
#include "flotilla/rpc/store_client.h"
#include "flotilla/rpc/store_server.h"

namespace flotilla::rpc {
namespace {

sockaddr_in place(const std::string& host, int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// A connection to this host, from an address of this host.
Fd connected(int port, const std::string& from = "127.0.0.1") {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in here = place(from, 0), there = place("127.0.0.1", port);
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here), 0);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there), 0);
  return fd;
}

// As gRPC writes the end of a connection that the server sees.
std::string peer_of(const Fd& fd) {
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return fmt::format("ipv4:127.0.0.1:{}", ntohs(address.sin_port));
}

// Whether the other side has closed it by now.
bool closed(const Fd& fd) {
  char byte = 0;
  return ::recv(fd.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

// A door behind which connections are only kept.
class Door {
 public:
  explicit Door(const DoorLimits& limits)
      : door_(
            [this] {
              Fd listener = listening();
              port_ = listening_port(listener);
              return listener;
            }(),
            "the test", limits) {
    door_.start([this](int, Fd connection) {
      const MutexLock lock(mutex_);
      kept_.push_back(std::move(connection));
    });
  }

  int port() const { return port_; }
  Acceptor& operator*() { return door_; }
  Acceptor* operator->() { return &door_; }
  int64_t came() const {
    const MutexLock lock(mutex_);
    return std::ssize(kept_);
  }

 private:
  int port_ = 0;
  mutable Mutex mutex_;
  std::vector<Fd> kept_ FLT_GUARDED_BY(mutex_);
  Acceptor door_;
};

class AcceptorTest : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::internal::CaptureStderr(); }
  void TearDown() override {
    if (!read_) said();
  }
  std::string said() {
    read_ = true;
    return ::testing::internal::GetCapturedStderr();
  }
  static int64_t lines(const std::string& text) { return std::ranges::count(text, '\n'); }

 private:
  bool read_ = false;
};

TEST_F(AcceptorTest, WhoeverDoesNotShowTheTokenInTimeIsDropped) {
  Door door({.patience = 200ms});
  const Fd silent = connected(door.port());
  const Fd ours = connected(door.port());
  ASSERT_TRUE(soon([&] { return door.came() == 2; }));
  door->welcome(peer_of(ours));
  EXPECT_EQ(door->unauthenticated(), 1);
  EXPECT_TRUE(soon([&] { return closed(silent); }));
  std::this_thread::sleep_for(250ms);
  EXPECT_FALSE(closed(ours));
  EXPECT_EQ(door->unauthenticated(), 0);
  EXPECT_THAT(said(), ::testing::HasSubstr("the test refused a connection from 127.0.0.1: it did "
                                           "not show the job's token in time"));
}

TEST_F(AcceptorTest, WhoeverLeavesIsForgotten) {
  Door door({});
  Fd fd = connected(door.port());
  ASSERT_TRUE(soon([&] { return door->unauthenticated() == 1; }));
  fd.reset();
  EXPECT_TRUE(soon([&] { return door->unauthenticated() == 0; }));
}

TEST_F(AcceptorTest, OfManyThoseWhoSayNothingGo) {
  Door door({.unauthenticated = 4, .first_word = 0ms});
  const Fd speaks = connected(door.port());
  ASSERT_EQ(::send(speaks.get(), "PRI", 3, 0), 3);
  ASSERT_TRUE(soon([&] { return door.came() == 1; }));
  std::vector<Fd> silent;
  for (int64_t i = 0; i < 20; ++i) {
    silent.push_back(connected(door.port()));
    ASSERT_TRUE(soon([&] { return door.came() == i + 2; }));
  }
  EXPECT_LE(door->unauthenticated(), 4);
  EXPECT_FALSE(closed(speaks));
  EXPECT_TRUE(soon([&] { return closed(silent.front()); }));
  EXPECT_FALSE(closed(silent.back()));
}

TEST_F(AcceptorTest, OfManyThatAllSpeakTheSlowestGoes) {
  Door door({.unauthenticated = 2, .handshake = 50ms});
  std::vector<Fd> speaks;
  for (int64_t i = 0; i < 3; ++i) {
    speaks.push_back(connected(door.port()));
    ASSERT_EQ(::send(speaks.back().get(), "PRI", 3, 0), 3);
    ASSERT_TRUE(soon([&] { return door.came() == i + 1; }));
  }
  EXPECT_TRUE(soon([&] { return closed(speaks[0]); }));
  EXPECT_FALSE(closed(speaks[1]) || closed(speaks[2]));
}

TEST_F(AcceptorTest, AFloodFromOneHostCostsItsOwnConnections) {
  Door door({.unauthenticated = 4, .first_word = 0ms});
  const Fd elsewhere = connected(door.port(), "127.0.0.2");
  ASSERT_TRUE(soon([&] { return door.came() == 1; }));
  std::vector<Fd> flood;
  for (int i = 0; i < 50; ++i) flood.push_back(connected(door.port()));
  ASSERT_TRUE(soon([&] { return door.came() == 51; }));
  EXPECT_FALSE(closed(elsewhere));
  EXPECT_LE(door->unauthenticated(), 4);
  EXPECT_LE(lines(said()), 3);
}

TEST_F(AcceptorTest, WhereAllHaveJustComeTheNextWaits) {
  Door door({.unauthenticated = 2, .first_word = 10s, .handshake = 10s});
  const Fd first = connected(door.port()), second = connected(door.port());
  const Fd third = connected(door.port());
  ASSERT_TRUE(soon([&] { return door.came() == 2; }));
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(door.came(), 2);
  EXPECT_FALSE(closed(first) || closed(second) || closed(third));
  door->welcome(peer_of(first));
  EXPECT_TRUE(soon([&] { return door.came() == 3; }));
}

TEST_F(AcceptorTest, AConnectionWithManyWrongTokensIsCut) {
  Door door({.refusals = 5});
  const Fd guesses = connected(door.port());
  ASSERT_TRUE(soon([&] { return door.came() == 1; }));
  for (int i = 0; i < 4; ++i) door->refuse(peer_of(guesses), "it did not show the job's token");
  EXPECT_FALSE(closed(guesses));
  door->refuse(peer_of(guesses), "it did not show the job's token");
  EXPECT_TRUE(soon([&] { return closed(guesses); }));
}

// Another process, which connects as often as it can and stays.
class Flood {
 public:
  Flood(int port, int connections) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(ends), 0);
    const Fd done(ends[0]);
    Fd says(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      rlimit all = {};
      ::getrlimit(RLIMIT_NOFILE, &all);
      all.rlim_cur = all.rlim_max;
      ::setrlimit(RLIMIT_NOFILE, &all);
      const sockaddr_in there = place("127.0.0.1", port);
      for (int i = 0; i < connections; ++i) {
        const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
        ::connect(fd, reinterpret_cast<const sockaddr*>(&there), sizeof there);
      }
      says.reset();
      while (true) ::pause();
    }
    says.reset();
    char byte = 0;
    EXPECT_EQ(::read(done.get(), &byte, 1), 0);
  }
  ~Flood() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_ = -1;
};

// While it lives this process may have `more` descriptors than it has.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t more) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const Fd next(::eventfd(0, EFD_CLOEXEC));
    const rlimit tight = {.rlim_cur = static_cast<rlim_t>(next.get()) + more,
                          .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_ = {};
};

TEST_F(AcceptorTest, AFloodLeavesDescriptorsForWhatElseTheProcessDoes) {
  StoreServer server({.token = "secret", .reserve = 20});
  const Endpoint at = *find_endpoint(server.address());
  const FewDescriptors few(80);
  const Flood flood(static_cast<int>(at.port), 150);
  std::this_thread::sleep_for(100ms);
  std::vector<Fd> free;
  for (int i = 0; i < 15; ++i) free.emplace_back(::eventfd(0, EFD_CLOEXEC));
  EXPECT_TRUE(std::ranges::all_of(free, [](const Fd& fd) { return fd.get() >= 0; }));
  free.clear();
  // Those who know the token are still let in.
  StoreClient store({.address = server.address(),
                     .token = "secret",
                     .self = {.role = "worker", .rank = 0, .host = "here"}});
  EXPECT_EQ(store.add("n", 1), 1);
}

TEST_F(AcceptorTest, ManyWrongTokensAreAFewLines) {
  StoreServer server({.token = "secret"});
  for (int i = 0; i < 20; ++i) {
    EXPECT_THROW(StoreClient({.address = server.address(),
                              .token = "guess",
                              .self = {.role = "worker", .rank = i, .host = "here"}}),
                 Error);
  }
  const std::string text = said();
  EXPECT_LE(lines(text), 3);
  EXPECT_THAT(text, ::testing::HasSubstr("it did not show the job's token"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("guess")));
}

TEST_F(AcceptorTest, WhoeverShowsTheTokenIsAuthenticated) {
  for (const char* address : {"127.0.0.1:0", "[::1]:0", "localhost:0", "[::]:0"}) {
    DataServer::Options options = serve(echo);
    options.address = address;
    std::optional<DataServer> server;
    try {
      server.emplace(std::move(options));
    } catch (const Error&) {
      continue;  // this system has no IPv6
    }
    std::string at = server->address();
    if (at.starts_with("[::]")) at = "127.0.0.1" + at.substr(4);
    DataClient client(to(at));
    EXPECT_EQ(ask(client, "x").get(), "x") << address;
    EXPECT_TRUE(soon([&] { return server->stats().unauthenticated == 0; })) << address;
  }
}

TEST(RefusalLog, HasTheFirstLinesOfASourceAndThenOneAMinute) {
  RefusalLog log;
  const RefusalLog::Clock::time_point now = RefusalLog::Clock::now();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(log.note("a", now), 0);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(log.note("a", now), std::nullopt);
  EXPECT_EQ(log.note("b", now), 0);
  EXPECT_EQ(log.note("a", now + 61s), 1000);
  EXPECT_EQ(log.note("a", now + 62s), std::nullopt);
  // As many sources as there are addresses do not fill the memory, nor the log.
  int lines = 0;
  for (int i = 0; i < 10'000; ++i) lines += log.note(std::to_string(i), now).has_value();
  EXPECT_LE(lines, 300);
}

TEST(Authenticator, AddressesOfPeersAreRead) {
  EXPECT_EQ(address_in("ipv4:10.0.0.2:4711"), "10.0.0.2");
  EXPECT_EQ(address_in("ipv6:%5Bfe80::1%5D:4711"), "fe80::1");
  EXPECT_EQ(address_in("ipv6:[::ffff:10.0.0.2]:4711"), "10.0.0.2");
  EXPECT_EQ(port_in("ipv6:%5Bfe80::1%5D:4711"), "4711");
}

}  // namespace
}  // namespace flotilla::rpc
