// flotilla/ops/io/py_func_test.cc

#include "flotilla/autodiff/backward.h"
#include "flotilla/kernel/caller.h"
#include "flotilla/op/build.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

// 1: the number of elements; 2: the sum of all it takes; 3: nothing.
class Functions final : public Caller {
 public:
  std::vector<Tensor> call(int64_t number, const std::vector<Tensor>& inputs) override {
    if (number == 1) {
      return {tensor({static_cast<double>(inputs[0].numel())}, inputs[0].dtype())};
    }
    if (number == 3) return {};
    std::vector<double> sum(static_cast<size_t>(inputs[0].numel()));
    for (const Tensor& input : inputs) {
      const std::vector<double> values = values_of(input);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
    }
    return {from_values(sum, inputs[0].shape(), inputs[0].dtype())};
  }
  void check_interrupt() override {}
};

class PyFunc : public ::testing::Test {
 protected:
  // Out of shape `declared` by function `number` from X, and the gradient of its sum.
  std::vector<Tensor> run(int64_t number, int64_t gradient, Shape declared, const Tensor& x,
                          std::vector<std::string> skipped = {}) {
    Program program;
    Block& block = program.global_block();
    Var& in = block.add_var({.name = "x", .dtype = f32, .shape = x.shape(), .is_data = true});
    Var& out = block.add_var({.name = "out", .dtype = f32, .shape = std::move(declared)});
    append_op(block, "py_func", {{"X", {"x"}}}, {{"Out", {"out"}}},
              {{"forward_callable_id", number},
               {"backward_callable_id", gradient},
               {"backward_skip_vars", std::move(skipped)}});
    std::vector<std::string> fetches = {"out"};
    if (gradient >= 0) fetches.push_back(gradients({&out}, {&in}, {}).front());
    return run_program(program, {{"x", x}}, fetches, {}, caller_);
  }

  Functions functions_;
  Caller* caller_ = &functions_;
};

TEST_F(PyFunc, CallsTheFunction) {
  EXPECT_THAT(run(1, -1, {1}, tensor({5, 6, 7})).front(), equal_to({3}));
  EXPECT_THAT(run(2, -1, {-1}, tensor({5, 6, 7})).front(), equal_to({5, 6, 7}));
}

TEST_F(PyFunc, GradientSeesInputsResultsAndTheirGradients) {
  const Tensor x = tensor({5, 6});
  EXPECT_THAT(run(2, 2, {2}, x)[1], equal_to({11, 13}));       // x + out + 1
  EXPECT_THAT(run(2, 2, {2}, x, {"x"})[1], equal_to({6, 7}));  // out + 1
  EXPECT_THAT(run(2, 2, {2}, x, {"x", "out"})[1], equal_to({1, 1}));
}

TEST_F(PyFunc, Refusals) {
  EXPECT_REFUSED(run(1, -1, {2}, tensor({5, 6})),
                 "the function gave shape [1] for \"out\", which has shape [2]");
  EXPECT_REFUSED(run(3, -1, {2}, tensor({5, 6})), "the function must give 1 tensors, but gave 0");
  caller_ = nullptr;
  EXPECT_REFUSED(run(1, -1, {1}, tensor({5})),
                 "the program calls function 1, but only Python programs have functions");
}

}  // namespace
}  // namespace flotilla
