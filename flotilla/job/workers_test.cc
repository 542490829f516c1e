#include "flotilla/job/workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "flotilla/base/error.h"
#include "flotilla/rpc/store_server.h"

namespace flotilla::job {
namespace {

using ::testing::HasSubstr;

fleet::Role role_of(int64_t rank, int64_t size) {
  return {.collective = true, .index = rank, .workers = size};
}

TEST(Workers, OneNeedsNobody) {
  Workers workers(role_of(0, 1), nullptr);
  workers.world().ring(0).barrier();
  EXPECT_EQ(workers.world().size(), 1);
}

TEST(Workers, CompanyNeedsAStore) { EXPECT_THROW(Workers(role_of(0, 2), nullptr), Error); }

// Two workers of a job as threads; the body runs once they have met.
class Pair : public ::testing::Test {
 protected:
  void run(const std::function<void(Workers&)>& body) {
    std::array<Progress, 2> progress;
    for (size_t rank : {0, 1}) {
      for (int step = 0; step < steps_[rank]; ++step) progress[rank].step_done();
    }
    std::vector<std::thread> threads;
    for (int64_t rank : {0, 1}) {
      threads.emplace_back([&, rank] {
        Membership membership({.address = server_.address(),
                               .token = "t",
                               .self = {.role = "worker", .rank = rank, .host = "here"},
                               .progress = &progress[static_cast<size_t>(rank)]});
        Workers workers(role_of(rank, 2), &membership);
        body(workers);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  std::array<int, 2> steps_ = {};  // that each has done
  rpc::StoreServer server_{{.token = "t"}};
};

TEST_F(Pair, MeetsThroughTheStore) {
  run([](Workers& workers) {
    int64_t sum = workers.world().rank() + 1;
    workers.world().ring(0).all_reduce(&sum, &sum, 1, i64, comm::Reduce::kSum);
    EXPECT_EQ(sum, 3);
  });
}

TEST_F(Pair, TheFirstIsWaitedForAndWaitsForNobody) {
  std::atomic<int> written = 0;
  run([&](Workers& workers) {
    if (workers.world().rank() == 0) {
      for (const int count : {1, 2}) {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        written = count;
        workers.first_is_done();
      }
      return;  // it has left when the other waits once more
    }
    for (const int count : {1, 2}) {
      workers.wait_for_first();
      EXPECT_GE(written, count);
    }
    workers.wait_for_first();
  });
}

TEST_F(Pair, AWorkerThatHasEndedIsNamedWithItsSteps) {
  steps_ = {3, 4};
  run([&](Workers& workers) {
    workers.world().ring(0).barrier();
    if (workers.world().rank() == 0) return workers.leave(false);
    try {
      workers.world().ring(0).barrier();
      ADD_FAILURE() << "nobody was there";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
      EXPECT_THAT(error.what(), HasSubstr("worker 0 ended after 3 steps while worker 1 was in step "
                                          "5: all workers must run the same number of steps"));
    }
  });
}

TEST_F(Pair, WaitsEndWhenTheJobStops) {
  std::thread stopper;
  run([&](Workers& workers) {
    workers.world().ring(0).barrier();
    if (workers.world().rank() == 1) {
      stopper = std::thread([&] { server_.stop("worker 5 was killed by signal 9"); });
    }
    try {
      for (;;) {
        workers.world().ring(0).barrier();
        if (workers.world().rank() == 1) std::this_thread::yield();
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
      EXPECT_THAT(error.what(), HasSubstr("worker 5 was killed by signal 9"));
    }
  });
  stopper.join();
}

}  // namespace
}  // namespace flotilla::job
