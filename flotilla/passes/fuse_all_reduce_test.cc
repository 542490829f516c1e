#include "flotilla/passes/fuse_all_reduce.h"

#include "flotilla/layers/conv.h"
#include "flotilla/layers/norm.h"
#include "flotilla/passes/insert_all_reduce.h"
#include "flotilla/passes/pass.h"
#include "flotilla/testing/random_model.h"
#include "flotilla/testing/training.h"

namespace flotilla::passes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr BucketSizes kSmall = {.ends = 10, .between = 100};

std::vector<size_t> split(const std::vector<int64_t>& bytes, const BucketSizes& sizes = kSmall) {
  return split_into_buckets(bytes, sizes);
}

TEST(Buckets, AreSmallAtTheEnds) {
  EXPECT_THAT(split({5, 5, 50, 50, 1, 9, 5}), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(split({10, 11, 10}), ElementsAre(1, 1, 1));
}

TEST(Buckets, AreOneForASmallModel) {
  EXPECT_THAT(split({10}), ElementsAre(1));
  EXPECT_THAT(split({4, 4, 4, 4, 4}), ElementsAre(5));
  EXPECT_THAT(split({}), IsEmpty());
}

TEST(Buckets, TakeALargeGradientAlone) {
  EXPECT_THAT(split({200}), ElementsAre(1));
  EXPECT_THAT(split({5, 60, 200, 60, 5}), ElementsAre(1, 1, 1, 1, 1));
  EXPECT_THAT(split({60, 60}), ElementsAre(1, 1));
}

TEST(Buckets, AreNeverLargerThanAllowed) {
  EXPECT_THAT(split({3, 3, 3, 3}, {.ends = 10, .between = 6}), ElementsAre(2, 2));
  EXPECT_REFUSED(split({1}, {.ends = 1, .between = 0}),
                 "a bucket of gradients must hold one byte or more, but the first and the last may "
                 "hold 1 and the others 0");
}

class FuseAllReduce : public TrainingTest {
 protected:
  // x -> fc -> fc -> mean
  void train_mlp(int64_t width = 3) {
    const layers::Variable hidden = layers::fc(layers::data("x", {-1, 3}), width, {.act = "tanh"});
    layers::sgd(0.5).minimize(layers::mean(layers::fc(hidden, 2)));
  }
  std::string exchange_and_fuse(const BucketSizes& sizes = {}) {
    insert_all_reduce(*main_, {.nranks = 2});
    std::string said = fuse_all_reduce(*main_, sizes);
    verify(*main_, Stage::kParallel);
    return said;
  }
  std::vector<std::string> buckets() const {
    std::vector<std::string> found;
    for (const auto& op : main_->global_block().ops()) {
      if (op->type() == "fused_all_reduce") found.push_back(print(*op));
    }
    return found;
  }
};

TEST_F(FuseAllReduce, PutsABucketBehindTheOpThatMakesItsLastGradient) {
  layers::sgd(0.5).minimize(linear());
  EXPECT_EQ(exchange_and_fuse(),
            "Find all_reduce operators: 2. To make the speed faster, some all_reduce ops are fused "
            "during training, after fusion, the number of all_reduce ops is 1.");
  const std::string ops = training_ops();
  EXPECT_EQ(ops.substr(ops.find("elementwise_add_grad")), text(R"(
    elementwise_add_grad(Out@GRAD=fc_0.tmp_1@GRAD, X=fc_0.tmp_0, Y=fc_0.b_0) -> X@GRAD=fc_0.tmp_0@GRAD, Y@GRAD=fc_0.b_0@GRAD {axis=1}
    mul_grad(Out@GRAD=fc_0.tmp_0@GRAD, X=x, Y=fc_0.w_0) -> Y@GRAD=fc_0.w_0@GRAD {x_num_col_dims=1, y_num_col_dims=1}
    fused_all_reduce(X=[fc_0.b_0@GRAD, fc_0.w_0@GRAD]) -> [fc_0.b_0@GRAD, fc_0.w_0@GRAD] {ring_id=0, use_calc_stream=false}
    c_sync_comm_stream(X=[fc_0.b_0@GRAD, fc_0.w_0@GRAD]) -> [fc_0.b_0@GRAD, fc_0.w_0@GRAD] {ring_id=0}
    sgd(Grad=fc_0.b_0@GRAD, LearningRate=learning_rate_0, Param=fc_0.b_0) -> ParamOut=fc_0.b_0
    sgd(Grad=fc_0.w_0@GRAD, LearningRate=learning_rate_0, Param=fc_0.w_0) -> ParamOut=fc_0.w_0
  )"));
}

TEST_F(FuseAllReduce, FollowsTheOrderOfBackward) {
  train_mlp();
  exchange_and_fuse({.ends = 8, .between = 72});
  EXPECT_THAT(buckets(),
              ElementsAre(HasSubstr("X=fc_1.b_0@GRAD)"),
                          HasSubstr("X=[fc_1.w_0@GRAD, fc_0.b_0@GRAD, fc_0.w_0@GRAD])")));
}

// The planner's own fusions still find what they look for.
TEST_F(FuseAllReduce, LeavesGradientsOfLayersTogether) {
  train_mlp();
  exchange_and_fuse();
  const auto planned = run_plan_passes(*main_, {});
  EXPECT_EQ(planned->global_block().count("fused_fc_grad"), 2);
  EXPECT_EQ(planned->global_block().count("fused_sgd"), 1);
  EXPECT_EQ(planned->global_block().count("fused_all_reduce"), 1);
}

// The first bucket could take the bias, but not the weight: both go into the second.
TEST_F(FuseAllReduce, LeavesABiasWithItsWeight) {
  train_mlp();
  exchange_and_fuse({.ends = 44, .between = 60});
  EXPECT_THAT(buckets(), ElementsAre(HasSubstr("X=[fc_1.b_0@GRAD, fc_1.w_0@GRAD])"),
                                     HasSubstr("X=[fc_0.b_0@GRAD, fc_0.w_0@GRAD])")));
  EXPECT_EQ(run_plan_passes(*main_, {})->global_block().count("fused_fc_grad"), 2);
}

TEST_F(FuseAllReduce, KeepsElementTypesApart) {
  const layers::Variable x = layers::data("x", {-1, 3}), y = layers::data("y", {-1, 3}, f64);
  const layers::FcOptions plain = {.bias = layers::kNoBias};
  const layers::Variable single = layers::mean(layers::fc(x, 2, plain));
  const layers::Variable twice = layers::mean(layers::fc(layers::fc(y, 2, plain), 2, plain));
  const layers::Variable loss = single + layers::cast(twice, f32);
  layers::sgd(0.5).minimize(loss);
  exchange_and_fuse();
  EXPECT_THAT(buckets(), ElementsAre(HasSubstr("X=[fc_2.w_0@GRAD, fc_1.w_0@GRAD])"),
                                     HasSubstr("X=fc_0.w_0@GRAD)")));
}

// An exchange cannot sink below an op that reads the sum.
TEST_F(FuseAllReduce, EndsABucketWhereAMemberIsUsed) {
  train_mlp();
  insert_all_reduce(*main_, {.nranks = 2});
  Block& block = main_->global_block();
  for (size_t i = 0; i < block.size(); ++i) {
    if (block.op(i).type() != "c_allreduce_sum") continue;
    block.insert(i + 1, Op("c_sync_comm_stream", {{"X", {"fc_1.b_0@GRAD"}}},
                           {{"Out", {"fc_1.b_0@GRAD"}}}, {{"op_role", int32_t{1}}}));
    break;
  }
  fuse_all_reduce(*main_, {});
  EXPECT_THAT(buckets(),
              ElementsAre(HasSubstr("X=fc_1.b_0@GRAD)"),
                          HasSubstr("X=[fc_1.w_0@GRAD, fc_0.b_0@GRAD, fc_0.w_0@GRAD])")));
}

TEST_F(FuseAllReduce, SaysNothingWhereNothingIsExchanged) {
  train_mlp();
  EXPECT_EQ(fuse_all_reduce(*main_, {}), "");
}

// For a process alone all exchanges leave what they find, wherever they stand and however they are
// fused.
TEST_F(FuseAllReduce, ChangesNoResultOfRandomModels) {
  size_t exchanged = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    RandomModel model(seed);
    model.train();
    const std::vector<std::string> fetches = model.draw_fetches();
    const std::vector<Tensor> expected = model.run(*model.program, fetches);
    const auto changed = model.program->clone();
    if (changed->global_block().count("sgd") == 0) continue;  // its loss reaches no parameter
    insert_all_reduce(*changed, {.nranks = 1});
    const int64_t size = model.draw(1, 64);
    fuse_all_reduce(*changed, {.ends = size, .between = 4 * size});
    verify(*changed, Stage::kParallel);
    exchanged += static_cast<size_t>(changed->global_block().count("fused_all_reduce"));
    const std::vector<Tensor> found = model.run(*changed, fetches);
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_LE(distance(found[i], expected[i]), 1e-5)
          << "seed " << seed << ", " << fetches[i] << "\n"
          << ops_of(*changed);
    }
  }
  EXPECT_GT(exchanged, 150) << "too few programs had something to exchange";
}

