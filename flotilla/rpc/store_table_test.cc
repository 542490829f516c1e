#include "flotilla/rpc/store_table.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace flotilla::rpc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A table, and what it answered to the last request.
class StoreTableTest : public testing::Test {
 protected:
  bool hello(ClientId client, int64_t rank, int64_t attempt = 0) {
    Request request;
    request.mutable_hello()->set_role("worker");
    request.mutable_hello()->set_rank(rank);
    request.mutable_hello()->set_host("node");
    request.mutable_hello()->set_pid(100 + rank);
    request.mutable_hello()->set_attempt(attempt);
    return send(client, request);
  }
  bool send(ClientId client, Request& request) {
    out.clear();
    request.set_id(++last_id);
    return table.handle(client, request, out);
  }
  void set(ClientId client, const std::string& key, const std::string& value, bool leased = false) {
    Request request;
    request.mutable_set()->set_key(key);
    request.mutable_set()->set_value(value);
    request.mutable_set()->set_leased(leased);
    send(client, request);
  }
  void get(ClientId client, const std::string& key, bool wait) {
    Request request;
    request.mutable_get()->set_key(key);
    request.mutable_get()->set_wait(wait);
    send(client, request);
  }
  void barrier(ClientId client, const std::string& name, int64_t members) {
    Request request;
    request.mutable_barrier()->set_name(name);
    request.mutable_barrier()->set_members(members);
    send(client, request);
  }
  void add(ClientId client, const std::string& key, int64_t amount) {
    Request request;
    request.mutable_add()->set_key(key);
    request.mutable_add()->set_amount(amount);
    send(client, request);
  }
  std::vector<ClientId> receivers() const {
    std::vector<ClientId> found;
    for (const Outgoing& reply : out) found.push_back(reply.to);
    return found;
  }

  StoreTable table;
  std::vector<Outgoing> out;
  uint64_t last_id = 0;
};

TEST_F(StoreTableTest, AnswersAWaitWhenTheKeyIsSet) {
  hello(1, 0);
  hello(2, 1);
  get(1, "address", true);
  EXPECT_THAT(out, IsEmpty());
  set(2, "address", "here");
  ASSERT_THAT(receivers(), ElementsAre(1, 2));
  EXPECT_EQ(out[0].reply.value(), "here");
  get(2, "address", false);
  EXPECT_TRUE(out[0].reply.found());
  get(2, "other", false);
  EXPECT_FALSE(out[0].reply.found());
}

TEST_F(StoreTableTest, KeepsTheFirstValueWhereItIsToldTo) {
  hello(1, 0);
  for (const char* value : {"first", "second"}) {
    Request request;
    request.mutable_set()->set_key("leader");
    request.mutable_set()->set_value(value);
    request.mutable_set()->set_only_if_absent(true);
    send(1, request);
    EXPECT_EQ(out[0].reply.value(), "first");
  }
}

TEST_F(StoreTableTest, Counts) {
  hello(1, 0);
  add(1, "n", 3);
  EXPECT_EQ(out[0].reply.number(), 3);
  add(1, "n", -5);
  EXPECT_EQ(out[0].reply.number(), -2);
  set(1, "n", "not a number");
  add(1, "n", 1);
  EXPECT_THAT(out[0].reply.error(), HasSubstr("\"n\" does not hold a number"));
  set(1, "n", "9223372036854775807");
  add(1, "n", 1);
  EXPECT_THAT(out[0].reply.error(),
              HasSubstr("does not hold a number, so 1 cannot be added to it"));
}

TEST_F(StoreTableTest, TellsWatchersWhatIsThereAndWhatChanges) {
  hello(1, 0);
  hello(2, 1);
  set(1, "a/1", "x");
  set(1, "b", "y");
  Request request;
  request.mutable_watch()->set_prefix("a/");
  send(2, request);
  ASSERT_THAT(out, SizeIs(2));
  EXPECT_EQ(out[0].reply.key(), "");
  EXPECT_EQ(out[1].reply.key(), "a/1");
  set(1, "a/2", "z");
  EXPECT_THAT(receivers(), ElementsAre(2, 1));
  set(1, "b", "w");
  EXPECT_THAT(receivers(), ElementsAre(1));
  Request erase;
  erase.mutable_erase()->set_prefix("a/");
  send(1, erase);
  ASSERT_THAT(receivers(), ElementsAre(2, 2, 1));
  EXPECT_TRUE(out[0].reply.erased());
}

