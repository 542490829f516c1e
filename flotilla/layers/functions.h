// flotilla/layers/functions.h
//
// Functions of variables without parameters of their own: activations, shapes, arithmetic, losses
// and metrics. Those that Python calls with more options than C++ needs go through op() (op.h).

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "flotilla/layers/op.h"

namespace flotilla::layers {

// ---- activations and shapes

inline Variable relu(Variable x) { return op("relu", {{"X", x}}); }
inline Variable sigmoid(Variable x) { return op("sigmoid", {{"X", x}}); }
inline Variable tanh(Variable x) { return op("tanh", {{"X", x}}); }
inline Variable sqrt(Variable x) { return op("sqrt", {{"X", x}}); }
inline Variable square(Variable x) { return op("square", {{"X", x}}); }
inline Variable abs(Variable x) { return op("abs", {{"X", x}}); }
inline Variable softmax(Variable x, int64_t axis = -1) {
  return op("softmax", {{"X", x}}, {{"axis", axis}});
}
// Its logarithm in two ops, as 1.8 writes it.
inline Variable log_of_softmax(Variable x, int64_t axis = -1, const std::string& name = {}) {
  return op("log", {{"X", softmax(x, axis)}}, {}, {.name = name});
}
inline Variable concat(const Variables& x, int64_t axis = 0) {
  return op("concat", {{"X", x}}, {{"axis", axis}});
}
inline Variable matmul(Variable x, Variable y, bool trans_x = false, bool trans_y = false) {
  return op("matmul_v2", {{"X", x}, {"Y", y}}, {{"trans_x", trans_x}, {"trans_y", trans_y}});
}
inline Variable assign(Variable x) { return op("assign", {{"X", x}}); }
inline Variable shape(Variable x) { return op("shape", {{"Input", x}}); }

// 0 copies an extent of x; one -1 is worked out.
Variable reshape(Variable x, const std::vector<int64_t>& shape, const std::string& act = {});
Variable cast(Variable x, DType dtype);
// A tensor of one value. Extents may be variables: full({shape(x)[0], 1}, 1.0).
Variable full(const std::vector<Operand>& shape, double value, DType dtype = f32);

struct ElementwiseOptions {
  // Where the axes of Y stand in X; -1: at the end.
  int64_t axis = -1;
  std::string act = {};
  std::string name = {};
};
// `type`: elementwise_add, elementwise_max, ...
Variable elementwise(const std::string& type, Variable x, Variable y,
                     const ElementwiseOptions& options = {});
inline Variable add(Variable x, Variable y, const std::string& act = {}) {
  return elementwise("elementwise_add", x, y, {.act = act});
}

struct ReduceOptions {
  std::vector<int64_t> axes = {};  // none: all
  bool keep_dim = false;
  std::string name = {};
  std::string layer = {};  // what variables are named after: mean_0.tmp_0
  bool v1 = false;         // `dim` as 1.8 reads it: never empty
};
// `type`: reduce_sum, reduce_mean, reduce_max, ...
Variable reduce(const std::string& type, Variable x, const ReduceOptions& options = {});
inline Variable sum(Variable x) { return reduce("reduce_sum", x, {.layer = "sum"}); }
inline Variable mean(Variable x) { return reduce("reduce_mean", x, {.layer = "mean"}); }

// Rows whose first two numbers say how often something was shown and clicked: with `use_cvm` these
// become log(shown + 1) and log(clicked + 1) - log(shown + 1), else they are cut off. Training
// leaves them as they are.
Variable continuous_value_model(Variable x, bool use_cvm = true);

// A whole number that counts the runs of the program, one counter for each name: begin - 1 + step
// in the first run.
Variable autoincreased_step_counter(const std::string& name = "@STEP_COUNTER@", int64_t begin = 1,
                                    int64_t step = 1);

// ---- losses

struct CrossEntropyOptions {
  bool soft_label = false;  // a probability for each class instead of one class
  int64_t ignore_index = -100;
};
// -log of the probability of the label, row by row. `x` holds probabilities.
Variable cross_entropy(Variable x, Variable label, const CrossEntropyOptions& options = {});

struct SoftmaxWithCrossEntropyOptions {
  bool soft_label = false;
  int64_t ignore_index = -100;
  bool numeric_stable_mode = true;
  int64_t axis = -1;
  bool use_softmax = true;
};
struct LossAndSoftmax {
  Variable loss;
  Variable probabilities;
};
// The same of logits.
LossAndSoftmax softmax_with_cross_entropy(Variable logits, Variable label,
                                          const SoftmaxWithCrossEntropyOptions& options = {});
// (x - label)^2, not reduced.
Variable square_error_cost(Variable x, Variable label);
inline Variable log_loss(Variable x, Variable label, float epsilon = 1e-4f) {
  return op("log_loss", {{"Predicted", x}, {"Labels", label}}, {{"epsilon", epsilon}}, {});
}

// ---- metrics

struct AccuracyOptions {
  int64_t k = 1;
  // What is counted goes to these variables instead of fresh ones.
  std::string correct = {};
  std::string total = {};
  std::string top_k = "top_k_v2";  // or top_k of 1.x, with variables of its own name
  std::string name = {};
};
// The share of rows whose label is among their k largest values.
Variable accuracy(Variable x, Variable label, const AccuracyOptions& options = {});

struct AucOptions {
  std::string curve = "ROC";
  int64_t num_thresholds = 4095;
  int64_t slide_steps = 1;  // batches that the batch value looks back on
};
struct Auc {
  Variable auc;        // over all batches so far
  Variable batch_auc;  // over the last `slide_steps`
  Variables stats;     // hits and misses by threshold: batch, batch, all, all
};
// The area under the curve of column 1 of `x`. The counts live in the scope, from run to run.
Auc auc(Variable x, Variable label, const AucOptions& options = {});

}  // namespace flotilla::layers
