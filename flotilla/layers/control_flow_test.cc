#include "flotilla/layers/control_flow.h"

#include <gtest/gtest.h>

#include "flotilla/autodiff/backward.h"
#include "flotilla/layers/functions.h"
#include "flotilla/layers/nn.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

class ControlFlow : public LayersTest {
 protected:
  Tensor value(Variable y, std::initializer_list<double> x) {
    return run({{"x", tensor(x)}}, {y.name()})[0];
  }
  Variable gradient(Variable y, Variable w) {
    return main_->global_block().var(
        autodiff::gradients({&static_cast<Var&>(sum(y))}, {&static_cast<Var&>(w)})[0]);
  }
  // Both programs, without blocks in which nothing stands.
  std::string programs() const {
    std::string text = print(*main_) + print(*startup_);
    for (const auto& block : main_->blocks()) {
      const std::string empty =
          fmt::format("block {} in {} {{\n}}\n", block->index(), block->parent());
      if (const size_t at = text.find(empty); at != text.npos) text.erase(at, empty.size());
    }
    return text;
  }

  Variable x_ = data("x", {3});
};

Variable number(double value, DType dtype = f32) { return layers::full({1}, value, dtype); }
Variable whole(int64_t value) { return number(static_cast<double>(value), i64); }
Variable positive(Variable x) { return sum(x) > 0; }

TEST_F(ControlFlow, CondRunsOneBranch) {
  const Variables y = cond(
      positive(x_), [&] { return x_ * 2; }, [&] { return x_ - 1; });
  ASSERT_EQ(y.size(), 1u);
  EXPECT_THAT(value(y[0], {1, 2, 3}), near({2, 4, 6}, 0));
  EXPECT_THAT(value(y[0], {-1, 2, -3}), near({-2, 1, -4}, 0));
}

