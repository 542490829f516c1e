#include "flotilla/comm/threads/threads.h"

#include "flotilla/comm/suite_testing.h"

namespace flotilla::testing {

INSTANTIATE_TEST_SUITE_P(Threads, CommSuite,
                         ::testing::Values(Maker{"threads", comm::make_threads}));

TEST(Alone, IsAGroupOfOne) {
  const auto world = comm::make_alone();
  const float in[2] = {3, 4};
  float out[2] = {};
  world->ring(0).all_reduce(in, out, 2, f32, comm::Reduce::kAverage);
  EXPECT_EQ(out[1], 4);
  world->ring(0).barrier();
  EXPECT_EQ(world->exchange().all_gather("x"), std::vector<std::string>{"x"});
}

}  // namespace flotilla::testing
