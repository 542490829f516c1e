// The store and clients whose connections break: nothing is lost, nothing counts twice.

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
#include "flotilla/rpc/wire_testing.h"
#include "flotilla/testing/errors.h"

namespace flotilla::rpc {
namespace {

using testing::HasSubstr;

// So long that a busy machine is not taken for an outage, and so short that silence is noticed
// soon.
constexpr Outage kPatient{.limit = 60s, .come_back = 60s};
constexpr Outage kShort{.limit = 800ms};

StoreClient::Options through(const Wire& wire, int64_t rank, Outage outage) {
  return {.address = wire.address(),
          .token = "secret",
          .self = {.role = "worker", .rank = rank, .host = "there", .pid = 1000 + rank},
          .outage = outage};
}

TEST(StoreOutageTest, ResetConnectionsLoseNothingAndRepeatNothing) {
  constexpr int64_t kRanks = 4;
  constexpr int64_t kRounds = 100;
  std::atomic<int64_t> lost = 0;
  StoreServer server({.token = "secret",
                      .outage = kPatient,
                      .on_event = [&](StoreServer::Happening what, const Member&) {
                        if (what == StoreServer::Happening::kLost) ++lost;
                      }});
  Wire wire(server.address());
  std::atomic<int64_t> seen = 0;
  std::atomic<int64_t> rounds = 0;
  std::vector<std::jthread> ranks;
  for (int64_t r = 0; r < kRanks; ++r) {
    ranks.emplace_back([&, r] {
      StoreClient client(through(wire, r, kPatient));
      client.set_leased("here/" + std::to_string(r), "");
      client.watch("round/",
                   [&](const std::string&, const std::optional<std::string>&) { ++seen; });
      for (int64_t i = 0; i < kRounds; ++i) {
        client.report({.step = i});
        client.add("sum", 1);
        client.barrier("round", kRanks);
        if (r == 0) client.set("round/" + std::to_string(i), "");
        client.get("round/" + std::to_string(i));
        ++rounds;
        // In the middle of what the others do.
        if (r == i % kRanks && i % 5 == 0) wire.reset();
      }
      client.barrier("end", kRanks);
      EXPECT_EQ(client.add("sum", 0), kRanks * kRounds);
      client.leave();
    });
  }
  ranks.clear();
  EXPECT_EQ(rounds, kRanks * kRounds);
  EXPECT_EQ(seen, kRanks * kRounds);
  EXPECT_EQ(lost, 0);
  EXPECT_GT(wire.connections(), kRanks);
}

TEST(StoreOutageTest, ACutThatIsMendedInTimeIsNotNoticed) {
  StoreServer server({.token = "secret", .stop_when_lost = true, .outage = kPatient});
  Wire wire(server.address());
  std::atomic<int64_t> stops = 0;
  StoreClient::Options options = through(wire, 0, {.limit = 2s});
  options.on_stop = [&](const std::string&) { ++stops; };
  StoreClient a(options);
  std::future<std::string> waiting = std::async([&] { return a.get("key"); });
  wire.cut();
  std::future<int64_t> adding = std::async([&] { return a.add("n", 1); });
  StoreClient b(
      {.address = server.address(), .token = "secret", .self = {.role = "worker", .rank = 1}});
  b.set("key", "set while the wire was cut");
  const int64_t before = wire.connections();
  std::this_thread::sleep_for(1s);  // it gives the connection up after 0.5 s
  wire.mend();
  EXPECT_EQ(waiting.get(), "set while the wire was cut");
  EXPECT_EQ(adding.get(), 1);
  EXPECT_EQ(b.add("n", 0), 1);
  EXPECT_EQ(stops, 0);
  EXPECT_GT(wire.connections(), before);
}

// Where a link comes back for a moment, what was sent before arrives, and that the client has hung
// up: that is no death.
TEST(StoreOutageTest, ALinkThatFlickersIsNoDeath) {
  std::atomic<int64_t> lost = 0;
  StoreServer server({.token = "secret",
                      .stop_when_lost = true,
                      .outage = Outage{.limit = 60s, .come_back = 500ms},
                      .on_event = [&](StoreServer::Happening what, const Member&) {
                        if (what == StoreServer::Happening::kLost) ++lost;
                      }});
  Wire wire(server.address());
  StoreClient::Options options = through(wire, 0, {.limit = 2s});  // it hangs up after 0.5 s
  options.longer = 60s;
  StoreClient client(options);
  wire.cut();
  std::this_thread::sleep_for(3s);  // two beats of the server are one second
  wire.flicker();
  std::this_thread::sleep_for(2s);
  EXPECT_EQ(lost, 0);
  wire.mend();
  EXPECT_EQ(client.add("n", 1), 1);
  EXPECT_EQ(lost, 0);
}

TEST(StoreOutageTest, AFirewallThatRefusesForAMomentIsNoDeath) {
  StoreServer server({.token = "secret", .outage = kPatient});
  std::optional<Wire> wire(std::in_place, server.address());
  const std::string address = wire->address();
  StoreClient client(through(*wire, 0, kPatient));
  std::future<int64_t> adding = std::async([&] {
    client.get("begun");
    return client.add("n", 1);
  });
  wire.reset();  // nobody listens there, and the client hears it
  std::this_thread::sleep_for(500ms);
  wire.emplace(server.address(), listen_at(address));
  client.set("begun", "");
  EXPECT_EQ(adding.get(), 1);
}

TEST(StoreOutageTest, ACutThatStaysEndsBothSidesAndNamesTheCulprit) {
  std::promise<Member> lost;
  StoreServer server({.token = "secret",
                      .stop_when_lost = true,
                      .outage = kShort,
                      .on_event = [&](StoreServer::Happening what, const Member& member) {
                        if (what == StoreServer::Happening::kLost && member.rank == 1)
                          lost.set_value(member);
                      }});
  Wire wire(server.address());
  StoreClient far(through(wire, 1, kShort));
  const auto began = std::chrono::steady_clock::now();
  wire.cut();
  EXPECT_THAT(refusal_of([&] { far.get("never"); }),
              HasSubstr("has not answered for 0.8 s (FLT_OUTAGE_LIMIT): host 127.0.0.1 is down"));
  const Member member = lost.get_future().get();
  EXPECT_GE(std::chrono::steady_clock::now() - began, kShort.limit);
  EXPECT_TRUE(member.silent);
  StoreClient near({.address = server.address(),
                    .token = "secret",
                    .self = {.role = "worker", .rank = 0},
                    .outage = kPatient});
  EXPECT_EQ(refusal_of([&] { near.get("never"); }),
            "nothing has been heard from worker 1 (pid 1001 on there) for 0.8 s "
            "(FLT_OUTAGE_LIMIT)");
}

TEST(StoreOutageTest, ADeathIsSeenAtOnceHoweverLongTheLimit) {
  std::promise<Member> lost;
  auto server = std::make_unique<StoreServer>(
      StoreServer::Options{.token = "secret",
                           .outage = Outage{.limit = 600s},
                           .on_event = [&](StoreServer::Happening what, const Member& member) {
                             if (what == StoreServer::Happening::kLost && member.rank == 1)
                               lost.set_value(member);
                           }});
  StoreClient::Options options{.address = server->address(),
                               .token = "secret",
                               .self = {.role = "worker", .rank = 0},
                               .outage = Outage{.limit = 600s}};
  StoreClient stays(options);
  options.self.rank = 1;
  auto dies = std::make_unique<StoreClient>(options);
  dies->cancel("killed");
  dies.reset();
  std::future<Member> told = lost.get_future();
  ASSERT_EQ(told.wait_for(30s), std::future_status::ready);
  EXPECT_EQ(told.get().rank, 1);
  std::future<std::string> waiting =
      std::async([&] { return refusal_of([&] { stays.get("never"); }); });
  std::thread([gone = std::move(server)] {}).join();
  ASSERT_EQ(waiting.wait_for(30s), std::future_status::ready);
  EXPECT_THAT(waiting.get(), HasSubstr("the connection to the store of the job at " +
                                       options.address + " was lost"));
}

TEST(StoreOutageTest, AStoreThatWasStartedAgainTakesNobodyForItsOwn) {
  auto server =
      std::make_unique<StoreServer>(StoreServer::Options{.token = "secret", .outage = kPatient});
  Wire wire(server->address());
  StoreClient client(through(wire, 0, kPatient));
  const std::string address = server->address();
  wire.cut();
  server.reset();
  server = std::make_unique<StoreServer>(
      StoreServer::Options{.address = address, .token = "secret", .outage = kPatient});
  std::future<std::string> waiting =
      std::async([&] { return refusal_of([&] { client.get("never"); }); });
  wire.mend();
  EXPECT_THAT(waiting.get(), HasSubstr("no longer knows worker 0"));
}

TEST(StoreOutageTest, AProcessThatHasLeftIsNotLostWithItsConnection) {
  std::atomic<int64_t> lost = 0;
  StoreServer server({.token = "secret",
                      .stop_when_lost = true,
                      .outage = kPatient,
                      .on_event = [&](StoreServer::Happening what, const Member&) {
                        if (what == StoreServer::Happening::kLost) ++lost;
                      }});
  Wire wire(server.address());
  StoreClient client(through(wire, 0, kPatient));
  client.leave();
  wire.reset();
  EXPECT_TRUE(soon([&] { return server.members().empty(); }));
  EXPECT_EQ(lost, 0);
}

TEST(OutageTest, TheLimitIsReadFromTheEnvironment) {
  unsetenv("FLT_OUTAGE_LIMIT");
  EXPECT_EQ(Outage::from_environment().limit, 30s);
  setenv("FLT_OUTAGE_LIMIT", "2.5", 1);
  EXPECT_EQ(Outage::from_environment().limit, 2500ms);
  setenv("FLT_OUTAGE_LIMIT", "0.1", 1);
  EXPECT_EQ(refusal_of([] { Outage::from_environment(); }),
            "FLT_OUTAGE_LIMIT must be a number of seconds from 0.5 to 600, but is \"0.1\"");
  unsetenv("FLT_OUTAGE_LIMIT");
}

}  // namespace
}  // namespace flotilla::rpc
