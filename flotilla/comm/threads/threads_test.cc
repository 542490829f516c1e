#include "flotilla/comm/threads/threads.h"

#include "flotilla/base/error.h"
#include "flotilla/comm/suite_testing.h"
#include "flotilla/testing/ranks.h"

namespace flotilla::testing {

INSTANTIATE_TEST_SUITE_P(Threads, CommSuite,
                         ::testing::Values(Maker{"threads", comm::make_threads}));

std::string refusal_of_rank(int rank, const std::function<void(comm::World&)>& body) {
  std::string heard;
  EXPECT_THROW(run_ranks(2,
                         [&](comm::World& world) {
                           try {
                             body(world);
                           } catch (const Error& error) {
                             if (world.rank() == rank) heard = error.sentence();
                             throw;
                           }
                         }),
               Error);
  return heard;
}

TEST(Threads, AnotherCallIsNamed) {
  float data[4] = {};
  EXPECT_EQ(refusal_of_rank(0,
                            [&](comm::World& world) {
                              if (world.rank() == 0) return world.ring(0).barrier();
                              float mine[4] = {};
                              world.ring(0).all_reduce(mine, mine, 4, f32, comm::Reduce::kSum);
                            }),
            "rank 0 calls barrier, but rank 1 all_reduce of 16 bytes f32 (sum): all members of a "
            "group must make the same calls with the same lengths and types, in the same order");
  EXPECT_EQ(refusal_of_rank(1,
                            [&](comm::World& world) {
                              if (world.rank() == 0) return world.ring(0).send(data, 4, f32, 1);
                              float mine[2] = {};
                              world.ring(0).recv(mine, 2, f32, 0);
                            }),
            "rank 0 calls send of 16 bytes f32, but rank 1 recv of 8 bytes f32: all members of a "
            "group must make the same calls with the same lengths and types, in the same order");
}

TEST(Element, IsNamedAsItsType) {
  EXPECT_EQ(comm::Element(f32).text(), "f32");
  EXPECT_EQ(comm::Element(bf16).text(), "bf16");
  EXPECT_EQ(comm::Element(boolean).text(), "bool");
  EXPECT_EQ(comm::Element(u8).text(), "u8");
  EXPECT_EQ(comm::Element(u8), comm::kBytes);
  EXPECT_EQ(comm::Element(i64).text(), "i64");
  EXPECT_EQ(comm::Element('c', 8).text(), "c64");
}

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