TEST_F(ControlFlow, TheOpNamesWhatItsBlockUses) {
  const Variable condition = positive(x_);
  cond(
      condition, [&] { return x_ * 2; }, [&] { return x_; });
  EXPECT_EQ(ops(), text(R"(
    reduce_sum(X=x) -> sum_0.tmp_0 {dim=ints[], keep_dim=false, reduce_all=true}
    fill_constant() -> tmp_0 {dtype=5, shape=[1L], value=0.0}
    greater_than(X=sum_0.tmp_0, Y=tmp_0) -> tmp_1 {axis=-1}
    conditional_block(Cond=tmp_1, Input=x) -> Out=branch_0, Scope=scopes_0 {is_scalar_condition=true, sub_block=block 1}
    logical_not(X=tmp_1) -> logical_not_0.tmp_0
    conditional_block(Cond=logical_not_0.tmp_0, Input=x) -> Out=branch_1, Scope=scopes_1 {is_scalar_condition=true, sub_block=block 2}
    cast(X=tmp_1) -> cast_0.tmp_0 {in_dtype=0, out_dtype=2}
    select_input(Mask=cast_0.tmp_0, X=[branch_1, branch_0]) -> select_input_0
  )"));
}

TEST_F(ControlFlow, NumbersBecomeConstants) {
  const Variables y = cond(
      positive(x_),
      [] {
        return Values{1, 2.5, true};
      },
      [] {
        return Values{2, 1e20, false};
      });
  EXPECT_EQ(y[0].dtype(), i64);
  EXPECT_EQ(y[1].dtype(), f32);
  EXPECT_EQ(y[2].dtype(), boolean);
  EXPECT_THAT(value(y[1], {1, 1, 1}), near({2.5f}, 0));
}

TEST_F(ControlFlow, GradientsFlowThroughTheBranchThatRan) {
  Variable w = create_parameter({3}, f32, {.initializer = constant(2)});
  const Variable y = cond(
      positive(x_), [&] { return x_ * w; }, [&] { return x_; })[0];
  const Variable found = gradient(y, w);
  EXPECT_THAT(value(found, {1, 2, 3}), near({1, 2, 3}, 0));
  EXPECT_THAT(value(found, {-1, -2, -3}), near({0, 0, 0}, 0));
}

TEST_F(ControlFlow, TheFirstTrueCaseRuns) {
  const Variable total = sum(x_);
  const std::vector<Case> cases = {{total > 10, [&] { return x_ * 3; }},
                                   {total > 1, [&] { return x_ * 2; }}};
  const Variable with_default = case_(cases, [&] { return x_ * 0; })[0], without = case_(cases)[0];
  EXPECT_THAT(value(with_default, {1, 2, 9}), near({3, 6, 27}, 0));
  EXPECT_THAT(value(with_default, {1, 2, 3}), near({2, 4, 6}, 0));
  EXPECT_THAT(value(with_default, {-1, 0, 0}), near({0, 0, 0}, 0));
  EXPECT_THAT(value(without, {-1, 0, 0}), near({-2, 0, 0}, 0));
}

TEST_F(ControlFlow, SwitchCaseGoesByNumber) {
  const auto times = [&](int factor) { return [this, factor] { return x_ * factor; }; };
  const std::vector<std::pair<int, double>> expected = {{3, 7}, {1, 1}, {4, 0}};
  for (const auto& [number, factor] : expected) {
    const Variable y = switch_case(whole(number), {{3, times(7)}, {1, times(1)}}, times(0))[0];
    EXPECT_THAT(value(y, {1, 2, 3}), near({factor, 2 * factor, 3 * factor}, 0));
  }
  const Variable last = switch_case(whole(9), {{3, times(7)}, {1, times(1)}})[0];
  EXPECT_THAT(value(last, {1, 2, 3}), near({7, 14, 21}, 0));
  EXPECT_REFUSED(switch_case(whole(9), {{1, times(1)}, {1, times(2)}}),
                 "the numbers of switch_case must differ, but are [1, 1]");
}

TEST_F(ControlFlow, ALoopTakesOldValuesOfAllVariables) {
  const Variables start = {whole(0), whole(0), whole(1)};
  const Variables fibonacci = while_loop([](const Variables& v) { return v[0] < 10; },
                                         [](const Variables& v) {
                                           return Values{v[0] + 1, v[2], v[1] + v[2]};
                                         },
                                         start);
  const std::vector<Tensor> found = run({{"x", tensor({0, 0, 0})}}, fibonacci.names());
  EXPECT_EQ(*found[1].data<int64_t>(), 55);
  EXPECT_EQ(*found[2].data<int64_t>(), 89);
}

TEST_F(ControlFlow, GradientsFlowThroughALoop) {
  Variable w = create_parameter({3}, f32, {.initializer = constant(2)});
  const Variables last = while_loop([](const Variables& v) { return v[0] < 3; },
                                    [&](const Variables& v) {
                                      return Values{v[0] + 1, v[1] * w};
                                    },
                                    {whole(0), x_ * w});
  EXPECT_THAT(value(gradient(last[1], w), {1, 2, -1}), near({32, 64, -32}, 0));  // 4 w^3 x
}

TEST_F(ControlFlow, SwitchRunsTheFirstTrueBlock) {
  const Variable rate = create_global_var({1}, 0, f32, true, "rate");
  const Variable total = sum(x_);
  const auto set = [&](double value) {
    return [&rate, value] { op("assign", {{"X", number(value)}}, {}, {.out = rate.name()}); };
  };
  Switch by_total;
  EXPECT_REFUSED(by_total.default_(), "Switch.default() needs a case() before it");
  by_total.case_(total < 1).run(set(1));
  by_total.case_(total < 10).run(set(2));
  by_total.default_().run(set(3));
  EXPECT_THAT(value(rate, {0, 0, 0}), near({1}, 0));
  EXPECT_THAT(value(rate, {1, 2, 3}), near({2}, 0));
  EXPECT_THAT(value(rate, {7, 8, 9}), near({3}, 0));
}

TEST_F(ControlFlow, AWhileBlockChangesItsCondition) {
  const Variable total = number(0), more = total < 5;
  while_block(more).run([&] {
    op("assign", {{"X", total + 2}}, {}, {.out = total.name()});
    op("less_than", {{"X", total}, {"Y", number(5)}}, {}, {.out = more.name()});
  });
  EXPECT_THAT(value(total, {0, 0, 0}), near({6}, 0));
}

TEST_F(ControlFlow, RefusesWhatCannotRun) {
  const Variable one = positive(x_);
  const Branch same = [&] { return x_; };
  EXPECT_REFUSED(cond(x_ > 0, same, same),
                 "the condition of conditional_block must be one bool, but tmp_3 is bool[3]");
  EXPECT_REFUSED(while_block(x_), "the condition of while must be one bool, but x is float32[3]");
  EXPECT_REFUSED(cond(one, same), "a branch without a counterpart must return nothing");
  EXPECT_REFUSED(
      cond(one, same,
           [&] {
             return Values{x_, x_};
           }),
      "all branches must return the same structure, but one returns 1 variables and another 2");
  EXPECT_REFUSED(
      cond(one, same, [&] { return x_ > 0; }),
      "all branches must return the same dtypes, but one returns float32 where another returns "
      "bool");
  EXPECT_REFUSED(while_loop([](const Variables& v) { return positive(v[0]); },
                            [](const Variables& v) {
                              return Values{v[0], 1};
                            },
                            {x_}),
                 "body must return as many variables as loop_vars has, 1, but returns 2");
  EXPECT_REFUSED(case_({}), "case needs a function");
  EXPECT_REFUSED(if_block(one).leave(),
                 "a block of conditional_block is left that was not entered");
}

TEST_F(ControlFlow, WhatFailsLeavesTheProgramsAsTheyWere) {
  struct Failed {};
  const Variable condition = positive(x_);
  const std::string before = programs();
  const Branch layer = [&] { return fc(reshape(x_, {1, 3}), 2); };
  const Branch fails = [&]() -> Values {
    cond(condition, layer, layer);
    main_->global_block().insert(0, Op("shape", {{"Input", {"x"}}}, {{"Out", {"y"}}}));
    throw Failed();
  };
  EXPECT_THROW(cond(condition, layer, fails), Failed);
  EXPECT_EQ(programs(), before);
  EXPECT_THROW(case_({{condition, layer}, {condition, fails}}, layer), Failed);
  EXPECT_EQ(programs(), before);
  EXPECT_THROW(while_loop([&](const Variables&) { return positive(x_); },
                          [&](const Variables&) { return fails(); }, {x_}),
               Failed);
  EXPECT_EQ(programs(), before);
  EXPECT_THROW(if_block(condition).run([&] { fails(); }), Failed);
  EXPECT_EQ(programs(), before);
  EXPECT_EQ(main_->current_block().index(), 0);

  const Variable y = cond(condition, layer, layer)[0];
  EXPECT_EQ(value(y, {1, 2, 3}).numel(), 2);
}

}  // namespace
}  // namespace flotilla::layers