TEST_F(StoreTableTest, OpensABarrierWhenAllAreThereAndAgainTheNextTime) {
  for (int round = 0; round < 2; ++round) {
    if (round == 0) {
      hello(1, 0);
      hello(2, 1);
    }
    barrier(1, "start", 2);
    EXPECT_THAT(out, IsEmpty());
    barrier(2, "start", 2);
    EXPECT_THAT(receivers(), ElementsAre(1, 2));
    EXPECT_EQ(out[0].reply.error(), "");
  }
  barrier(1, "start", 2);
  barrier(2, "start", 3);
  EXPECT_THAT(out[0].reply.error(), HasSubstr("expects 3 members at the barrier \"start\""));
}

TEST_F(StoreTableTest, FailsABarrierWhoseMemberGoesAway) {
  hello(1, 0);
  hello(2, 1);
  barrier(1, "start", 3);
  barrier(2, "start", 3);
  out.clear();
  EXPECT_THAT(table.gone(2, out), SizeIs(1));
  ASSERT_THAT(receivers(), ElementsAre(1));
  EXPECT_THAT(out[0].reply.error(), HasSubstr("worker 1 (pid 101 on node) left while it waited"));
}

TEST_F(StoreTableTest, ForgetsALeaseWithItsClient) {
  hello(1, 0);
  hello(2, 1);
  set(1, "alive/0", "yes", true);
  set(1, "kept", "yes");
  table.gone(1, out);
  get(2, "alive/0", false);
  EXPECT_FALSE(out[0].reply.found());
  get(2, "kept", false);
  EXPECT_TRUE(out[0].reply.found());
}

TEST_F(StoreTableTest, NamesALossButNotADeparture) {
  hello(1, 0);
  hello(2, 1);
  Request leave;
  leave.mutable_leave();
  send(1, leave);
  EXPECT_THAT(table.gone(1, out), IsEmpty());
  const std::vector<Member> lost = table.gone(2, out);
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].rank, 1);
}

TEST_F(StoreTableTest, RefusesASecondCopyOfARankByName) {
  EXPECT_TRUE(hello(1, 0));
  EXPECT_FALSE(hello(2, 0));
  EXPECT_THAT(out[0].reply.error(),
              HasSubstr("worker 0 (pid 100 on node) has already joined this job"));
  EXPECT_TRUE(hello(3, 0, 1)) << "a later attempt takes the place";
}

TEST_F(StoreTableTest, RefusesWhoDoesNotSayWhoItIs) {
  Request request;
  request.mutable_get()->set_key("k");
  EXPECT_FALSE(send(1, request));
  EXPECT_THAT(out[0].reply.error(), HasSubstr("must identify its sender"));
}

TEST_F(StoreTableTest, RefusesWhatIsTooLongAndGoesOn) {
  hello(1, 0);
  set(1, std::string(5000, 'k'), "v");
  EXPECT_THAT(out[0].reply.error(), HasSubstr("may have at most 4096 bytes, but has 5000"));
  set(1, "", "v");
  EXPECT_THAT(out[0].reply.error(), HasSubstr("must not be empty"));
  Request empty;
  EXPECT_TRUE(send(1, empty));
  EXPECT_THAT(out[0].reply.error(), HasSubstr("the store does not know this request"));
  set(1, "k", "v");
  EXPECT_EQ(out[0].reply.error(), "");
}

TEST_F(StoreTableTest, TellsEveryoneWhyTheJobStopsAlsoThoseWhoComeLater) {
  hello(1, 0);
  table.stop("worker 1 was killed", out);
  table.stop("a later reason", out);
  out.clear();
  hello(2, 1);
  EXPECT_EQ(out[0].reply.stop(), "worker 1 was killed");
}

TEST_F(StoreTableTest, RemembersWhatAMemberReported) {
  hello(1, 0);
  Request request;
  request.mutable_progress()->set_step(12);
  request.mutable_progress()->set_doing("all-reduce of bucket 3");
  (*request.mutable_progress()->mutable_seconds())["input"] = 0.5;
  send(1, request);
  EXPECT_THAT(out, IsEmpty());
  const Member member = table.members().at(0);
  EXPECT_EQ(member.last.step, 12);
  EXPECT_EQ(member.last.doing, "all-reduce of bucket 3");
  EXPECT_EQ(member.last.seconds.at("input"), 0.5);
}

}  // namespace
}  // namespace flotilla::rpc
