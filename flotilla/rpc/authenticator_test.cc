#include "flotilla/rpc/authenticator.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <memory>

#include "flotilla/rpc/store_client.h"
#include "flotilla/rpc/store_server.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/patience.h"

namespace flotilla::rpc {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Verdict = Authenticator::Verdict;

constexpr char kFirst[] = "ipv4:10.0.0.1:4711";
constexpr char kSecond[] = "ipv4:10.0.0.2:4711";

// A resolver that learns: node-1 from the beginning, node-2 as the test says.
struct Names {
  std::atomic<bool> knows_second = false;
  std::atomic<int> questions = 0;  // for node-2

  std::vector<std::string> operator()(const std::string& host) {
    if (host == "node-1") return {"10.0.0.1"};
    ++questions;
    if (knows_second) return {"10.0.0.2"};
    return {};
  }
};

class AuthenticatorTest : public testing::Test {
 protected:
  Verdict judge(const char* peer, Authenticator::Clock::duration after) {
    return authenticator.judge("t", peer, began + after);
  }

  // Shared with the thread that looks them up.
  const std::shared_ptr<Names> names = std::make_shared<Names>();
  Authenticator authenticator{"t", {"node-1", "node-2"}, [names = names](const std::string& host) {
                                return (*names)(host);
                              }};
  const Authenticator::Clock::time_point began = Authenticator::Clock::now();
};

TEST_F(AuthenticatorTest, AHostWhoseNameIsKnownLateIsLetInLate) {
  EXPECT_EQ(judge(kFirst, 0s), Verdict::kWelcome);
  EXPECT_EQ(judge(kSecond, 0s), Verdict::kNotYet);
  EXPECT_EQ(authenticator.reason(Verdict::kNotYet, kSecond),
            "calls are accepted from node-1, node-2, but it called from 10.0.0.2, which is not yet "
            "known to be one of them: cannot resolve node-2");
  ASSERT_TRUE(soon([&] { return names->questions >= 2; }));
  names->knows_second = true;
  EXPECT_TRUE(soon([&] { return judge(kSecond, 1s) == Verdict::kWelcome; }));
  names->knows_second = false;
  EXPECT_EQ(judge("ipv4:10.0.0.3:4711", 2s), Verdict::kNotYet);
  ASSERT_TRUE(soon([&] { return judge("ipv4:10.0.0.3:4711", 2s) == Verdict::kWrongHost; }));
  EXPECT_EQ(judge(kSecond, 2s), Verdict::kWelcome) << "the resolver may be away";
}

TEST_F(AuthenticatorTest, WhoeverIsNoneOfThemIsRefusedOnceAllAreKnown) {
  constexpr char kThird[] = "ipv4:10.0.0.3:4711";
  EXPECT_EQ(judge(kThird, 0s), Verdict::kNotYet);
  names->knows_second = true;
  EXPECT_TRUE(soon([&] { return judge(kThird, 1s) == Verdict::kWrongHost; }));
  EXPECT_EQ(authenticator.reason(Verdict::kWrongHost, kThird),
            "it is not a host of the job: calls are accepted from node-1, node-2, but it called "
            "from 10.0.0.3; add this host to the lists of the job, or set the same FLT_JOB_TOKEN "
            "on every host");
  EXPECT_EQ(judge(kThird, 10s), Verdict::kNotYet) << "the names may mean others by now";
  EXPECT_EQ(authenticator.judge("x", kThird), Verdict::kNoToken);
}

TEST_F(AuthenticatorTest, NamesAreLookedUpOnceASecondAtMost) {
  EXPECT_EQ(judge(kSecond, 0s), Verdict::kNotYet);
  ASSERT_TRUE(soon([&] { return names->questions >= 2; }));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(judge(kSecond, 999ms), Verdict::kNotYet);
  EXPECT_EQ(names->questions, 2);
}

TEST(Authenticator, NobodyWaitsForTheResolver) {
  std::promise<void> answer;
  std::atomic<int> questions = 0;
  auto until = std::make_shared<std::shared_future<void>>(answer.get_future());
  {
    const Authenticator authenticator("t", {"node-1"}, [&, until](const std::string&) {
      if (++questions == 2) until->wait();
      return std::vector<std::string>();
    });
    EXPECT_EQ(authenticator.judge("t", kFirst), Verdict::kNotYet);
    ASSERT_TRUE(soon([&] { return questions >= 2; }));
    EXPECT_EQ(authenticator.judge("t", kFirst), Verdict::kNotYet);
  }  // nor the end of a server
  answer.set_value();
}

TEST(Authenticator, ABeginningWithoutAResolverIsShort) {
  std::promise<void> answer;
  const std::shared_future<void> until = answer.get_future().share();
  const Stopwatch watch;
  const Authenticator authenticator("t", {"node-1"}, [until](const std::string&) {
    until.wait();
    return std::vector<std::string>{"10.0.0.1"};
  });
  EXPECT_LT(watch.time(), 1s);
  EXPECT_EQ(authenticator.judge("t", kFirst), Verdict::kNotYet);
  answer.set_value();
  EXPECT_TRUE(soon([&] { return authenticator.judge("t", kFirst) == Verdict::kWelcome; }));
}

TEST(Authenticator, AddressesAreNotLookedUpAgain) {
  const Authenticator authenticator("t", {"10.0.0.1", "::1"});
  EXPECT_EQ(authenticator.judge("t", kFirst), Verdict::kWelcome);
  EXPECT_EQ(authenticator.judge("t", "ipv6:[::1]:4711"), Verdict::kWelcome);
  EXPECT_EQ(authenticator.judge("t", kSecond), Verdict::kWrongHost);
}

TEST(Authenticator, AProcessOfAnotherHostHearsFromTheStoreWhatToDo) {
  const StoreServer server({.token = "t", .only_from = {"10.255.255.1"}});
  const StoreClient::Options options{
      .address = server.address(), .token = "t", .self = {.role = "worker"}};
  EXPECT_EQ(refusal_of([&] { StoreClient made(options); }),
            "the store at " + server.address() +
                " refused this process: it is not a host of the job: calls are accepted from "
                "10.255.255.1, but it called from 127.0.0.1; add this host to the lists of the "
                "job, or set the same FLT_JOB_TOKEN on every host");
}

TEST(Authenticator, AProcessWhoseHostIsNotKnownYetComesBack) {
  const StoreServer server({.token = "t", .only_from = {"no-such-host.invalid"}});
  const StoreClient::Options options{.address = server.address(),
                                     .token = "t",
                                     .self = {.role = "worker"},
                                     .outage = Outage{.limit = 2s}};
  EXPECT_THAT(refusal_of([&] { StoreClient made(options); }),
              HasSubstr("does not accept this process yet: calls are accepted from "
                        "no-such-host.invalid, but it called from 127.0.0.1"));
}

}  // namespace
}  // namespace flotilla::rpc
