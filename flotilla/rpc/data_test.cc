// Calls of bytes over the network: servers and clients as threads of one process; what is killed
// is a process.

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "flotilla/rpc/data_testing.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/patience.h"

namespace flotilla::rpc {
namespace {

using testing::HasSubstr;

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

TEST(Data, UnauthenticatedAndLargeRequestsAreRefusedAndCounted) {
  DataServer::Options options = serve(echo);
  options.max_message = 1000;
  DataServer server(std::move(options));
  DataClient::Options guess = to(server.address());
  guess.token = "guess";
  guess.shared_bytes = 0;  // one refusal, not a second one for the stream of its windows
  DataClient guesser(guess);
  EXPECT_THAT(refusal_of([&] { ask(guesser, "x").get(); }),
              HasSubstr("it did not show the job's token"));
  DataClient::Options plain = to(server.address());
  plain.shared_bytes = 0;
  DataClient client(plain);
  EXPECT_EQ(ask(client, std::string(1000, 'x')).get().size(), 1000);
  EXPECT_REFUSED(ask(client, std::string(1001, 'x')).get(),
                 "a request may have at most 1000 bytes, but this one has 1001");
  EXPECT_EQ(kind_of(ask(client, std::string(3 << 20, 'x'))), ErrorKind::kInvalidArgument);
  EXPECT_TRUE(soon([&] { return server.stats().cut_off == 1; }));
  EXPECT_EQ(server.stats().without_token, 1);
  EXPECT_EQ(server.stats().oversized, 1);
  EXPECT_EQ(server.stats().calls, 1);

  DataClient::Options small = to(server.address());
  small.max_message = 10;
  DataClient careful(small);
  EXPECT_REFUSED(ask(careful, "12345678901"),
                 "a request may have at most 10 bytes, but this one has 11");
}

TEST(Data, OnlyAllowedHostsAreHeard) {
  DataServer::Options elsewhere = serve(echo);
  elsewhere.only_from = {"10.255.255.1"};
  DataServer server(std::move(elsewhere));
  DataClient::Options plain = to(server.address());
  plain.shared_bytes = 0;
  DataClient client(plain);
  EXPECT_THAT(
      refusal_of([&] { ask(client, "x").get(); }),
      HasSubstr("refused this process: it is not a host of the job: calls are accepted from "
                "10.255.255.1, but it called from 127.0.0.1; add this host"));
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

TEST(Data, AClientMayGoInsideOfItsOwnDone) {
  DataServer server(serve(echo));
  auto client = std::make_shared<DataClient>(to(server.address()));
  std::promise<void> gone;
  DataClient& caller = *client;
  caller.call(Payload(1), 0, [&gone, client = std::move(client)](Payload, auto) mutable {
    client.reset();
    gone.set_value();
  });
  gone.get_future().get();
  EXPECT_TRUE(soon([&] { return server.stats().waiting == 0; }));
}

TEST(Data, SaysThatNobodyAnswers) {
  DataClient::Options options = to("127.0.0.1:9");
  options.patience = 50ms;
  EXPECT_REFUSED(DataClient(options), "no server of the job answers at 127.0.0.1:9 after 0.1 s");
}

TEST(Data, TheWaitForAServerThatSaysNothingCanBeEnded) {
  const Mute server(false);
  // At once, and while it is looked whether the two agree on TLS.
  for (const auto after : {0ms, 1200ms, 1700ms}) {
    const Stopwatch watch;
    DataClient::Options options = to(server.address());
    options.patience = 10min;
    options.stop = [&] { return watch.time() >= after; };
    EXPECT_REFUSED(DataClient(options),
                   "the wait for the server at " + server.address() + " was interrupted");
    EXPECT_LT(watch.time(), after + 5s);
  }
}

TEST(Data, RefusesAPortThatIsTaken) {
  DataServer server(serve(echo));
  DataServer::Options same = serve(echo);
  same.address = server.address();
  EXPECT_THAT(refusal_of([&] { DataServer again(std::move(same)); }),
              HasSubstr("cannot listen on " + server.address()));
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
  while (true) ask(client, long_text(2'000'000), 2'000'000).wait();
}

TEST(DataProcesses, AKilledServerIsNoticedAtOnce) {
  Fd listener = listening();
  Child child("DataProcesses.DISABLED_Server", listener);
  DataClient client(to(address_of(listener)));
  EXPECT_EQ(ask(client, "hello").get(), "hello");
  auto parked = ask(client, "x");
  std::this_thread::sleep_for(50ms);
  child.kill();
  ASSERT_TRUE(ready_soon(parked));
  EXPECT_EQ(kind_of(std::move(parked)), ErrorKind::kUnavailable);
  DataServer::Options options = serve(echo);
  options.listener = std::move(listener);
  DataServer again(std::move(options));
  EXPECT_TRUE(soon([&] { return answers(client); }));
}

TEST(DataProcesses, AnswersAreWholeWhileServersAreKilled) {
  const Fd listener = listening();
  std::unique_ptr<DataClient> client;
  int whole = 0, lost = 0;
  for (int attempt = 0; attempt < 6; ++attempt) {
    Child child("DataProcesses.DISABLED_Server", listener);
    if (!client) client = std::make_unique<DataClient>(to(address_of(listener)));
    ASSERT_TRUE(soon([&] { return answers(*client); }) && shares(*client));
    std::vector<std::pair<std::string, std::future<std::string>>> asked;
    for (int i = 0; i < 60; ++i) {
      const std::string sent = std::to_string(attempt * 1000 + i) + long_text(i * 3000);
      asked.emplace_back(sent, ask(*client, sent, sent.size()));
      if (i == 15 + attempt * 8) child.kill();
    }
    for (auto& [sent, answer] : asked) {
      try {
        EXPECT_TRUE(answer.get() == sent);
        ++whole;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kUnavailable) << error.what();
        ++lost;
      }
    }
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(lost, 0);
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
