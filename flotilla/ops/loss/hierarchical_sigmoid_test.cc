#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

Inputs tree(int64_t nodes) {
  return {{"X", uniform({3, 4}, -1, 1)},
          {"W", uniform({nodes, 4}, -1, 1, 2)},
          {"Label", ints({1, 4, 0}, Shape{3, 1})},
          {"Bias", uniform({nodes, 1}, -1, 1, 3)}};
}

Inputs with_paths(Inputs inputs) {
  inputs.emplace("PathTable", ints({0, 1, -1, 0, 2, 3, 0, -1, -1}, Shape{3, 3}));
  inputs.emplace("PathCode", ints({1, 0, -1, 0, 1, 1, 1, -1, -1}, Shape{3, 3}));
  return inputs;
}

TEST(HierarchicalSigmoid, AllKernelsAgree) {
  const Attrs attrs = {{"num_classes", 6}};
  check_op({.type = "hierarchical_sigmoid", .inputs = tree(5), .attrs = attrs});
  check_op({.type = "hierarchical_sigmoid", .inputs = with_paths(tree(6)), .attrs = attrs});
}

TEST(HierarchicalSigmoid, SparseRowsAddUpToTheDenseGradient) {
  Inputs inputs = with_paths(tree(6));
  inputs.emplace("PreOut", uniform({3, 3}, 0.1, 1, 4));
  inputs.emplace("Out@GRAD", tensor({1, 2, 3}, Shape{3, 1}));
  const OpOptions both = {.outputs = {{"W@GRAD", 1}, {"Bias@GRAD", 1}}};
  const OpResult dense = run_op("hierarchical_sigmoid_grad", inputs, {{"num_classes", 6}}, both);
  const OpResult sparse =
      run_op("hierarchical_sigmoid_grad", inputs, {{"num_classes", 6}, {"is_sparse", true}}, both);
  for (const char* slot : {"W@GRAD", "Bias@GRAD"}) {
    EXPECT_THAT(sparse.at(slot), near(dense.at(slot), 1e-6)) << slot;
  }
}

TEST(HierarchicalSigmoid, Refusals) {
  EXPECT_REFUSED(build_op("hierarchical_sigmoid", tree(5), {{"num_classes", 7}}),
                 "W must have 6 rows, but has shape [5, 4]");
  Inputs half = tree(5);
  half.emplace("PathTable", ints({0, 1, 2}, Shape{3, 1}));
  EXPECT_REFUSED(build_op("hierarchical_sigmoid", half, {{"num_classes", 6}}),
                 "PathTable and PathCode must both be there, or none of them");
  EXPECT_REFUSED(run_op("hierarchical_sigmoid", with_paths(tree(3)), {{"num_classes", 3}}),
                 "the path of sample 1 has node 3, but W has 3 rows");
}

}  // namespace
}  // namespace flotilla
