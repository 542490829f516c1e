// The store over the network: server and clients as threads of one process.

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/base/mutex.h"
#include "flotilla/rpc/data_testing.h"
#include "flotilla/rpc/store_client.h"
#include "flotilla/rpc/store_server.h"
#include "flotilla/testing/errors.h"

namespace flotilla::rpc {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

StoreClient::Options client(const StoreServer& server, int64_t rank) {
  return {.address = server.address(),
          .token = "secret",
          .self = {.role = "worker", .rank = rank, .host = "here", .pid = 1000 + rank}};
}

TEST(StoreTest, HandsKeysFromOneProcessToAnother) {
  StoreServer server({.token = "secret"});
  StoreClient a(client(server, 0));
  StoreClient b(client(server, 1));
  std::future<std::string> waiting = std::async([&] { return b.get("address"); });
  a.set("address", std::string("10.0.0.1\0:7", 11));
  EXPECT_EQ(waiting.get(), std::string("10.0.0.1\0:7", 11));
  EXPECT_EQ(b.find("nothing"), std::nullopt);
  EXPECT_EQ(a.set_if_absent("leader", "a"), "a");
  EXPECT_EQ(b.set_if_absent("leader", "b"), "a");
  EXPECT_EQ(a.add("n", 2) + b.add("n", 2), 6);
  a.erase("lea");
  EXPECT_EQ(b.find("leader"), std::nullopt);
}

TEST(StoreTest, TheWaitForAStoreThatSaysNothingCanBeEnded) {
  for (const bool greets : {false, true}) {
    for (const bool far : {false, true}) {
      const Mute store(greets);
      const Stopwatch watch;
      StoreClient::Options options{
          .address = store.address(),
          .token = "secret",
          .patience = 10min,
          .stop = [&] { return watch.time() >= 200ms; },
          .outage = far ? std::optional(Outage{.limit = 600s}) : std::nullopt,
          .on_stop = [](const std::string&) { ADD_FAILURE() << "there was no job yet"; }};
      EXPECT_REFUSED(StoreClient(options), "the wait for the store of the job was interrupted");
      EXPECT_LT(watch.time(), 10s);
    }
  }
}

TEST(StoreTest, ATokenMayHoldAnyBytes) {
  for (const std::string& token : {std::string("a\nb"), std::string("\xff\0\x01", 3),
                                   std::string("任务"), std::string(1024, 'x')}) {
    StoreServer server({.token = token});
    StoreClient::Options options = client(server, 0);
    options.token = token;
    StoreClient store(options);
    EXPECT_EQ(store.add("n", 1), 1);
  }
  const std::string refusal =
      "the secret of a job (FLT_JOB_TOKEN) may have at most 1024 bytes, but has 1025";
  EXPECT_EQ(refusal_of([] { StoreServer server({.token = std::string(1025, 'x')}); }), refusal);
  StoreServer server({.token = "secret"});
  StoreClient::Options options = client(server, 0);
  options.token = std::string(1025, 'x');
  EXPECT_EQ(refusal_of([&] { StoreClient made(options); }), refusal);
}

TEST(StoreTest, RefusesAWrongTokenAndASecondCopy) {
  StoreServer server({.token = "secret"});
  StoreClient::Options guesser = client(server, 0);
  guesser.token = "guess";
  testing::internal::CaptureStderr();
  EXPECT_THAT(refusal_of([&] { StoreClient made(guesser); }), HasSubstr("FLT_JOB_TOKEN"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("it did not show the job's token"));
  StoreClient first(client(server, 0));
  EXPECT_THAT(refusal_of([&] { StoreClient second(client(server, 0)); }),
              HasSubstr("worker 0 (pid 1000 on here) has already joined this job"));
  first.set("k", "the first goes on");
}

TEST(StoreTest, AProcessThatIsStartedAgainTakesItsPlace) {
  StoreServer server({.token = "secret"});
  StoreClient other(client(server, 1));
  auto first = std::make_unique<StoreClient>(client(server, 0));
  first->set("kept", "1");
  first->set_leased("leased", "1");
  std::future<std::string> waiting = std::async([&] { return other.get("by the second"); });
  first->cancel("killed");
  StoreClient::Options again = client(server, 0);
  again.self.attempt = 1;
  StoreClient second(again);  // the end of the first may not have been seen yet
  first.reset();
  second.set("by the second", "2");
  EXPECT_EQ(waiting.get(), "2");
  EXPECT_EQ(second.find("kept"), "1");
  second.set_leased("leased", "2");
  EXPECT_EQ(other.find("leased"), "2");
}

TEST(StoreTest, SaysThatNobodyAnswers) {
  StoreClient::Options options{.address = "127.0.0.1:9", .token = "secret", .patience = 50ms};
  EXPECT_THAT(refusal_of([&] { StoreClient made(options); }),
              HasSubstr("no store has answered at 127.0.0.1:9"));
}

TEST(StoreTest, RefusesAPortThatIsTaken) {
  StoreServer server({.token = "secret"});
  EXPECT_THAT(refusal_of([&] { StoreServer again({.address = server.address(), .token = "x"}); }),
              HasSubstr("cannot listen on " + server.address()));
}

TEST(StoreTest, StopEndsEveryWaitWithTheReason) {
  StoreServer server({.token = "secret"});
  std::promise<std::string> told;
  StoreClient::Options options = client(server, 0);
  options.on_stop = [&](const std::string& reason) { told.set_value(reason); };
  StoreClient a(options);
  StoreClient b(client(server, 1));
  std::future<std::string> waiting =
      std::async([&] { return refusal_of([&] { a.get("never"); }); });
  std::future<std::string> at_gate =
      std::async([&] { return refusal_of([&] { b.barrier("never", 3); }); });
  server.stop("worker 2 was killed by signal 9");
  EXPECT_EQ(waiting.get(), "worker 2 was killed by signal 9");
  EXPECT_EQ(at_gate.get(), "worker 2 was killed by signal 9");
  EXPECT_EQ(told.get_future().get(), "worker 2 was killed by signal 9");
  EXPECT_THAT(refusal_of([&] { a.set("k", "v"); }), HasSubstr("worker 2 was killed"));
}

TEST(StoreTest, LaunchersTalkOnAfterTheJobHasStopped) {
  StoreServer server({.token = "secret"});
  std::promise<std::string> told;
  StoreClient::Options options = client(server, 0);
  options.outlives_stop = true;
  options.on_stop = [&](const std::string& reason) { told.set_value(reason); };
  {
    StoreClient a(options);
    server.stop("worker 2 was killed by signal 9");
    EXPECT_EQ(told.get_future().get(), "worker 2 was killed by signal 9");
    a.set("last", "words");
    EXPECT_EQ(a.find("last"), "words");
  }
  EXPECT_TRUE(soon([&] { return server.members().empty(); }));
}

TEST(StoreTest, TheEndOfTheServerEndsEveryWait) {
  auto server = std::make_unique<StoreServer>(StoreServer::Options{.token = "secret"});
  StoreClient a(client(*server, 0));
  std::future<std::string> waiting =
      std::async([&] { return refusal_of([&] { a.get("never"); }); });
  const std::string address = server->address();
  server.reset();
  EXPECT_THAT(waiting.get(),
              HasSubstr("the connection to the store of the job at " + address + " was lost"));
}

TEST(StoreTest, CancelEndsEveryWait) {
  StoreServer server({.token = "secret"});
  StoreClient a(client(server, 0));
  std::future<std::string> waiting =
      std::async([&] { return refusal_of([&] { a.get("never"); }); });
  a.cancel("interrupted");
  EXPECT_EQ(waiting.get(), "interrupted");
}

TEST(StoreTest, TellsTheOwnerWhoComesAndGoes) {
  using Happening = StoreServer::Happening;
  Mutex mutex;
  Condition changed;
  std::vector<std::pair<Happening, int64_t>> events;
  StoreServer server({.token = "secret", .on_event = [&](Happening what, const Member& member) {
                        const MutexLock lock(mutex);
                        events.emplace_back(
                            what, what == Happening::kProgress ? member.last.step : member.rank);
                        changed.notify_all();
                      }});
  {
    StoreClient a(client(server, 5));
    a.report({.step = 7, .doing = "compute"});
    a.leave();
  }
  MutexLock lock(mutex);
  while (events.size() < 3) changed.wait(lock);
  EXPECT_THAT(events, testing::ElementsAre(std::pair(Happening::kJoined, 5),
                                           std::pair(Happening::kProgress, 7),
                                           std::pair(Happening::kLeft, 5)));
}

TEST(StoreTest, WithoutALauncherALostConnectionStopsTheJob) {
  StoreServer server({.token = "secret", .stop_when_lost = true});
  StoreClient a(client(server, 0));
  auto b = std::make_unique<StoreClient>(client(server, 1));
  b->leave();
  b.reset();
  a.set("k", "one that left does no harm");
  auto c = std::make_unique<StoreClient>(client(server, 2));
  c->cancel("dies without a word");
  std::future<std::string> waiting =
      std::async([&] { return refusal_of([&] { a.get("never"); }); });
  c.reset();
  EXPECT_EQ(waiting.get(), "worker 2 (pid 1002 on here) is gone: its connection ended");
}

TEST(StoreTest, WatchersSeeEveryChangeInOrder) {
  StoreServer server({.token = "secret"});
  StoreClient a(client(server, 0));
  StoreClient b(client(server, 1));
  Mutex mutex;
  Condition changed;
  std::vector<std::string> seen;
  b.watch("step/", [&](const std::string& key, const std::optional<std::string>& value) {
    const MutexLock lock(mutex);
    seen.push_back(key + "=" + value.value_or("gone"));
    changed.notify_all();
  });
  for (int i = 0; i < 50; ++i) a.set("step/" + std::to_string(i % 3), std::to_string(i));
  a.erase("step/");
  MutexLock lock(mutex);
  while (seen.size() < 53) changed.wait(lock);
  EXPECT_EQ(seen[49], "step/1=49");
  EXPECT_EQ(seen[52], "step/2=gone");
}

TEST(StoreTest, HoldsAThousandClients) {
  constexpr int64_t kClients = 1000;
  StoreServer server({.token = "secret"});
  std::vector<std::unique_ptr<StoreClient>> clients;
  for (int64_t i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<StoreClient>(client(server, i)));
  }
  std::atomic<int64_t> changes = 0;
  for (auto& c : clients) {
    c->watch("news", [&](const std::string&, const std::optional<std::string>&) { ++changes; });
  }
  std::vector<std::thread> threads;
  std::atomic<int64_t> passed = 0;
  for (int64_t i = 0; i < kClients; ++i) {
    threads.emplace_back([&, i] {
      clients[i]->barrier("all", kClients);
      EXPECT_EQ(clients[i]->get("go"), "now");
      ++passed;
    });
  }
  clients[0]->set("news", "started");
  clients[0]->set("go", "now");
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(passed, kClients);
  EXPECT_EQ(server.members().size(), static_cast<size_t>(kClients));
  clients.clear();
  EXPECT_EQ(changes, kClients);
}

}  // namespace
}  // namespace flotilla::rpc
