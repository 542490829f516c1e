// Gradients of small models of real operators, against finite differences.

#include <algorithm>
#include <cmath>

#include "flotilla/autodiff/backward.h"
#include "flotilla/testing/programs.h"
#include "flotilla/testing/random_model.h"

namespace flotilla {
namespace {

struct Model {
  std::string program = {};
  std::vector<Feed> feeds = {};
  std::vector<Feed> parameters = {};
};

// Moves each element of each parameter.
void check_gradients(Program& program, const std::vector<Feed>& feeds,
                     const std::vector<Feed>& parameters) {
  const auto forward = program.clone();
  for (const ParamGrad& pair : append_backward(program.global_block().var("loss"))) {
    const std::vector<double> gradient =
        values_of(run_program(program, feeds, {pair.grad}, parameters).front());
    std::vector<Feed> moved = parameters;
    const auto feed = std::find_if(moved.begin(), moved.end(),
                                   [&](const Feed& f) { return f.name == pair.param; });
    const auto loss_with = [&](size_t i, double by) {
      feed->tensor = feed->tensor.clone();
      feed->tensor.data<double>()[i] += by;
      const Tensor loss = run_program(*forward, feeds, {"loss"}, moved).front();
      feed->tensor.data<double>()[i] -= by;
      return *loss.data<double>();
    };
    for (size_t i = 0; i < gradient.size(); ++i) {
      const double difference = (loss_with(i, 1e-5) - loss_with(i, -1e-5)) / 2e-5;
      EXPECT_NEAR(gradient[i], difference, 1e-6 * std::max(1.0, std::abs(difference)))
          << pair.grad << " " << i << "\n"
          << ops_of(program);
    }
  }
}

void check_model(const Model& model) {
  const auto program = build(model.program);
  check_gradients(*program, model.feeds, model.parameters);
  for (const Feed& parameter : model.parameters) {
    EXPECT_NE(program->global_block().find_var(grad_name(parameter.name)), nullptr);
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

// Ops, names and order as paddlepaddle 2.6.2 writes them.
TEST(Models, HaveTheGradientsThatPaddleGivesThem) {
  const auto program = build(R"(
    var x f32[-1, 4] data stop_gradient
    var y f32[-1, 3] data stop_gradient
    var w0 f32[4, 3] persistable parameter
    var b0 f32[3] persistable parameter
    var w f32[3, 3] persistable parameter
    mul(X=x, Y=w0) -> m
    elementwise_add(X=m, Y=b0) -> a {axis=1}
    tanh(X=a) -> h
    matmul_v2(X=h, Y=w) -> left
    elementwise_mul(X=h, Y=h) -> hh
    matmul_v2(X=hh, Y=w) -> right
    elementwise_add(X=left, Y=right) -> z
    concat(X=[z, y, h]) -> c {axis=1}
    reduce_mean(X=c) -> loss {reduce_all=true}
  )");
  append_backward(program->global_block().var("loss"));
  std::string found;
  for (const auto& op : program->global_block().ops()) {
    if (op->role() & kBackwardRole) {
      found += print(Op(op->type(), op->inputs(), op->outputs())) + "\n";
    }
  }
  EXPECT_EQ(found, text(R"(
    fill_constant() -> loss@GRAD
    reduce_mean_grad(Out@GRAD=loss@GRAD, X=c) -> X@GRAD=c@GRAD
    concat_grad(Out@GRAD=c@GRAD, X=[z, y, h]) -> X@GRAD=[z@GRAD, @EMPTY@, h@GRAD@RENAME@block0@0]
    elementwise_add_grad(Out@GRAD=z@GRAD, X=left, Y=right) -> X@GRAD=left@GRAD, Y@GRAD=right@GRAD
    matmul_v2_grad(Out@GRAD=right@GRAD, X=hh, Y=w) -> X@GRAD=hh@GRAD, Y@GRAD=w@GRAD@RENAME@block0@0
    elementwise_mul_grad(Out@GRAD=hh@GRAD, X=h, Y=h) -> X@GRAD=h@GRAD@RENAME@block0@1, Y@GRAD=h@GRAD@RENAME@block0@2
    matmul_v2_grad(Out@GRAD=left@GRAD, X=h, Y=w) -> X@GRAD=h@GRAD@RENAME@block0@3, Y@GRAD=w@GRAD@RENAME@block0@1
    sum(X=[h@GRAD@RENAME@block0@0, h@GRAD@RENAME@block0@1, h@GRAD@RENAME@block0@2, h@GRAD@RENAME@block0@3]) -> h@GRAD
    tanh_grad(Out=h, Out@GRAD=h@GRAD) -> X@GRAD=a@GRAD
    elementwise_add_grad(Out@GRAD=a@GRAD, X=m, Y=b0) -> X@GRAD=m@GRAD, Y@GRAD=b0@GRAD
    mul_grad(Out@GRAD=m@GRAD, X=x, Y=w0) -> Y@GRAD=w0@GRAD
    sum(X=[w@GRAD@RENAME@block0@0, w@GRAD@RENAME@block0@1]) -> w@GRAD
  )"));
}

// Variables written more than once, read several times, by values and by shapes.
TEST(Models, DrawnAtRandom) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    const RandomModel model(seed, f64);
    check_gradients(*model.program, model.feeds, model.persistables);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace flotilla
