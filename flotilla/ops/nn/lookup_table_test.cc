#include <gmock/gmock.h>

#include "flotilla/testing/check_op.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

const Tensor kTable = tensor({{1, 2}, {3, 4}, {5, 6}});

TEST(LookupTable, KnownValuesAndPadding) {
  const Inputs inputs = {{"W", kTable}, {"Ids", ints({2, 0, 2})}};
  EXPECT_THAT(run_op("lookup_table_v2", inputs).at("Out"), near({5, 6, 1, 2, 5, 6}, 0));
  EXPECT_THAT(run_op("lookup_table_v2", inputs, {{"padding_idx", int64_t{2}}}).at("Out"),
              near({0, 0, 1, 2, 0, 0}, 0));
}

TEST(LookupTable, TheOlderOpDropsTheLastAxisOfIds) {
  const Inputs inputs = {{"W", kTable}, {"Ids", ints({2, 0}, {2, 1})}};
  EXPECT_EQ(run_op("lookup_table", inputs).at("Out").shape(), Shape({2, 2}));
  EXPECT_EQ(run_op("lookup_table_v2", inputs).at("Out").shape(), Shape({2, 1, 2}));
}

TEST(LookupTable, AllKernelsAgreeDenseAndSparse) {
  for (const bool sparse : {false, true}) {
    for (const int64_t padding : {-1, 1}) {
      for (const DType ids : {i64, i32}) {
        check_op(
            {.type = "lookup_table_v2",
             .inputs = {{"W", uniform({5, 3}, -1, 1)}, {"Ids", ints({4, 1, 1, 0}, {2, 2}, ids)}},
             .attrs = {{"is_sparse", sparse}, {"padding_idx", padding}}});
      }
    }
  }
}

TEST(LookupTable, RefusesAnIdOutsideTheTable) {
  EXPECT_REFUSED(run_op("lookup_table_v2", {{"W", kTable}, {"Ids", ints({3})}}),
                 "the id 3 lies outside a table of 3 rows");
}

}  // namespace
}  // namespace flotilla
