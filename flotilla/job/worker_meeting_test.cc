#include "flotilla/job/worker_meeting.h"

#include <gmock/gmock.h>

#include <future>
#include <memory>

#include "flotilla/rpc/store_server.h"

namespace flotilla::job {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

// A worker of two.
struct Worker {
  Worker(const rpc::StoreServer& store, int rank, int64_t attempt = 0)
      : membership({.address = store.address(),
                    .token = "secret",
                    .self = {.role = "worker",
                             .rank = rank,
                             .host = "here",
                             .pid = rank,
                             .attempt = attempt}}),
        job_state(membership),
        meeting(membership, job_state, rank, 2) {}

  Membership membership;
  JobState job_state;
  WorkerMeeting meeting;
};

class WorkerMeetingTest : public testing::Test {
 protected:
  rpc::StoreServer store{{.token = "secret"}};
};

TEST_F(WorkerMeetingTest, NobodyReturnsBeforeAllWhoCameHaveCalled) {
  Worker first(store, 0), second(store, 1);
  std::promise<void> open;
  auto slow = std::async(std::launch::async,
                         [&] { second.meeting.barrier([&] { open.get_future().wait(); }); });
  auto quick = std::async(std::launch::async, [&] { first.meeting.barrier([] {}); });
  EXPECT_EQ(quick.wait_for(200ms), std::future_status::timeout);
  open.set_value();
  quick.get();
  slow.get();
}

// The one that was started again trains, and may wait in a round for those in the meeting.
TEST_F(WorkerMeetingTest, WhoeverIsStartedAgainInItsMiddleIsNoPartOfIt) {
  Worker first(store, 0);
  auto second = std::make_unique<Worker>(store, 1);
  auto before = std::async(std::launch::async, [&] { second->meeting.barrier([] {}); });
  first.meeting.barrier([] {});
  before.get();
  second->membership.abandon("it was killed");
  second = nullptr;
  for (int64_t attempt : {1, 2}) {
    first.meeting.barrier([&] { second = std::make_unique<Worker>(store, 1, attempt); });
    second->membership.abandon("it was killed");
    second = nullptr;
  }
  const auto all =
      first.meeting.gather("one", [&] { second = std::make_unique<Worker>(store, 1, 3); });
  EXPECT_THAT(all, ElementsAre("one", std::nullopt));
}

}  // namespace
}  // namespace flotilla::job
