#include "flotilla/comm/processes.h"

#include <future>
#include <numeric>

#include "flotilla/comm/shm/neighbours.h"
#include "flotilla/comm/suite_testing.h"
#include "flotilla/rpc/store_server.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/ranks.h"

namespace flotilla::testing {
namespace {

using Host = std::function<int(int rank)>;

// Hosts are pretended: all of it runs on this one, and Gloo over its loopback device.
Maker maker(const std::string& name, std::vector<int> sizes, const Host& host) {
  return {.name = name,
          .make = [=](int size) { return process_worlds(size, host); },
          .sizes = std::move(sizes),
          .host = host};
}

int one_host(int) { return 0; }

INSTANTIATE_TEST_SUITE_P(
    Processes, CommSuite,
    ::testing::Values(maker("one_host", {2, 3, 5}, one_host),
                      maker("a_host_each", {2, 3, 5}, [](int rank) { return rank; }),
                      maker("hosts_in_turn", {4, 6},
                            [](int rank) { return (rank + rank / 2) % 2; }),
                      maker("uneven_hosts", {3, 5}, [](int rank) { return rank / 2; })),
    [](const auto& info) { return info.param.name; });

TEST(Processes, LargeMessagesTravelBetweenHostsInPieces) {
  for (const int size : {2, 3}) {
    run_worlds(process_worlds(size, [](int rank) { return rank; }), [](comm::World& world) {
      const int64_t count = 1'300'001;
      std::vector<double> data(static_cast<size_t>(count));
      std::iota(data.begin(), data.end(), world.rank());
      world.ring(0).all_reduce(data.data(), data.data(), count, f64, comm::Reduce::kAverage);
      for (int64_t i = 0; i < count; ++i) {
        const double expected = static_cast<double>(i) + (world.size() - 1) / 2.0;
        ASSERT_EQ(data[static_cast<size_t>(i)], expected);
      }
    });
  }
}

TEST(Processes, TheWaitForTheBoardEndsWithTheJob) {
  rpc::StoreServer server({.token = "t"});
  const auto join = [&](int rank) {
    return std::make_shared<rpc::StoreClient>(
        rpc::StoreClient::Options{.address = server.address(),
                                  .token = "t",
                                  .self = {.role = "worker", .rank = rank, .host = "here"}});
  };
  auto waiting = std::async(std::launch::async, [store = join(1)] {
    return refusal_of([&] { comm::make_processes({.store = store, .rank = 1, .size = 2}); });
  });
  // Rank 0 meets the other and makes no board.
  const auto store = join(0);
  const comm::Neighbours first(*store, "comm/0", 0, 2, 0);
  server.stop("worker 5 was killed by signal 9");
  EXPECT_EQ(waiting.get(), "worker 5 was killed by signal 9");
}

TEST(Processes, MemoryThatWasGivenBackIsForgotten) {
  run_worlds(process_worlds(2, one_host), [](comm::World& world) {
    for (int turn = 0; turn < 300; ++turn) {
      const int64_t count = 20000 + turn;
      const auto buffer = world.allocate(count * 8);
      auto* data = static_cast<double*>(buffer->data());
      for (int64_t i = 0; i < count; ++i) data[i] = static_cast<double>(i + world.rank());
      world.ring(0).all_reduce(data, data, count, f64, comm::Reduce::kSum);
      ASSERT_EQ(data[count - 1], static_cast<double>(2 * count - 1));
    }
  });
}

}  // namespace
}  // namespace flotilla::testing
