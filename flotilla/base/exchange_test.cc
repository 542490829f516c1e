#include "flotilla/base/exchange.h"

#include <gmock/gmock.h>

#include "flotilla/base/error.h"
#include "flotilla/testing/ranks.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;

TEST(Exchange, OneMemberAgreesWithItself) {
  Alone alone;
  EXPECT_EQ(alone.rank(), 0);
  EXPECT_EQ(alone.size(), 1);
  EXPECT_THAT(alone.all_gather("a"), ElementsAre("a"));
  EXPECT_THAT(alone.all_to_all({"b"}), ElementsAre("b"));
  EXPECT_EQ(sum_of(alone, 5), 5);
  EXPECT_TRUE(all_of(alone, true));
  EXPECT_FALSE(all_of(alone, false));
  EXPECT_THROW(alone.all_to_all({"a", "b"}), Error);
}

TEST(Exchange, AnAbortEndsEveryLaterCall) {
  Alone alone;
  alone.abort("rank 3 left");
  alone.abort("later");
  try {
    alone.all_gather("a");
    FAIL() << "all_gather() gave no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
    EXPECT_STREQ(error.what(), "rank 3 left");
  }
}

TEST(Exchange, SeveralMembersGetWhatEachGave) {
  testing::run_ranks(3, [](comm::World& world) {
    Exchange& exchange = world.exchange();
    for (int64_t round = 0; round < 50; ++round) {
      EXPECT_THAT(gather_numbers(exchange, exchange.rank() + round),
                  ElementsAre(round, round + 1, round + 2));
      const std::string me = std::to_string(exchange.rank());
      EXPECT_THAT(exchange.all_to_all({me + "0", me + "1", me + "2"}),
                  ElementsAre("0" + me, "1" + me, "2" + me));
      EXPECT_FALSE(all_of(exchange, exchange.rank() != 1));
    }
  });
}

TEST(Exchange, AMemberThatFailsEndsTheWaitOfTheOthers) {
  const auto body = [](comm::World& world) {
    require(world.rank() != 1, "no");
    sum_of(world.exchange(), 1);
  };
  EXPECT_THROW(testing::run_ranks(3, body), Error);
}

}  // namespace
}  // namespace flotilla
