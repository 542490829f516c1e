#include "flotilla/launch/members.h"

#include <gmock/gmock.h>

namespace flotilla::launch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Happening = rpc::StoreServer::Happening;
using Seen = Members::Seen;

rpc::Member member(const std::string& role, int64_t rank, int64_t step = 0) {
  return {.role = role, .rank = rank, .host = "here", .last = {.step = step}};
}

std::vector<std::string> names(const std::vector<Seen>& seen) {
  std::vector<std::string> names;
  for (const Seen& one : seen) names.push_back(one.name());
  return names;
}

TEST(Members, AreRememberedAfterTheyAreGone) {
  Members members;
  members.note(Happening::kJoined, member("worker", 1));
  members.note(Happening::kJoined, member("launcher", 0));
  members.note(Happening::kJoined, member("server", 0));
  members.note(Happening::kProgress, member("worker", 1, 7));
  members.note(Happening::kLeft, member("worker", 1, 9));
  const std::vector<Seen> all = members.all();
  EXPECT_THAT(names(all), ElementsAre("server 0", "worker 1"));
  EXPECT_EQ(all[1].member.last.step, 9);
  EXPECT_TRUE(all[0].here);
  EXPECT_FALSE(all[1].here);
}

TEST(Members, TheEndOfAnOldAttemptDoesNotHideTheNext) {
  Members members;
  rpc::Member second = member("worker", 0);
  second.attempt = 1;
  members.note(Happening::kJoined, member("worker", 0));
  members.note(Happening::kJoined, second);
  members.note(Happening::kLost, member("worker", 0));
  EXPECT_TRUE(members.all().at(0).here);
}

class Stuck : public testing::Test {
 protected:
  // `silent` seconds without news.
  Seen seen(const std::string& role, int64_t rank, int silent, bool for_others) {
    Seen made{
        .member = member(role, rank), .here = true, .moved = now - std::chrono::seconds(silent)};
    made.member.last.for_others = for_others;
    return made;
  }
  const Members::Clock::time_point now = Members::Clock::now();
};

TEST_F(Stuck, IsTheOneWhoDoesNotMoveAndNotThoseWhoWaitForIt) {
  const std::vector<Seen> all = {seen("server", 0, 99, false), seen("worker", 0, 20, true),
                                 seen("worker", 1, 20, false), seen("worker", 2, 1, false)};
  EXPECT_THAT(names(stuck(all, now, 10)), ElementsAre("worker 1"));
  EXPECT_THAT(stuck(all, now, 30), IsEmpty());
}

TEST_F(Stuck, NobodyWhileTheOneThatOthersWaitForMoves) {
  EXPECT_THAT(stuck({seen("worker", 0, 1, false), seen("worker", 1, 50, true)}, now, 10),
              IsEmpty());
}

TEST_F(Stuck, EverybodyWhereAllWaitForEachOther) {
  EXPECT_THAT(names(stuck({seen("worker", 0, 50, true), seen("worker", 1, 50, true)}, now, 10)),
              ElementsAre("worker 0", "worker 1"));
}

}  // namespace
}  // namespace flotilla::launch
