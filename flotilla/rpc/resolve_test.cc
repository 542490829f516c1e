#include "flotilla/rpc/resolve.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>

#include "flotilla/testing/patience.h"

namespace flotilla::rpc {
namespace {

using namespace std::chrono_literals;

// A name server that does not answer before the test says so.
class Silent {
 public:
  ~Silent() { answer(); }
  void answer() {
    if (!answered_.exchange(true)) promise_.set_value();
  }
  Resolver resolver() const {
    return [until = until_, left = left_](const HostQuery&) {
      until.wait();
      *left = true;
      return Resolved{.error = EAI_AGAIN};
    };
  }
  bool left() const { return *left_; }

 private:
  std::promise<void> promise_;
  const std::shared_future<void> until_ = promise_.get_future().share();
  const std::shared_ptr<std::atomic<bool>> left_ = std::make_shared<std::atomic<bool>>(false);
  std::atomic<bool> answered_ = false;
};

TEST(Resolve, AWaitForANameEndsWhenItIsToldTo) {
  Silent names;
  int asked = 0;
  const Stopwatch watch;
  const Resolved found = resolve(
      {"node-1"}, [&] { return ++asked == 3; }, names.resolver());
  EXPECT_EQ(found.error, EAI_CANCELED);
  EXPECT_EQ(found.problem(), "is still being looked up");
  EXPECT_EQ(asked, 3);
  EXPECT_LT(watch.time(), 1s);
  EXPECT_FALSE(names.left());
  names.answer();  // nobody is there any more to hear it
  EXPECT_TRUE(soon([&] { return names.left(); }));
}

TEST(Resolve, WhatEndsAWaitMayBeAnException) {
  const Silent names;
  const auto stop = []() -> bool { throw std::runtime_error("Ctrl-C"); };
  EXPECT_THROW(resolve({"node-1"}, stop, names.resolver()), std::runtime_error);
}

TEST(Resolve, AnAnswerIsNotWaitedForLongerThanItTakes) {
  const auto never = [] { return false; };
  EXPECT_TRUE(resolve({"localhost"}, never).ok());
  EXPECT_TRUE(resolve({"localhost"}).ok());
  EXPECT_EQ(resolve({"no host has this name"}, never).problem(),
            "cannot be resolved: Name or service not known");
}

TEST(Resolve, AddressesAreNotLookedUp) {
  const auto at_once = [] { return true; };
  const Silent names;
  for (const char* host : {"10.0.0.1", "::1"}) {
    const Resolved found = resolve({host, "80"}, at_once, names.resolver());
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(numeric_text(found.addresses->ai_addr, found.addresses->ai_addrlen), host);
  }
}

}  // namespace
}  // namespace flotilla::rpc
