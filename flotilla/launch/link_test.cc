#include "flotilla/launch/link.h"

#include <gmock/gmock.h>

#include <thread>

#include "flotilla/base/error.h"
#include "flotilla/rpc/store_server.h"

namespace flotilla::launch {
namespace {

using namespace std::chrono_literals;

// What all_joined() refuses with, as soon as it does.
std::string refusal_of(Link& link) {
  for (int i = 0; i < 2000; ++i) {
    try {
      link.all_joined();
    } catch (const Error& error) {
      return error.sentence();
    }
    std::this_thread::sleep_for(5ms);
  }
  return "it did not refuse";
}

TEST(LinkTest, AHostThatRefusesAndGoesIsHeardByOneThatNeverSawIt) {
  rpc::StoreServer server({.token = "secret"});
  const auto options = [&](int64_t self, const std::string& plan) {
    return Link::Options{.hosts = {"a", "b"},
                         .self = self,
                         .store = server.address(),
                         .token = "secret",
                         .plan = plan};
  };
  Link first(options(0, "one worker"));
  ASSERT_TRUE(first.connect());
  {
    Link second(options(1, "two workers"));
    ASSERT_TRUE(second.connect());
    EXPECT_THAT(refusal_of(second), testing::HasSubstr("host a means another job than host b"));
  }
  for (int i = 0; i < 2000 && first.missing().empty(); ++i) std::this_thread::sleep_for(5ms);
  EXPECT_THAT(first.missing(), testing::ElementsAre("b"));
  EXPECT_THAT(refusal_of(first), testing::HasSubstr("host a means another job than host b"));
}

}  // namespace
}  // namespace flotilla::launch
