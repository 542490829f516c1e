// Calls of bytes over the network: servers and clients as threads of one process; what is killed
// is a process.

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <numeric>
#include <thread>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/base/mutex.h"
#include "flotilla/rpc/acceptor.h"
#include "flotilla/rpc/data_client.h"
#include "flotilla/rpc/data_server.h"
#include "flotilla/testing/errors.h"

namespace flotilla::rpc {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

void echo(const std::shared_ptr<DataCall>& call) {
  Payload reply = call->allocate(call->request().size());
  std::ranges::copy(call->request(), reply.bytes().begin());
  call->answer(std::move(reply));
}

// Keeps calls until they are taken.
class Shelf {
 public:
  void put(std::shared_ptr<DataCall> call) {
    const MutexLock lock(mutex_);
    calls_.push_back(std::move(call));
    changed_.notify_all();
  }
  std::shared_ptr<DataCall> take() {
    MutexLock lock(mutex_);
    while (calls_.empty()) changed_.wait(lock);
    auto call = std::move(calls_.front());
    calls_.erase(calls_.begin());
    return call;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::vector<std::shared_ptr<DataCall>> calls_ FLT_GUARDED_BY(mutex_);
};

DataServer::Options serve(std::function<void(std::shared_ptr<DataCall>)> on_call) {
  DataServer::Options options;
  options.token = "secret";
  options.on_call = std::move(on_call);
  return options;
}

DataClient::Options to(const std::string& address) {
  return {.address = address, .token = "secret", .patience = 10s};
}

std::string text(const Payload& payload) {
  return {reinterpret_cast<const char*>(payload.bytes().data()), payload.size()};
}

Payload written(DataClient& client, const std::string& text) {
  Payload payload = client.allocate(text.size());
  std::memcpy(payload.bytes().data(), text.data(), text.size());
  return payload;
}

std::future<std::string> ask(DataClient& client, const std::string& request, size_t room = 0) {
  auto promise = std::make_shared<std::promise<std::string>>();
  client.call(written(client, request), room, [promise](Payload reply, std::exception_ptr error) {
    if (error) {
      promise->set_exception(error);
    } else {
      promise->set_value(text(reply));
    }
  });
  return promise->get_future();
}

ErrorKind kind_of(std::future<std::string> answer) {
  try {
    answer.get();
  } catch (const Error& error) {
    return error.kind();
  }
  throw std::logic_error("not refused");
}

std::string long_text(size_t bytes) {
  std::string text(bytes, ' ');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 2654435761 >> 13);
  return text;
}

template <typename Condition>
bool soon(Condition condition) {
  for (int i = 0; i < 2000 && !condition(); ++i) std::this_thread::sleep_for(5ms);
  return condition();
}

TEST(Data, BytesComeBackWhole) {
  std::atomic<bool> aligned = true;
  DataServer server(serve([&](std::shared_ptr<DataCall> call) {
    const auto place = reinterpret_cast<uintptr_t>(call->request().data());
    if (place % kPayloadAlignment != 0) aligned = false;
    echo(call);
  }));
  DataClient client(to(server.address()));
  for (const size_t bytes : {0, 1, 63, 64, 4000, 300'000, 5'000'000}) {
    const std::string sent = long_text(bytes);
    EXPECT_TRUE(ask(client, sent).get() == sent) << bytes;
    EXPECT_TRUE(ask(client, sent, bytes).get() == sent) << bytes;
  }
  EXPECT_TRUE(aligned);
  EXPECT_EQ(server.stats().calls, 14);
  EXPECT_EQ(client.stats().calls, 14);
}

TEST(Data, ManyCallsAtATimeFromManyThreads) {
  DataServer server(serve(echo));
  DataClient client(to(server.address()));
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::pair<std::string, std::future<std::string>>> asked;
      for (int i = 0; i < 100; ++i) {
        const std::string sent = std::to_string(t) + long_text(i * 100);
        asked.emplace_back(sent, ask(client, sent, i % 2 * sent.size()));
      }
      for (auto& [sent, answer] : asked) right += answer.get() == sent;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 400);
}

TEST(Data, AnswersComeLateAndInAnyOrder) {
  Shelf shelf;
  DataServer server(serve([&](auto call) { shelf.put(std::move(call)); }));
  DataClient client(to(server.address()));
  auto first = ask(client, "a");
  const auto a = shelf.take();
  auto second = ask(client, "b");
  const auto b = shelf.take();
  EXPECT_EQ(server.stats().waiting, 2);
  EXPECT_FALSE(a->abandoned());
  // The same answer for both.
  Payload both(4);
  std::memcpy(both.bytes().data(), "both", 4);
  b->answer(both.share());
  EXPECT_EQ(second.get(), "both");
  EXPECT_EQ(first.wait_for(0s), std::future_status::timeout);
  a->answer(std::move(both));
  EXPECT_EQ(first.get(), "both");
  a->answer(Payload(1));  // does nothing
  EXPECT_TRUE(soon([&] { return server.stats().waiting == 0; }));
}

TEST(Data, ErrorsTravelWithKindAndSentence) {
  DataServer server(serve([](const std::shared_ptr<DataCall>& call) {
    const char which = static_cast<char>(call->request()[0]);
    if (which == 'n') not_found("table {} is not here", 7);
    if (which == 'u') call->refuse(Error(ErrorKind::kUnavailable, "worker 3 left"));
    if (which == 'x') throw std::runtime_error("odd");
    // Else it is dropped.
  }));
  DataClient client(to(server.address()));
  EXPECT_REFUSED(ask(client, "n").get(), "table 7 is not here");
  EXPECT_EQ(kind_of(ask(client, "n")), ErrorKind::kNotFound);
  EXPECT_REFUSED(ask(client, "u").get(), "worker 3 left");
  EXPECT_EQ(kind_of(ask(client, "u")), ErrorKind::kUnavailable);
  EXPECT_REFUSED(ask(client, "x").get(), "odd");
  EXPECT_EQ(kind_of(ask(client, "dropped")), ErrorKind::kInternal);
}

TEST(Data, StrangersAndLargeRequestsAreRefusedAndCounted) {
  DataServer::Options options = serve(echo);
  options.max_message = 1000;
  DataServer server(std::move(options));
  DataClient::Options guess = to(server.address());
  guess.token = "guess";
  DataClient stranger(guess);
  EXPECT_THAT(refusal_of([&] { ask(stranger, "x").get(); }),
              HasSubstr("it did not show the job's token"));
  DataClient client(to(server.address()));
  EXPECT_EQ(ask(client, std::string(1000, 'x')).get().size(), 1000);
  EXPECT_REFUSED(ask(client, std::string(1001, 'x')).get(),
                 "a request has at most 1000 bytes, but this has 1001");
  EXPECT_EQ(kind_of(ask(client, std::string(3 << 20, 'x'))), ErrorKind::kInvalidArgument);
  EXPECT_TRUE(soon([&] { return server.stats().cut_off == 1; }));
  EXPECT_EQ(server.stats().without_token, 1);
  EXPECT_EQ(server.stats().oversized, 1);
  EXPECT_EQ(server.stats().calls, 1);

  DataClient::Options small = to(server.address());
  small.max_message = 10;
  DataClient careful(small);
  EXPECT_REFUSED(ask(careful, "12345678901"), "a request has at most 10 bytes, but this has 11");
}

TEST(Data, OnlyAllowedHostsAreHeard) {
  DataServer::Options elsewhere = serve(echo);
  elsewhere.only_from = {"10.255.255.1"};
  DataServer server(std::move(elsewhere));
  DataClient client(to(server.address()));
  EXPECT_THAT(refusal_of([&] { ask(client, "x").get(); }), HasSubstr("not a host of the job"));
  EXPECT_EQ(server.stats().wrong_host, 1);
  DataServer::Options here = serve(echo);
  here.only_from = {"localhost"};
  DataServer open(std::move(here));
  DataClient welcome(to(open.address()));
  EXPECT_EQ(ask(welcome, "x").get(), "x");
}

TEST(Data, TheEndOfTheServerEndsCallsThatWait) {
  Shelf shelf;
  auto server = std::make_unique<DataServer>(serve([&](auto call) { shelf.put(std::move(call)); }));
  DataClient client(to(server->address()));
  auto answer = ask(client, "x");
  const auto parked = shelf.take();
  server.reset();
  EXPECT_EQ(kind_of(std::move(answer)), ErrorKind::kUnavailable);
  EXPECT_TRUE(parked->abandoned());
  parked->answer(Payload(3));  // too late, and harmless
  EXPECT_EQ(kind_of(ask(client, "y")), ErrorKind::kUnavailable);
}

TEST(Data, CancelEndsCallsNowAndLater) {
  Shelf shelf;
  DataServer server(serve([&](auto call) { shelf.put(std::move(call)); }));
  DataClient client(to(server.address()));
  auto answer = ask(client, "x");
  const auto parked = shelf.take();
  client.cancel("the job ends");
  EXPECT_REFUSED(answer.get(), "the job ends");
  EXPECT_REFUSED(ask(client, "y").get(), "the job ends");
  EXPECT_TRUE(soon([&] { return parked->abandoned() && server.stats().abandoned == 1; }));
}

TEST(Data, SaysThatNobodyAnswers) {
  DataClient::Options options = to("127.0.0.1:9");
  options.patience = 50ms;
  EXPECT_REFUSED(DataClient(options), "no server of the job answers at 127.0.0.1:9 after 0.1 s");
}

TEST(Data, RefusesAPortThatIsTaken) {
  DataServer server(serve(echo));
  DataServer::Options same = serve(echo);
  same.address = server.address();
  EXPECT_THAT(refusal_of([&] { DataServer again(std::move(same)); }),
              HasSubstr("cannot listen on " + server.address()));
}

Fd listening() {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any = {};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&any), sizeof any), 0);
  EXPECT_EQ(::listen(fd.get(), 64), 0);
  return fd;
}

