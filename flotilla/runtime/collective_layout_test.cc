// Gradients in a blocked layout are exchanged as they lie, or in plain order where ranks differ.

#include <gmock/gmock.h>

#include "flotilla/autodiff/backward.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/op/build.h"
#include "flotilla/testing/programs.h"
#include "flotilla/testing/ranks.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

class TestStore final : public VariableStore {
 public:
  explicit TestStore(Scope& scope) : scope_(scope) {}
  Tensor* find(std::string_view name) override { return scope_.find(name); }
  Tensor& make(std::string_view name) override { return scope_.var(name); }

 private:
  Scope& scope_;
};

// One step on a filter of 16 channels, which oneDNN keeps in blocks.
std::shared_ptr<Program> make_program(int ranks) {
  const auto program = build(R"(
    var x f32[-1, 16, 8, 8] data stop_gradient
    var f f32[32, 16, 3, 3] persistable parameter
    var lr f32[1] persistable
    conv2d(Input=x, Filter=f) -> Output=y {strides=[1, 1], paddings=[1, 1]}
    relu(X=y) -> z
    mean(X=z) -> loss
  )");
  Block& block = program->global_block();
  append_op(block, "scale", {{"X", {"loss"}}}, {{"Out", {"part"}}},
            {{"scale", 1.0f / static_cast<float>(ranks)}});
  append_backward(block.var("part"));
  append_op(block, "fused_all_reduce", {{"X", {"f@GRAD"}}}, {{"Out", {"f@GRAD"}}});
  append_op(block, "sgd", {{"Param", {"f"}}, {"Grad", {"f@GRAD"}}, {"LearningRate", {"lr"}}},
            {{"ParamOut", {"f"}}});
  return program;
}

void fill_scope(Scope& scope) {
  scope.var("f") = uniform({32, 16, 3, 3}, -0.5, 0.5);
  scope.var("lr") = full({1}, 10);
}

Tensor batch_of(int64_t rows, uint64_t seed) { return uniform({rows, 16, 8, 8}, -1, 1, seed); }

// The filter after a step with both halves of the batch.
Tensor expected_filter() {
  const auto program = make_program(1);
  Scope scope;
  fill_scope(scope);
  Tensor x(f32, {4, 16, 8, 8});
  const Tensor halves[] = {batch_of(2, 1), batch_of(2, 2)};
  for (int64_t h = 0; h < 2; ++h) {
    std::copy_n(halves[h].data<float>(), halves[h].shape().numel(),
                x.data<float>() + h * halves[h].shape().numel());
  }
  Executor executor;
  executor.run(*program, {{"x", x}}, {}, scope);
  return scope.find("f")->clone({});
}

TEST(CollectiveLayout, BlockedGradientsAreExchangedAsTheyLie) {
  const Tensor expected = expected_filter();
  for (const bool plain : {false, true}) {
    testing::run_ranks(2, [&](comm::World& world) {
      const ThreadShare one(1);
      const auto program = make_program(2);
      Scope scope;
      fill_scope(scope);
      TestStore store(scope);
      Generator generator;
      const Tensor x = batch_of(2, static_cast<uint64_t>(world.rank() + 1));
      const auto plan = Plan::make(
          {.program = *program,
           .feeds = {{.name = "x", .shape = x.shape()}},
           .store = store,
           .generator = generator,
           .world = &world,
           .exchange_layouts = plain ? ExchangeLayouts{{"f@GRAD", {}}} : ExchangeLayouts{}});
      EXPECT_EQ(plan->exchange_layouts().at("f@GRAD").plain(), plain) << plan->print();
      EXPECT_THAT(plan->print(), HasSubstr("exchanged @0"));
      ASSERT_TRUE(plan->fits(store));
      Arena arena, exchanged([&](int64_t bytes) { return world.allocate(bytes); });
      plan->run(store, {arena, exchanged}, {x});
      EXPECT_THAT(scope.find("f")->clone({}), near(expected, 1e-5));
    });
  }
}

}  // namespace
}  // namespace flotilla
