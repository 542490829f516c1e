// Processes as threads against a real store.

#include "flotilla/job/membership.h"

#include <gmock/gmock.h>

#include <atomic>
#include <csignal>
#include <future>
#include <thread>

#include "flotilla/base/error.h"
#include "flotilla/rpc/data_testing.h"
#include "flotilla/rpc/store_server.h"
#include "flotilla/testing/errors.h"

namespace flotilla::job {
namespace {

using namespace std::chrono_literals;
using rpc::Member;
using rpc::StoreServer;
using testing::HasSubstr;

constexpr auto kLimit = 20s;

// What the store's owner has heard.
struct Heard {
  Mutex mutex = {};
  Condition changed = {};
  std::vector<std::pair<StoreServer::Happening, Member>> events = {};

  // The first event that `fits`, which is waited for.
  template <typename Fits>
  Member wait_for(Fits fits) {
    const auto deadline = std::chrono::steady_clock::now() + kLimit;
    MutexLock lock(mutex);
    while (true) {
      for (const auto& [what, member] : events) {
        if (fits(what, member)) return member;
      }
      if (!changed.wait_until(lock, deadline)) throw std::runtime_error("it did not happen");
    }
  }
};

class MembershipTest : public testing::Test {
 protected:
  Membership::Options member(int64_t rank, const Progress* progress = nullptr) {
    return {.address = server.address(),
            .token = "secret",
            .self = {.role = "worker", .rank = rank, .host = "here", .pid = 1000 + rank},
            .progress = progress};
  }

