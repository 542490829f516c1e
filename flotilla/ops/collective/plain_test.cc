#include "flotilla/op/build.h"
#include "flotilla/testing/programs.h"
#include "flotilla/testing/rank_ops.h"

namespace flotilla {
namespace {

using testing::on_ranks;

// Two rows of `columns`: 1, 2, … on rank 0, 10 times that on rank 1.
Inputs rows(int rank, int64_t columns = 1) {
  std::vector<double> values;
  for (int64_t i = 1; i <= 2 * columns; ++i) values.push_back(rank == 0 ? i : 10. * i);
  return {{"x", from_values(values, {2, columns}, f32)}};
}

std::vector<OpResult> on_two(const char* type, Attrs attrs, int64_t columns = 1) {
  return on_ranks(
      2, [=](int rank) { return rows(rank, columns); }, type, std::move(attrs));
}

TEST(PlainCollectives, DoAsTheirNamesSay) {
  for (const OpResult& result : on_two("all_gather", {{"nranks", 2}})) {
    EXPECT_THAT(result.at("out"), equal_to({1, 2, 10, 20}));
  }
  for (const OpResult& result : on_two("dist_concat", {{"nranks", 2}}, 2)) {
    EXPECT_THAT(result.at("out"), equal_to(tensor({{1, 2, 10, 20}, {3, 4, 30, 40}})));
  }
  const auto parts = on_two("reduce_scatter", {{"nranks", 2}});
  EXPECT_THAT(parts[0].at("out"), equal_to({11}));
  EXPECT_THAT(parts[1].at("out"), equal_to({22}));
  const auto swapped = on_two("all_to_all", {});
  EXPECT_THAT(swapped[0].at("out"), equal_to({1, 10}));
  EXPECT_THAT(swapped[1].at("out"), equal_to({2, 20}));
}

TEST(PlainCollectives, ReduceByNumber) {
  const std::vector<std::vector<double>> expected = {{11, 22}, {10, 20}, {1, 2}, {10, 40}};
  for (int type = 0; type < 4; ++type) {
    const auto all = on_two("all_reduce", {{"reduce_type", type}});
    const auto one = on_two("reduce", {{"reduce_type", type}, {"root_id", 1}});
    for (const OpResult& result : {all[0], all[1], one[1]}) {
      EXPECT_THAT(result.at("out"), equal_to(expected[static_cast<size_t>(type)]));
    }
    EXPECT_THAT(one[0].at("out"), equal_to({1, 2}));
  }
}

TEST(PlainCollectives, Refusals) {
  EXPECT_REFUSED(
      run_op("all_reduce", rows(0), {{"reduce_type", 4}}),
      "reduce_type is 0 (sum), 1 (largest), 2 (smallest) or 3 (product), but 4 was given");
  EXPECT_REFUSED(run_op("all_gather", rows(0), {{"nranks", 2}}),
                 "c_allgather of 2 ranks was asked for, but this process is alone");
  EXPECT_REFUSED(build_op("all_reduce", {{"x", sparse({1}, tensor({{1, 2}}), 2)}}),
                 "all_reduce takes a tensor, but x is a selected_rows");
}

}  // namespace
}  // namespace flotilla
