#include "flotilla/launch/link.h"

#include <gmock/gmock.h>

#include "flotilla/base/error.h"
#include "flotilla/rpc/store_server.h"
#include "flotilla/testing/patience.h"

namespace flotilla::launch {
namespace {

// What all_joined() refuses with, as soon as it does.
std::string refusal_of(Link& link) {
  std::string sentence;
  EXPECT_TRUE(soon([&] {
    try {
      link.all_joined();
    } catch (const Error& error) {
      sentence = error.sentence();
    }
    return !sentence.empty();
  }));
  return sentence;
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
    EXPECT_THAT(refusal_of(second),
                testing::HasSubstr("host a starts a different job than host b"));
  }
  EXPECT_TRUE(soon([&] { return !first.missing().empty(); }));
  EXPECT_THAT(first.missing(), testing::ElementsAre("b"));
  EXPECT_THAT(refusal_of(first), testing::HasSubstr("host a starts a different job than host b"));
}

}  // namespace
}  // namespace flotilla::launch
