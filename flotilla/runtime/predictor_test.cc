#include "flotilla/runtime/predictor.h"

#include <gmock/gmock.h>

#include <thread>

#include "flotilla/ir/text.h"
#include "flotilla/runtime/model_io.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> floats(const Tensor& tensor) {
  const Tensor plain = tensor.plain();
  const std::span<float> span = plain.span<float>();
  return {span.begin(), span.end()};
}

Tensor ramp(Shape shape, float step) {
  Tensor made(f32, shape);
  for (int64_t i = 0; i < made.numel(); ++i) {
    made.data<float>()[i] = step * static_cast<float>(i % 23 - 11);
  }
  return made;
}

// y = x w + b.
class Linear : public testing::Test, protected TempDir {
 protected:
  Linear() {
    const auto program = parse(R"(
      var x f32[-1, 2] data
      var w f32[2, 3] persistable
      var b f32[3] persistable
      var h f32[-1, 3]
      var y f32[-1, 3]
      matmul_v2(X=x, Y=w) -> Out=h {trans_x=false, trans_y=false}
      elementwise_add(X=h, Y=b) -> Out=y {axis=-1}
    )");
    scope_.var("w") = ramp({2, 3}, 0.25f);
    scope_.var("b") = ramp({3}, 1.0f);
    model_ = inference_program(*program, {"x"}, {"y"});
  }

  std::shared_ptr<Model> written() {
    write_inference_model(file("m"), *model_, scope_);
    return Model::read(file("m.pdmodel"), file("m.pdiparams"));
  }

  static std::vector<float> predict(Predictor& predictor, Tensor x) {
    predictor.set_input("x", std::move(x));
    predictor.run();
    return floats(predictor.output("y"));
  }

  Scope scope_;
  std::shared_ptr<Program> model_;
};

TEST_F(Linear, PredictsWhatTheProgramComputes) {
  Predictor predictor(written());
  EXPECT_THAT(predictor.input_names(), ElementsAre("x"));
  EXPECT_THAT(predictor.output_names(), ElementsAre("y"));
  Executor executor;
  const Tensor x = ramp({4, 2}, 0.5f);
  const auto expected = executor.run(*model_, {{"x", x}}, {"y"}, scope_);
  EXPECT_EQ(predict(predictor, x), floats(std::get<Tensor>(expected[0])));
}

TEST_F(Linear, ReadsAllFormats) {
  const Tensor x = ramp({2, 2}, 0.5f);
  Predictor combined(written());
  const std::vector<float> expected = predict(combined, x);

  Predictor parsed(Model::parse(serialize_program(*model_), serialize_vars({"b", "w"}, scope_)));
  EXPECT_EQ(predict(parsed, x), expected);

  save_vars(file("folder"), {"b", "w"}, scope_);
  write_file(file("folder/__model__"), serialize_program(*model_));
  Predictor separate(Model::read(file("folder/__model__"), ""));
  EXPECT_EQ(predict(separate, x), expected);

  Predictor apart(Model::read(file("folder/__model__"), file("m.pdiparams")));
  EXPECT_EQ(predict(apart, x), expected);
}

TEST_F(Linear, MakesOnePlanForEachShape) {
  Predictor predictor(written());
  for (const int64_t rows : {1, 5, 1, 5, 1}) predict(predictor, ramp({rows, 2}, 0.1f));
  EXPECT_EQ(predictor.plans_made(), 2);
  predictor.shrink();
  EXPECT_FALSE(predictor.output("y").defined());
  EXPECT_THAT(predict(predictor, ramp({1, 2}, 0.0f)), ElementsAre(-11, -10, -9));
}

