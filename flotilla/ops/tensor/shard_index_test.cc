#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

TEST(ShardIndex, PlacesWithinAShard) {
  const Tensor ids = ints({0, 3, 5, 9}, Shape{4, 1});
  const auto places = [&](int shard) {
    return run_op("shard_index", {{"X", ids}},
                  {{"index_num", 10}, {"nshards", 3}, {"shard_id", shard}, {"ignore_value", -7}})
        .at("Out");
  };
  EXPECT_THAT(places(0), equal_to(ints({0, 3, -7, -7}, Shape{4, 1})));
  EXPECT_THAT(places(1), equal_to(ints({-7, -7, 1, -7}, Shape{4, 1})));
  EXPECT_THAT(places(2), equal_to(ints({-7, -7, -7, 1}, Shape{4, 1})));
  EXPECT_REFUSED(places(3), "shard_id must lie in [0, 3), but is 3");
  const Attrs few = {{"index_num", 9}, {"nshards", 3}, {"shard_id", 0}};
  EXPECT_REFUSED(run_op("shard_index", {{"X", ids}}, few),
                 "an id must lie in [0, 9), but the one at place 3 is 9");
}

}  // namespace
}  // namespace flotilla
