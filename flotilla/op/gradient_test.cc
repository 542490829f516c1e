#include "flotilla/op/gradient.h"

#include "flotilla/op/build.h"
#include "flotilla/op/print.h"
#include "flotilla/testing/errors.h"

namespace flotilla {
namespace {

Step nothing(PrepareContext&) { return {}; }

OpDef forward() {
  return {.type = "norm",
          .inputs = {{.name = "X"},
                     {.name = "Scale", .optional = true},
                     {.name = "Ids", .no_grad = true, .one = true}},
          .outputs = {{.name = "Out", .like = "X"},
                      {.name = "Mean", .no_grad = true},
                      {.name = "Parts", .list = true}},
          .attrs = {{"axis", int64_t{-1}, "a direction"}},
          .grad = grad_op({"Mean", shape_of("Scale"), "Ids"}, {.kernels = {{kCpu, f64, nothing}}})};
}

TEST(Gradient, FollowsFromItsForwardOp) {
  EXPECT_EQ(print(gradient_of(forward())),
            "op norm_grad\n"
            "  in Mean\n  in Scale optional shape_only\n  in Ids one\n"
            "  in Out@GRAD optional\n  in Parts@GRAD list optional\n"
            "  out X@GRAD optional\n  out Scale@GRAD optional\n"
            "  attr axis = -1L (long)\n  dtype of Out@GRAD\n  kernels cpu: f64\n");
}

TEST(Gradient, OfOneVariableAndOneOutputIsAlwaysThere) {
  const OpDef def = {.type = "twice",
                     .inputs = {{.name = "X"}},
                     .outputs = {{.name = "Out"}},
                     .grad = grad_op({})};
  EXPECT_EQ(print(gradient_of(def)),
            "op twice_grad\n  in Out@GRAD\n  out X@GRAD\n  dtype of Out@GRAD\n");
}

TEST(Gradient, HasWhatItsRuleStates) {
  OpDef def = forward();
  def.grad.op.type = "norm_grad2";
  def.grad.op.inputs = {{.name = "Mean", .optional = true}, {.name = "XShape", .optional = true}};
  const OpDef gradient = gradient_of(def);
  EXPECT_EQ(gradient.type, "norm_grad2");
  EXPECT_EQ(gradient.inputs.front().name, "Mean");
  EXPECT_TRUE(gradient.inputs.front().optional);
  EXPECT_EQ(gradient.inputs.back().name, "XShape");
  EXPECT_EQ(gradient.inputs.size(), 6u);
}

TEST(Gradient, RefusesASlotThatTheForwardOpHasNot) {
  OpDef def = forward();
  def.grad.uses.emplace_back("Variance");
  EXPECT_REFUSED(gradient_of(def), "the gradient of norm uses Variance, which is no slot of it");
}

// toy_square has its variable, toy_scale only the gradient of an output that is like its variable.
TEST(Gradient, HasTheShapeOfItsVariable) {
  Program program;
  Block& block = program.global_block();
  block.add_var({.name = "x", .shape = {2, 3}});
  block.add_var({.name = "dout", .shape = {-1, 3}});
  append_op(block, "toy_square_grad", {{"X", {"x"}}, {"Out@GRAD", {"dout"}}}, {{"X@GRAD", {"dx"}}});
  append_op(block, "toy_scale_grad", {{"Out@GRAD", {"dout"}}}, {{"X@GRAD", {"scaled"}}});
  EXPECT_EQ(block.var("dx").shape, Shape({2, 3}));
  EXPECT_EQ(block.var("scaled").shape, Shape({-1, 3}));
}

}  // namespace
}  // namespace flotilla