std::string address_of(const Fd& listener) {
  return "127.0.0.1:" + std::to_string(listening_port(listener));
}

bool answers(DataClient& client) {
  try {
    return ask(client, "hello").get() == "hello";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
    return false;
  }
}

TEST(Data, ANewServerTakesOverTheSocketOfTheOld) {
  const Fd kept = listening();
  std::unique_ptr<DataClient> client;
  for (int attempt = 0; attempt < 3; ++attempt) {
    DataServer::Options options = serve(echo);
    options.listener = Fd(::dup(kept.get()));
    DataServer server(std::move(options));
    EXPECT_EQ(server.address(), address_of(kept));
    if (!client) client = std::make_unique<DataClient>(to(server.address()));
    EXPECT_TRUE(soon([&] { return answers(*client); }));
  }
}

// Another process of this binary, which runs one of the tests that are off by default, with
// `listener` as its descriptor 3. A fork alone would leave it without gRPC's threads.
class Child {
 public:
  Child(const std::string& test, const Fd& listener) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(listener.get(), kInherited);
    const std::string filter = "--gtest_filter=" + test;
    ::execl("/proc/self/exe", "rpc_test", filter.c_str(), "--gtest_also_run_disabled_tests",
            nullptr);
    ::_exit(1);
  }
  ~Child() { kill(); }

  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  static constexpr int kInherited = 3;

 private:
  pid_t pid_ = 0;
};