  Heard heard;
  StoreServer server{
      {.token = "secret", .on_event = [this](StoreServer::Happening what, const Member& member) {
         const MutexLock lock(heard.mutex);
         heard.events.emplace_back(what, member);
         heard.changed.notify_all();
       }}};
};

using Happening = StoreServer::Happening;

TEST_F(MembershipTest, AnInterruptEndsEveryWaitAndLeavesWithoutAGoodbye) {
  Progress progress;
  std::atomic<bool> pressed = false;
  {
    Membership::Options options = member(1, &progress);
    options.interrupted = [&] { return pressed.load(); };
    Membership membership(std::move(options));
    std::promise<std::string> told;
    const Membership::Listening listening =
        membership.on_stop([&](const std::string& why) { told.set_value(why); });
    std::future<std::string> waiting =
        std::async([&] { return refusal_of([&] { membership.store().get("never"); }); });
    pressed = true;
    EXPECT_EQ(waiting.get(), "the job was interrupted: Ctrl-C was pressed");
    EXPECT_EQ(told.get_future().get(), "the job was interrupted: Ctrl-C was pressed");
    EXPECT_TRUE(membership.stopped().starts_with(kInterrupted));
  }
  heard.wait_for(
      [](Happening what, const Member& m) { return what == Happening::kLost && m.rank == 1; });
}

TEST_F(MembershipTest, AnInterruptEndsTheWaitForAStoreThatSaysNothing) {
  const rpc::Mute store(true);
  std::atomic<int> asked = 0;
  Progress progress;
  Membership::Options options = member(0, &progress);
  options.address = store.address();
  options.interrupted = [&] { return ++asked > 3; };
  EXPECT_REFUSED(Membership(std::move(options)),
                 "the wait for the store of the job was interrupted");
}

TEST_F(MembershipTest, ReportsStepsAndWhereTheTimeGoes) {
  Progress progress;
  Membership membership(member(3, &progress));
  for (int i = 0; i < 5; ++i) {
    const Progress::Span span(&progress, Progress::Kind::kCompute, "computes");
    std::this_thread::sleep_for(2ms);
    progress.step_done();
  }
  const Member told = heard.wait_for([](Happening what, const Member& m) {
    return what == Happening::kProgress && m.last.step == 5;
  });
  EXPECT_EQ(told.rank, 3);
  EXPECT_GE(told.last.seconds.at("compute"), 0.01);
  EXPECT_EQ(told.last.seconds.at("input"), 0);
  EXPECT_GT(told.last.reached.at("first step"), 0);
  EXPECT_LE(told.last.reached.at("first step"), told.last.age);
}

TEST_F(MembershipTest, TellsALongWaitSoonAndOnlyOnce) {
  Progress progress;
  Membership membership(member(0, &progress));
  heard.wait_for([](Happening what, const Member&) { return what == Happening::kProgress; });
  const Progress::Span span(&progress, Progress::Kind::kCommunication, "sums bucket", 4);
  const Member told =
      heard.wait_for([](Happening, const Member& m) { return m.last.doing == "sums bucket 4"; });
  EXPECT_TRUE(told.last.for_others);
  EXPECT_GE(told.last.doing_seconds, 0.1);
  std::this_thread::sleep_for(700ms);
  const MutexLock lock(heard.mutex);
  const auto reports = std::count_if(heard.events.begin(), heard.events.end(), [](const auto& e) {
    return e.first == Happening::kProgress && e.second.last.doing == "sums bucket 4";
  });
  EXPECT_EQ(reports, 1) << "what does not move is not told again";
}

TEST_F(MembershipTest, TheLastReportComesWithTheGoodbye) {
  Progress progress;
  {
    Membership membership(member(0, &progress));
    progress.step_done();
  }
  const Member left =
      heard.wait_for([](Happening what, const Member&) { return what == Happening::kLeft; });
  EXPECT_EQ(left.last.step, 1);
}

TEST_F(MembershipTest, AnAbandonedMembershipIsLost) {
  {
    Membership membership(member(0));
    membership.abandon("an exception");
  }
  heard.wait_for([](Happening what, const Member&) { return what == Happening::kLost; });
  const MutexLock lock(heard.mutex);
  EXPECT_NE(heard.events.back().first, Happening::kLeft);
}

TEST_F(MembershipTest, ListenersHearTheReasonAndWaitsEnd) {
  Membership membership(member(0));
  std::promise<std::string> told;
  const Membership::Listening listening =
      membership.on_stop([&](const std::string& reason) { told.set_value(reason); });
  {
    const Membership::Listening gone = membership.on_stop(
        [](const std::string&) { ADD_FAILURE() << "a listener that is gone was called"; });
  }
  std::future<std::string> waiting = std::async([&]() -> std::string {
    try {
      return membership.store().get("never");
    } catch (const Error& error) {
      return error.sentence();
    }
  });
  EXPECT_EQ(membership.stopped(), "");
  server.stop("worker 2 was killed by signal 9");
  EXPECT_EQ(told.get_future().get(), "worker 2 was killed by signal 9");
  EXPECT_EQ(waiting.get(), "worker 2 was killed by signal 9");
  EXPECT_EQ(membership.stopped(), "worker 2 was killed by signal 9");
  bool at_once = false;
  const Membership::Listening late =
      membership.on_stop([&](const std::string&) { at_once = true; });
  EXPECT_TRUE(at_once);
}

TEST_F(MembershipTest, OneWhoComesAfterTheStopHearsItToo) {
  server.stop("worker 1 failed");
  Membership membership(member(0));
  EXPECT_EQ(membership.stopped(), "worker 1 failed");
}

TEST_F(MembershipTest, ManyMembersComeAndGoAtOnce) {
  Progress progress;  // stands for sixteen
  std::vector<std::jthread> ranks;
  for (int64_t rank = 0; rank < 16; ++rank) {
    ranks.emplace_back([&, rank] {
      Membership membership(member(rank, &progress));
      membership.store().barrier("all", 16);
      progress.step_done();
      const Membership::Listening listening = membership.on_stop([](const std::string&) {});
    });
  }
  ranks.clear();
  for (int64_t rank = 0; rank < 16; ++rank) {
    heard.wait_for([&](Happening what, const Member& m) {
      return what == Happening::kLeft && m.rank == rank;
    });
  }
}

// As server 0 of a job that is started by hand, which has no progress to report.
TEST_F(MembershipTest, WhoeverHostsTheStoreSaysWhoIsMissingUntilItIsAskedToEnd) {
  auto host = std::make_unique<HostedStore>(StoreServer::Options{.token = "secret"},
                                            HostedStore::Expected{.workers = 1, .servers = 1}, 0ms,
                                            Reminder::Times{.first = 0ms, .every = 1ms});
  const std::string address = host->server().address();
  Membership membership({.address = address,
                         .token = "secret",
                         .self = {.role = "server", .rank = 0},
                         .host = std::move(host)});
  const auto deadline = std::chrono::steady_clock::now() + kLimit;
  std::string said;
  while (said.find("waiting for worker 0: 1 of 2 processes of the job have joined") == said.npos) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << said;
    testing::internal::CaptureStderr();
    std::this_thread::sleep_for(150ms);
    said = testing::internal::GetCapturedStderr();
  }
  membership.end_store(SIGTERM);  // while its thread looks for those who are missing
}

TEST_F(MembershipTest, AProcessOnItsOwnIsNoMember) {
  ASSERT_EQ(getenv("FLT_STORE"), nullptr);
  EXPECT_EQ(Membership::join({}, nullptr), nullptr);
}

TEST_F(MembershipTest, AnAddressThatIsNoneIsRefused) {
  setenv("FLT_STORE", "somewhere", 1);
  EXPECT_REFUSED(Membership::join({}, nullptr),
                 "FLT_STORE must be host:port, but is \"somewhere\"");
  unsetenv("FLT_STORE");
}

TEST_F(MembershipTest, TheEnvironmentOfTheLauncherIsEnoughToJoin) {
  const std::map<std::string, std::string> variables = {{"FLT_STORE", server.address()},
                                                        {"FLT_JOB_TOKEN", "secret"},
                                                        {"FLT_ROLE", "server"},
                                                        {"FLT_RANK", "2"},
                                                        {"FLT_ATTEMPT", "1"},
                                                        {"POD_IP", "10.1.2.3"}};
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  {
    const auto membership = Membership::join({}, nullptr);
    const Member self = server.members().at(0);
    EXPECT_EQ(self.role, "server");
    EXPECT_EQ(self.rank, 2);
    EXPECT_EQ(self.attempt, 1);
    EXPECT_EQ(self.host, "10.1.2.3");
    EXPECT_EQ(self.pid, getpid());
    EXPECT_THROW(Membership::join({}, nullptr), Error) << "each rank may run only once";
  }
  for (const auto& [name, value] : variables) unsetenv(name.c_str());
}

}  // namespace
}  // namespace flotilla::job
