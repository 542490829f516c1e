// Gradients of small models of real operators, against finite differences.

#include <cmath>

#include "flotilla/autodiff/backward.h"
#include "flotilla/testing/programs.h"

namespace flotilla {
namespace {

struct Model {
  std::string program = {};
  std::vector<Feed> feeds = {};
  std::vector<Feed> parameters = {};
};

double loss_of(const Program& program, const Model& model, const std::vector<Feed>& parameters) {
  return values_of(run_program(program, model.feeds, {"loss"}, parameters).front()).front();
}

// Moves each element of each parameter.
void check_model(const Model& model) {
  const auto program = build(model.program);
  const auto forward = program->clone();
  const auto pairs = append_backward(program->global_block().var("loss"));
  EXPECT_EQ(pairs.size(), model.parameters.size());
  for (const ParamGrad& pair : pairs) {
    const std::vector<double> gradient =
        values_of(run_program(*program, model.feeds, {pair.grad}, model.parameters).front());
    std::vector<Feed> moved = model.parameters;
    for (Feed& feed : moved) feed.tensor = feed.tensor.clone();
    const auto feed = std::find_if(moved.begin(), moved.end(),
                                   [&](const Feed& f) { return f.name == pair.param; });
    double* x = feed->tensor.data<double>();
    for (size_t i = 0; i < gradient.size(); ++i) {
      const double before = x[i];
      x[i] = before + 1e-5;
      const double above = loss_of(*forward, model, moved);
      x[i] = before - 1e-5;
      const double below = loss_of(*forward, model, moved);
      x[i] = before;
      EXPECT_NEAR(gradient[i], (above - below) / 2e-5, 1e-6) << pair.grad << " " << i;
    }
  }
}

TEST(Models, Classifier) {
  check_model({R"(
    var x f64[4, 3] data stop_gradient
    var label i64[4, 1] data stop_gradient
    var w0 f64[3, 5] persistable parameter
    var b0 f64[5] persistable parameter
    var w1 f64[5, 2] persistable parameter
    mul(X=x, Y=w0) -> m0
    elementwise_add(X=m0, Y=b0) -> a0 {axis=1}
    tanh(X=a0) -> y0
    matmul_v2(X=y0, Y=w1) -> logits
    softmax_with_cross_entropy(Logits=logits, Label=label) -> Softmax=p, Loss=each
    reduce_mean(X=each) -> loss {reduce_all=true}
  )",
               {{"x", uniform({4, 3}, -1, 1, 1, f64)}, {"label", ints({0, 1, 1, 0}, {4, 1})}},
               {{"w0", uniform({3, 5}, -1, 1, 2, f64)},
                {"b0", uniform({5}, -1, 1, 3, f64)},
                {"w1", uniform({5, 2}, -1, 1, 4, f64)}}});
}

// One table looked up twice: sparse gradients add up.
TEST(Models, SharedEmbedding) {
  check_model({R"(
    var left i64[3] data stop_gradient
    var right i64[3] data stop_gradient
    var table f64[5, 2] persistable parameter
    lookup_table_v2(Ids=left, W=table) -> a {is_sparse=true}
    lookup_table_v2(Ids=right, W=table) -> b {is_sparse=true}
    elementwise_mul(X=a, Y=b) -> c
    sigmoid(X=c) -> d
    reduce_sum(X=d) -> loss {reduce_all=true}
  )",
               {{"left", ints({1, 3, 1})}, {"right", ints({0, 3, 4})}},
               {{"table", uniform({5, 2}, -1, 1, 2, f64)}}});
}

// A residual: the input of a block is used twice, once by way of a reshape.
TEST(Models, Residual) {
  check_model({R"(
    var x f64[2, 4] data stop_gradient
    var w f64[4, 4] persistable parameter
    matmul_v2(X=x, Y=w) -> h
    reshape2(X=h) -> Out=r, XShape=rs {shape=[4, 2]}
    square(X=r) -> s
    reshape2(X=s) -> Out=t, XShape=ts {shape=[2, 4]}
    elementwise_add(X=t, Y=h) -> u
    concat(X=[u, h]) -> v {axis=1}
    reduce_mean(X=v) -> loss {reduce_all=true}
  )",
               {{"x", uniform({2, 4}, -1, 1, 1, f64)}},
               {{"w", uniform({4, 4}, -1, 1, 2, f64)}}});
}

}  // namespace
}  // namespace flotilla
