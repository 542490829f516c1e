// flotilla/ops/metric/accuracy.cc
//
// accuracy: the share of rows of Indices (the best classes of each sample) that hold the label.

#include "flotilla/ops/common/labels.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape& indices = c.in("Indices").shape;
  require(indices.rank() == 2, "Indices must have rank 2, but has shape {}", indices);
  check_labels(c, "Indices");
  check_row_labels(c, "Indices");
  c.out("Accuracy") = VarMeta::tensor(f32, {1});
  c.out("Correct") = c.out("Total") = VarMeta::tensor(i32, {1});
}

Step prepare(PrepareContext& c) {
  const int64_t rows = c.shape("Indices")[0], k = c.shape("Indices")[1];
  return [=, indices = LabelsIn(c, "Indices"), labels = LabelsIn(c, "Label"),
          accuracy = c.out<float>("Accuracy"), correct = c.out<int32_t>("Correct"),
          total = c.out<int32_t>("Total")] {
    int32_t hits = 0;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t label = labels[r];
      require(label >= 0, "label {} is {}, but must not be negative", r, label);
      bool hit = false;
      for (int64_t i = 0; i < k; ++i) hit |= indices[r * k + i] == label;
      hits += hit;
    }
    *correct.data() = hits;
    *total.data() = static_cast<int32_t>(rows);
    *accuracy.data() = rows == 0 ? 0.0f : static_cast<float>(hits) / static_cast<float>(rows);
  };
}

const OpDef& accuracy = define_op({
    .type = "accuracy",
    .doc = "The share of samples whose label is among the best classes.",
    .inputs = {{.name = "Out", .doc = "the largest values, from top_k", .shape_only = true},
               {"Indices", "their classes, [samples, k]"},
               {"Label", "class numbers, one for each sample"}},
    .outputs = {{"Accuracy", "one f32"}, {"Correct", "one i32"}, {"Total", "one i32"}},
    .infer = infer,
    .kernels = {{kCpu, f32, prepare}, {kCpu, f64, prepare}},
});

}  // namespace
}  // namespace flotilla::ops
