#include "flotilla/op/export_to_paddle.h"

#include <gmock/gmock.h>

#include "flotilla/ir/text.h"
#include "flotilla/op/op_def.h"

namespace flotilla {
namespace {

TEST(ExportToPaddle, GradientOpsGetEveryAttribute) {
  const auto program = parse(R"(
    var x f32[2]
    var y f32[2]
    softmax(X=x) -> Out=y
    softmax_grad(Out=y, Out@GRAD=y) -> X@GRAD=x
  )");
  const auto copy = export_to_paddle(*program);
  EXPECT_FALSE(copy->global_block().op(0).attrs().contains("axis"));
  EXPECT_EQ(copy->global_block().op(1).attr<int64_t>("axis"), -1);
  EXPECT_FALSE(copy->global_block().op(1).attr<bool>("use_mkldnn"));
  EXPECT_FALSE(program->global_block().op(1).attrs().contains("axis"));
}

TEST(ExportToPaddle, EmptyListsAreWritten) {
  const auto program = parse(R"(
    var p bool[1]
    conditional_block(Cond=p) {sub_block=block 1}
    block 1 in 0 {
    }
  )");
  const auto copy = export_to_paddle(*program);
  const Op& op = copy->global_block().op(0);
  EXPECT_TRUE(op.inputs().contains("Input"));
  EXPECT_THAT(op.input_list("Input"), testing::IsEmpty());
}

TEST(ExportToPaddle, NormsAskForTheGradientsOfTheirParameters) {
  const auto program = parse(R"(
    var x f32[2, 3]
    var g f32[2, 3]
    var w f32[3]
    var m f32[2]
    layer_norm_grad(X=x, Scale=w, Bias=w, Mean=m, Variance=m, Y@GRAD=g) -> X@GRAD=x
  )");
  const auto copy = export_to_paddle(*program);
  const Op& op = copy->global_block().op(0);
  EXPECT_EQ(op.output("Scale@GRAD"), "w@GRAD@UNREAD");
  EXPECT_EQ(copy->global_block().var("w@GRAD@UNREAD").shape, Shape{3});
  EXPECT_FALSE(program->global_block().op(0).has_output("Scale@GRAD"));
}

TEST(ExportToPaddle, SlotsOfEitherReleaseAreThere) {
  const auto program = parse(R"(
    var x f32[2]
    var y f32[2]
    var g f32[2]
    leaky_relu(X=x) -> Out=y
    leaky_relu_grad(X=x, Out@GRAD=g) -> X@GRAD=x
    sequence_reverse_grad(X=x, Y@GRAD=g) -> X@GRAD=x
    batch_norm_grad(X=x, Scale=y, MeanOut=m, VarianceOut=v, Y@GRAD=g) -> X@GRAD=x
    gru(Input=x) -> Hidden=h, BatchHidden=b
    gru_grad(Input=x, Hidden=h, Hidden@GRAD=g) -> Input@GRAD=x
    meshgrid_grad(X=x, Out@GRAD=g) -> X@GRAD=x
  )");
  const auto copy = export_to_paddle(*program);
  EXPECT_EQ(copy->global_block().op(1).input("Out"), "y");
  const Op& turned = copy->global_block().op(2);
  EXPECT_EQ(turned.type(), "sequence_reverse");
  EXPECT_EQ(turned.input("X"), "g");
  EXPECT_EQ(turned.output("Y"), "x");
  const Op& norm = copy->global_block().op(3);
  EXPECT_EQ(norm.input("Mean"), "m");
  EXPECT_EQ(norm.input("Variance"), "v");
  EXPECT_EQ(norm.output("Scale@GRAD"), "y@GRAD@UNREAD");
  EXPECT_EQ(copy->global_block().op(5).input("BatchHidden"), "b");
  EXPECT_EQ(copy->global_block().op(6).input("outputs@GRAD"), "g");
}

}  // namespace
}  // namespace flotilla