TEST_F(Linear, RefusesWhatCannotBePredicted) {
  Predictor predictor(written());
  EXPECT_REFUSED(predictor.run(), "the input \"x\" has no value: set it before run()");
  EXPECT_REFUSED(predictor.set_input("z", ramp({1, 2}, 1.0f)),
                 "the model has no input \"z\"; its inputs are: x");
  EXPECT_REFUSED(predictor.output("x"), "the model has no output \"x\"; its outputs are: y");
  EXPECT_REFUSED(Predictor(written(), -1), "the number of threads must not be negative, but is -1");
  predictor.set_input("x", ramp({4, 3}, 1.0f));
  EXPECT_THAT(refusal_of([&] { predictor.run(); }), HasSubstr("x"));
  EXPECT_THAT(predict(predictor, ramp({1, 2}, 0.0f)), ElementsAre(-11, -10, -9));
  EXPECT_THAT(refusal_of([&] { Model::parse(serialize_program(*parse("var x f32[1] data")), ""); }),
              HasSubstr("the program fetches nothing"));
  EXPECT_THAT(
      refusal_of([&] { Model::parse(serialize_program(*model_), serialize_vars({"b"}, scope_)); }),
      HasSubstr("\"w\" is missing"));
}

// Convolutions move their filters into another layout, each in its first run.
TEST(Predictor, ClonesOnManyThreadsShareTheWeights) {
  const auto program = parse(R"(
    var x f32[-1, 16, 9, 9] data
    var f f32[32, 16, 3, 3] persistable
    var g f32[16, 32, 1, 1] persistable
    var h f32[-1, 32, 9, 9]
    var r f32[-1, 32, 9, 9]
    var y f32[-1, 16, 9, 9]
    conv2d(Input=x, Filter=f) -> Output=h {strides=[1, 1], paddings=[1, 1], dilations=[1, 1], groups=1}
    relu(X=h) -> Out=r
    conv2d(Input=r, Filter=g) -> Output=y {strides=[1, 1], paddings=[0, 0], dilations=[1, 1], groups=1}
  )");
  Scope scope;
  scope.var("f") = ramp({32, 16, 3, 3}, 0.01f);
  scope.var("g") = ramp({16, 32, 1, 1}, 0.02f);
  const auto model = inference_program(*program, {"x"}, {"y"});
  const auto read = [&] {
    return Model::parse(serialize_program(*model), serialize_vars({"f", "g"}, scope));
  };
  const auto predict = [](Predictor& predictor, int64_t rows) {
    predictor.set_input("x", ramp({rows, 16, 9, 9}, 0.1f * static_cast<float>(rows)));
    predictor.run();
    return floats(predictor.output("y"));
  };
  std::vector<std::vector<float>> expected;
  for (int64_t rows = 1; rows <= 3; ++rows) {
    Predictor alone(read(), 1);
    expected.push_back(predict(alone, rows));
  }
  const Predictor first(read(), 1);
  std::vector<int64_t> wrong(8);
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < wrong.size(); ++t) {
      threads.emplace_back([&, t, mine = first.clone()] {
        for (int64_t i = 0; i < 20; ++i) {
          const int64_t rows = 1 + (static_cast<int64_t>(t) + i) % 3;
          wrong[t] += predict(*mine, rows) != expected[static_cast<size_t>(rows - 1)];
        }
      });
    }
  }
  EXPECT_THAT(wrong, testing::Each(0));
}

TEST(Predictor, HasItsOwnCopyOfWeightsThatARunChanges) {
  const auto program = parse(R"(
    var x f32[-1] data
    var n f32[1] persistable
    var y f32[-1]
    increment(X=n) -> Out=n {step=1.0}
    elementwise_add(X=x, Y=n) -> Out=y {axis=-1}
  )");
  Scope scope;
  scope.var("n") = Tensor::of<float>(std::vector<float>{10}, {1});
  auto model = inference_program(*program, {"x"}, {"y"});
  Predictor one(Model::parse(serialize_program(*model), serialize_vars({"n"}, scope)));
  const std::unique_ptr<Predictor> other = one.clone();
  const auto next = [](Predictor& predictor) {
    predictor.set_input("x", Tensor::of<float>(std::vector<float>{0}, {1}));
    predictor.run();
    return floats(predictor.output("y"))[0];
  };
  EXPECT_EQ(next(one), 11);
  EXPECT_EQ(next(one), 12);
  EXPECT_EQ(next(*other), 11);
}

}  // namespace
}  // namespace flotilla