// The parameters of ResNet50 with 102 classes as the document trains it.
class FuseResNet50 : public FuseAllReduce {
 protected:
  static layers::Variable conv_bn(layers::Variable x, int64_t filters, int64_t size, int64_t stride,
                                  const std::string& act) {
    x = layers::conv2d(x, filters, size,
                       {.stride = stride, .padding = (size - 1) / 2, .bias = layers::kNoBias});
    return layers::batch_norm(x, {.act = act});
  }

  static layers::Variable bottleneck(layers::Variable x, int64_t width, int64_t stride) {
    layers::Variable y = conv_bn(x, width, 1, 1, "relu");
    y = conv_bn(y, width, 3, stride, "relu");
    y = conv_bn(y, width * 4, 1, 1, "");
    const bool same = x.shape()[1] == width * 4 && stride == 1;
    return layers::relu((same ? x : conv_bn(x, width * 4, 1, stride, "")) + y);
  }

  static layers::Variable loss() {
    layers::Variable x = conv_bn(layers::data("image", {-1, 3, 224, 224}), 64, 7, 2, "relu");
    x = layers::pool2d(x, {.size = 3, .type = "max", .stride = 2, .padding = 1});
    const std::vector<int64_t> counts = {3, 4, 6, 3};
    for (size_t stage = 0; stage < counts.size(); ++stage) {
      for (int64_t i = 0; i < counts[stage]; ++i) {
        x = bottleneck(x, 64 << stage, i == 0 && stage > 0 ? 2 : 1);
      }
    }
    x = layers::pool2d(x, {.type = "avg", .global_pooling = true});
    const layers::Variable label = layers::data("label", {-1, 1}, i64);
    return layers::mean(layers::softmax_with_cross_entropy(layers::fc(x, 102), label).loss);
  }
};