// Answers what is longer than a byte.
TEST(DataProcesses, DISABLED_Server) {
  Shelf shelf;
  DataServer::Options options = serve([&](const std::shared_ptr<DataCall>& call) {
    call->request().size() > 1 ? echo(call) : shelf.put(call);
  });
  options.listener = Fd(Child::kInherited);
  const DataServer server(std::move(options));
  ::pause();
}

TEST(DataProcesses, DISABLED_Client) {
  DataClient client(to(address_of(Fd(::dup(Child::kInherited)))));
  ask(client, long_text(2'000'000), 2'000'000).wait();
}

TEST(DataProcesses, AKilledServerIsNoticedAtOnce) {
  Fd listener = listening();
  Child child("DataProcesses.DISABLED_Server", listener);
  DataClient client(to(address_of(listener)));
  EXPECT_EQ(ask(client, "hello").get(), "hello");
  auto parked = ask(client, "x");
  std::this_thread::sleep_for(50ms);
  child.kill();
  ASSERT_EQ(parked.wait_for(5s), std::future_status::ready);
  EXPECT_EQ(kind_of(std::move(parked)), ErrorKind::kUnavailable);
  DataServer::Options options = serve(echo);
  options.listener = std::move(listener);
  DataServer again(std::move(options));
  EXPECT_TRUE(soon([&] { return answers(client); }));
}

TEST(DataProcesses, AKilledClientIsNoticedAtOnce) {
  const Fd listener = listening();
  Child child("DataProcesses.DISABLED_Client", listener);
  Shelf shelf;
  DataServer::Options options = serve([&](auto call) { shelf.put(std::move(call)); });
  options.listener = Fd(::dup(listener.get()));
  DataServer server(std::move(options));
  const auto parked = shelf.take();
  EXPECT_EQ(parked->request().size(), 2'000'000);
  child.kill();
  EXPECT_TRUE(soon([&] { return parked->abandoned(); }));
  parked->answer(parked->allocate(2'000'000));
  EXPECT_EQ(server.stats().abandoned, 1);
}

}  // namespace
}  // namespace flotilla::rpc
