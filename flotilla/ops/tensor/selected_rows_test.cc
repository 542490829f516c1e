#include <gtest/gtest.h>

#include "flotilla/testing/run_op.h"
#include "flotilla/testing/tensors.h"

namespace flotilla {
namespace {

const SelectedRows& rows_1_3_1() {
  static const SelectedRows made = sparse({1, 3, 1}, tensor({{1, 2}, {3, 4}, {5, 6}}), 4);
  return made;
}

TEST(MergeSelectedRows, AddsUpRowsThatRepeat) {
  EXPECT_THAT(run_op("merge_selected_rows", {{"X", rows_1_3_1()}}).at("Out"),
              equal_to(tensor({{0, 0}, {6, 8}, {0, 0}, {3, 4}})));
}

TEST(MergeSelectedRows, RefusesATensor) {
  EXPECT_REFUSED(build_op("merge_selected_rows", {{"X", tensor({1, 2})}}),
                 "merge_selected_rows takes sparse rows, but X is a tensor of shape [2]");
}

TEST(GetTensorFromSelectedRows, TakesTheValues) {
  EXPECT_THAT(run_op("get_tensor_from_selected_rows", {{"X", rows_1_3_1()}}).at("Out"),
              equal_to(tensor({{1, 2}, {3, 4}, {5, 6}})));
}

}  // namespace
}  // namespace flotilla