TEST_F(FuseResNet50, HasFiveBuckets) {
  layers::momentum(0.001, 0.9f, layers::l2_decay(1e-4f)).minimize(loss());
  const auto alone = run_plan_passes(*main_, {});
  EXPECT_EQ(exchange_and_fuse(),
            "Find all_reduce operators: 161. To make the speed faster, some all_reduce ops are "
            "fused during training, after fusion, the number of all_reduce ops is 5.");
  const Block& block = main_->global_block();
  EXPECT_EQ(block.count("fused_all_reduce"), 5);
  EXPECT_EQ(block.count("c_allreduce_sum"), 0);
  EXPECT_EQ(block.count("c_sync_comm_stream"), 1);
  size_t members = 0;
  for (const auto& op : block.ops()) {
    if (op->type() == "fused_all_reduce") members += op->output_list("Out").size();
  }
  EXPECT_EQ(members, 161);
  // The planner's own fusions find as much as before.
  const auto planned = run_plan_passes(*main_, {});
  for (const char* const type : {"fused_bn_act", "fused_bn_act_grad", "fused_bn_add_act",
                                 "fused_bn_add_act_grad", "fused_fc_grad", "fused_momentum"}) {
    EXPECT_EQ(planned->global_block().count(type), alone->global_block().count(type)) << type;
  }
}

}  // namespace
}  // namespace flotilla::passes
