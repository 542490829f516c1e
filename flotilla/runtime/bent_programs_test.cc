// Programs and variables that do not fit together: each is refused before a kernel sees it. What
// tests/fuzz/run_program_fuzz.cc has found stands here too.

#include <gmock/gmock.h>

#include <set>

#include "flotilla/autodiff/backward.h"
#include "flotilla/device/allocator.h"
#include "flotilla/ir/text.h"
#include "flotilla/kernel/caller.h"
#include "flotilla/op/op_def.h"
#include "flotilla/runtime/executor.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/tensors.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

// Runs a program whose variables all lie in the scope.
class Bent {
 public:
  explicit Bent(const std::string& text)
      : program_(parse(text)),
        executor_(std::make_unique<Executor>()),
        scope_(std::make_unique<Scope>()) {}

  Bent& set(const std::string& name, Tensor tensor) {
    scope_->var(name) = std::move(tensor);
    return *this;
  }
  // The refusal of one run, or "(not refused)".
  std::string run(const std::vector<std::string>& fetches = {},
                  const std::vector<Feed>& feeds = {}) {
    return refusal_of([&] { executor_->run(*program_, feeds, fetches, *scope_); });
  }

 private:
  std::shared_ptr<Program> program_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Scope> scope_;
};

std::string refusal(const std::string& text, const std::vector<std::string>& fetches,
                    const std::vector<Feed>& feeds = {}) {
  return Bent(text).run(fetches, feeds);
}

// An optimizer over one parameter `w` [2, 3]: its state slots and their variables.
struct Rule {
  std::string op = {};
  std::vector<std::string> states = {};   // like the parameter
  std::vector<std::string> numbers = {};  // one number
  std::string attrs = {};
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> kRules = {
      {"sgd"},
      {"momentum", {"Velocity"}},
      {"adam", {"Moment1", "Moment2"}, {"Beta1Pow", "Beta2Pow"}},
      {"adamw", {"Moment1", "Moment2"}, {"Beta1Pow", "Beta2Pow"}},
      {"lamb", {"Moment1", "Moment2"}, {"Beta1Pow", "Beta2Pow"}},
      {"adagrad", {"Moment"}},
      {"decayed_adagrad", {"Moment"}},
      {"proximal_gd"},
      {"proximal_adagrad", {"Moment"}},
      {"adamax", {"Moment", "InfNorm"}},
      {"adadelta", {"AvgSquaredGrad", "AvgSquaredUpdate"}},
      {"rmsprop", {"MeanSquare", "Moment"}},
      {"rmsprop", {"MeanSquare", "Moment", "MeanGrad"}, {}, " {centered=true}"},
      {"ftrl", {"SquaredAccumulator", "LinearAccumulator"}},
      {"lars_momentum", {"Velocity"}},
  };
  return kRules;
}

std::string out_of(const std::string& slot) {
  if (slot == "SquaredAccumulator") return "SquaredAccumOut";
  if (slot == "LinearAccumulator") return "LinearAccumOut";
  return slot + "Out";
}

// `count` ops of the rule over parameters w0, w1, ...: two of them are fused where that is
// possible.
Bent training(const Rule& rule, bool sparse, int count) {
  std::string vars = "var lr f32[1] persistable\n", ops;
  for (int i = 0; i < count; ++i) {
    const auto var = [&](const std::string& name, const std::string& shape) {
      vars += fmt::format("var {}{} f32[{}] persistable\n", name, i, shape);
    };
    std::string in = fmt::format("Param=w{}, Grad=g{}, LearningRate=lr", i, i);
    std::string out = fmt::format("ParamOut=w{}", i);
    var("w", "2, 3");
    const auto add = [&](const std::string& slot, const std::string& shape, bool changes) {
      var(slot, shape);
      in += fmt::format(", {}={}{}", slot, slot, i);
      if (changes) out += fmt::format(", {}={}{}", out_of(slot), slot, i);
    };
    for (const std::string& slot : rule.states) add(slot, "2, 3", true);
    for (const std::string& slot : rule.numbers) add(slot, "1", true);
    if (rule.op == "adamax") add("Beta1Pow", "1", false);
    if (sparse) {
      var("v", "1, 3");
      vars += fmt::format("var r{} i64[1] persistable\n", i);
      ops += fmt::format("toy_rows(Rows=r{}, Value=v{}) -> g{} {{height=2L}}\n", i, i, i);
    } else {
      var("g", "2, 3");
    }
    ops += fmt::format("{}({}) -> {}{}\n", rule.op, in, out, rule.attrs);
  }
  Bent made(vars + ops);
  made.set("lr", tensor({0.1}));
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    made.set("w" + n, full({2, 3}, 1));
    if (sparse) {
      made.set("v" + n, full({1, 3}, 1))
          .set("r" + n, Tensor::of<int64_t>(std::array{int64_t{1}}, {1}));
    } else {
      made.set("g" + n, full({2, 3}, 1));
    }
    for (const std::string& slot : rule.states) made.set(slot + n, full({2, 3}, 1));
    for (const std::string& slot : rule.numbers) made.set(slot + n, tensor({0.9}));
    if (rule.op == "adamax") made.set("Beta1Pow" + n, tensor({0.9}));
  }
  return made;
}

bool takes_sparse(const Rule& rule) {
  static const std::set<std::string> kDense = {
      "adamax", "adadelta", "lars_momentum", "decayed_adagrad", "proximal_gd", "proximal_adagrad"};
  return !kDense.contains(rule.op);
}

TEST(ReplacedVariables, OptimizerStateIsComparedWithItsParameterInEveryRun) {
  for (const Rule& rule : rules()) {
    for (const bool sparse : {false, true}) {
      if (sparse && !takes_sparse(rule)) continue;
      for (const int count : {1, 2}) {
        SCOPED_TRACE(fmt::format("{} sparse={} count={}", rule.op, sparse, count));
        for (const std::string& slot : rule.states) {
          Bent bent = training(rule, sparse, count);
          EXPECT_EQ(bent.run(), "(not refused)");
          const std::string name = slot + std::to_string(count - 1);
          bent.set(name, full({1}, 1));
          EXPECT_EQ(bent.run(),
                    fmt::format("{} \"{}\" must have shape [2, 3], as Param \"w{}\" has, but has "
                                "shape [1]",
                                slot, name, count - 1));
          bent.set(name, full({2, 3}, 1));
          EXPECT_EQ(bent.run(), "(not refused)");
        }
        for (const std::string& slot : rule.numbers) {
          Bent bent = training(rule, sparse, count);
          EXPECT_EQ(bent.run(), "(not refused)");
          bent.set(slot + "0", Tensor(f32, {0}));
          EXPECT_EQ(bent.run(),
                    fmt::format("{} \"{}0\" must hold one number, but has shape [0]", slot, slot));
        }
      }
    }
  }
}

// Asks a test while a program runs.
class Asking final : public Caller {
 public:
  std::function<void()> asked = [] {};
  std::vector<Tensor> call(int64_t, const std::vector<Tensor>& inputs) override {
    asked();
    return inputs;
  }
  void check_interrupt() override { asked(); }
};

// A variable whose memory tells when it goes.
std::weak_ptr<void> put_watched(Scope& scope, const std::string& name, const Tensor& value) {
  const auto memory = std::make_shared<std::vector<char>>(static_cast<size_t>(value.bytes()));
  const auto buffer = Buffer::borrow(memory->data(), value.bytes(), memory);
  scope.var(name) = Tensor(value.dtype(), value.shape(), {}, buffer);
  scope.var(name).copy_from(value);
  return memory;
}

TEST(ReplacedVariables, ARunGoesOnWithWhatItFound) {
  const auto program = parse(
      "var x f32[2, 3] data\nvar g f32[2, 3]\nvar lr f32[1] persistable\n"
      "var w f32[2, 3] persistable\nvar v f32[2, 3] persistable\n"
      "py_func(X=x) -> Out=g {forward_callable_id=0}\n"
      "momentum(Param=w, Grad=g, Velocity=v, LearningRate=lr) -> ParamOut=w, VelocityOut=v "
      "{mu=0.5}\n");
  const std::vector<Feed> feeds = {{"x", full({2, 3}, 1)}};
  for (const bool erases : {false, true}) {
    SCOPED_TRACE(erases);
    Asking caller;
    Executor executor({.caller = &caller});
    Scope scope;
    scope.var("lr") = tensor({1});
    scope.var("w") = full({2, 3}, 10);
    const std::weak_ptr<void> memory = put_watched(scope, "v", full({2, 3}, 2));
    bool stayed = false;
    caller.asked = [&] {
      erases ? scope.erase("v") : void(scope.var("v") = full({1}, 1));
      stayed = !memory.expired();
    };
    executor.run(*program, feeds, {}, scope);
    EXPECT_TRUE(stayed);
    EXPECT_TRUE(memory.expired());  // nobody needs it after the run
    EXPECT_THAT(scope.var("w"), all_equal_to(8));
    caller.asked = [] {};
    EXPECT_EQ(refusal_of([&] { executor.run(*program, feeds, {}, scope); }),
              erases ? "variable \"v\" is read but has no value yet. Run the startup program first"
                     : "Velocity \"v\" must have shape [2, 3], as Param \"w\" has, but has shape "
                       "[1]");
  }
}

TEST(ReplacedVariables, ARunThatFailsHoldsNothing) {
  const auto program = parse(
      "var x f32[2] persistable\nvar y f32[2]\npy_func(X=x) -> Out=y {forward_callable_id=0}\n");
  Asking caller;
  Executor executor({.caller = &caller});
  Scope scope;
  const std::weak_ptr<void> memory = put_watched(scope, "x", tensor({1, 2}));
  caller.asked = [] { refuse("no"); };
  EXPECT_EQ(refusal_of([&] { executor.run(*program, {}, {"y"}, scope); }), "no");
  scope.erase("x");
  EXPECT_TRUE(memory.expired());
}

TEST(ReplacedVariables, SequencesStayAsARunFoundThem) {
  const auto program = parse(
      "var x f32[3, 1] lod=1 persistable\nvar t f32[3, 1] lod=1\nvar u f32[1] persistable\n"
      "var y f32[2, 1]\npy_func(X=u) -> Out=u {forward_callable_id=0}\n"
      "sequence_pool(X=x) -> Out=y {pooltype=\"SUM\"}\n");
  Asking caller;
  Executor executor({.caller = &caller});
  Scope scope;
  scope.var("u") = tensor({1});
  scope.var("x") = with_lod(full({3, 1}, 1), {{0, 1, 3}});
  caller.asked = [&] { scope.var("x").set_lod({{0, 300}}); };
  EXPECT_THAT(std::get<Tensor>(executor.run(*program, {}, {"y"}, scope)[0]), equal_to({1, 2}));
}

TEST(ReplacedVariables, AnotherDtypeMakesAnotherPlan) {
  Bent bent = training(rules()[2], false, 1);
  bent.set("Moment10", full({2, 3}, 1, f64));
  EXPECT_EQ(bent.run(), "slot Moment1 of adam must hold f32, but holds f64");
  bent.set("Moment10", full({2, 3}, 1));
  EXPECT_EQ(bent.run(), "(not refused)");
  bent.set("w0", full({2, 3}, 1, f64));
  EXPECT_THAT(bent.run(), HasSubstr("must hold f64, but holds f32"));
}

TEST(ReplacedVariables, OffsetsOfSequencesAreComparedWithTheRows) {
  Bent bent(
      "var x f32[3, 1] lod=1 persistable\nvar y f32[2, 1]\n"
      "sequence_pool(X=x) -> Out=y {pooltype=\"SUM\"}\n");
  Tensor x = full({3, 1}, 1);
  x.set_lod({{0, 1, 3}});
  EXPECT_EQ(bent.set("x", x).run({"y"}), "(not refused)");
  Tensor wrong = full({3, 1}, 1);
  wrong.set_lod({{0, 1, 300}});
  EXPECT_NE(bent.set("x", wrong).run({"y"}), "(not refused)");
}

TEST(BentPrograms, AFusedLayerNeedsABiasOfItsWidth) {
  const std::string vars =
      "var x f32[2, 3] persistable\nvar w f32[3, 4] persistable\nvar b f32[4] persistable\n"
      "var y f32[2, 4]\nvar g f32[2, 4] persistable\nvar dw f32[3, 4]\nvar db f32[4]\n";
  const auto run = [&](const std::string& op, int64_t width) {
    return Bent(vars + op)
        .set("x", full({2, 3}, 1))
        .set("w", full({3, 4}, 1))
        .set("g", full({2, 4}, 1))
        .set("b", full({width}, 1))
        .run(op.starts_with("fc") ? std::vector<std::string>{"y"}
                                  : std::vector<std::string>{"dw", "db"});
  };
  const std::string layer = "fc(Input=x, W=w, Bias=b) -> Out=y {activation_type=\"tanh\"}\n";
  const std::string gradient =
      "fused_fc_grad(Input=x, W=w, Bias=b, Out=g, Out@GRAD=g) -> W@GRAD=dw, Bias@GRAD=db\n";
  EXPECT_EQ(run(layer, 4), "(not refused)");
  EXPECT_EQ(run(gradient, 4), "(not refused)");
  const std::string expected =
      "Bias must have a number for each column of W, but is [2] and W is [3, 4]";
  EXPECT_EQ(run(layer, 2), expected);
  EXPECT_EQ(run(gradient, 2), expected);
}

TEST(BentPrograms, GradientsOfALossFitTheirLogits) {
  const auto run = [](const std::string& label, const std::string& loss, const std::string& attrs) {
    return refusal(
        fmt::format("var p f32[2, 3]\nvar l i64[1]\nvar d f32[1]\nvar g f32[2, 3]\n"
                    "fill_constant() -> Out=p {{shape=[2L, 3L], dtype=5, value=0.3}}\n"
                    "fill_constant() -> Out=l {{{}, dtype=3}}\n"
                    "fill_constant() -> Out=d {{shape={}, dtype=5}}\n"
                    "softmax_with_cross_entropy_grad(Softmax=p, Label=l, Loss@GRAD=d) -> "
                    "Logits@GRAD=g {{{}}}\n",
                    label, loss, attrs),
        {"g"});
  };
  EXPECT_EQ(run("shape=[2L, 1L], value=2.0", "[2L, 1L]", "axis=-1"), "(not refused)");
  EXPECT_EQ(run("shape=[2L, 1L], value=2.0", "[1L]", "axis=-1"),
            "Loss@GRAD of softmax_with_cross_entropy_grad must have shape [2, 1], "
            "but has shape [1]");
  EXPECT_THAT(run("shape=[1L, 1L], value=2.0", "[2L, 1L]", "axis=-1"),
              HasSubstr("Label must have shape [2, 1] because Logits is [2, 3]"));
  EXPECT_THAT(run("shape=[2L, 1L], value=2.0", "[2L, 1L]", "axis=0"),
              HasSubstr("Label must have shape [1, 3]"));
  EXPECT_EQ(run("shape=[2L, 1L], value=7.0", "[2L, 1L]", "axis=-1"),
            "label 0 is 7, but there are the classes 0 to 2");
}

TEST(BentPrograms, GradientsOfTheLargestElementsStandWhereTheyStood) {
  const auto run = [](const std::string& indices, const std::string& gradient) {
    return refusal(
        fmt::format("var x f32[2, 3]\nvar i i64[2, 1]\nvar d f32[2, 1]\nvar g f32[2, 3]\n"
                    "fill_constant() -> Out=x {{shape=[2L, 3L], dtype=5}}\n"
                    "fill_constant() -> Out=i {{{}, dtype=3}}\n"
                    "fill_constant() -> Out=d {{shape={}, dtype=5}}\n"
                    "top_k_v2_grad(X=x, Indices=i, Out@GRAD=d) -> X@GRAD=g {{k=1, axis=-1}}\n",
                    indices, gradient),
        {"g"});
  };
  EXPECT_EQ(run("shape=[2L, 1L], value=2.0", "[2L, 1L]"), "(not refused)");
  EXPECT_EQ(run("shape=[2L, 1L], value=3.0", "[2L, 1L]"),
            "Indices holds 3, but a slice of X has the elements 0 to 2");
  EXPECT_EQ(run("shape=[1L, 1L], value=2.0", "[1L, 1L]"),
            "Indices must have the extents of X save along axis -1, but is [1, 1] and X is [2, 3]");
  EXPECT_EQ(run("shape=[2L, 1L], value=2.0", "[1L]"),
            "Out@GRAD \"d\" must have shape [2, 1], as Indices \"i\" has, but has shape [1]");
}

TEST(BentPrograms, SparseRowsNeedAWidth) {
  EXPECT_EQ(refusal("var r i64[1] persistable\nvar y f32[1]\nvar x selected_rows f32[]\n"
                    "py_func() -> Out=x {forward_callable_id=0}\n"
                    "get_tensor_from_selected_rows(X=x) -> Out=y\n",
                    {"y"}),
            "Out \"x\" of py_func holds sparse rows, but no shape says how wide they are");
}

TEST(BentPrograms, WhatIsKeptBetweenRunsHoldsNoSparseRows) {
  const auto run = [](const std::string& kept) {
    Bent bent("var r i64[1] persistable\nvar v f32[1, 2] persistable\nvar x f32[2, 2]" + kept +
              "\nvar d f32[2, 2]\ntoy_rows(Rows=r, Value=v) -> x {height=2L}\n"
              "get_tensor_from_selected_rows(X=x) -> Out=d\n");
    return bent.set("r", ints({1})).set("v", full({1, 2}, 1)).run({"d"});
  };
  EXPECT_EQ(run(""), "(not refused)");
  EXPECT_EQ(run(" persistable"), "variable \"x\" is kept between runs and cannot hold sparse rows");
}

TEST(BentPrograms, SamplesHaveALabelForEachRow) {
  const auto run = [](int64_t rows) {
    return Bent(
               "var x f32[3, 9] persistable\nvar l i64[-1, 1] persistable\nvar s i64[3, 5]\n"
               "var p f32[3, 5]\nvar d f32[3, 9]\nvar y f32[3, 5]\nvar n i64[3, 1]\n"
               "sample_logits(Logits=x, Labels=l) -> Samples=s, Probabilities=p, LogitsDim=d, "
               "SampledLogits=y, SampledLabels=n {num_samples=4, seed=5}\n")
        .set("x", full({3, 9}, 1))
        .set("l", full({rows, 1}, 0, i64))
        .run({"y", "n"});
  };
  EXPECT_EQ(run(3), "(not refused)");
  EXPECT_EQ(run(2), "Labels must have a row for each of Logits, but they are [2, 1] and [3, 9]");
}

TEST(BentPrograms, ACenteredRuleKeepsItsMean) {
  const auto run = [](const std::string& mean) {
    Bent bent(
        "var w f32[2] persistable\nvar g f32[2] persistable\nvar lr f32[1] persistable\n"
        "var s f32[2] persistable\nvar m f32[2] persistable\nvar a f32[2] persistable\n"
        "rmsprop(Param=w, Grad=g, LearningRate=lr, MeanSquare=s, Moment=m, MeanGrad=a) -> "
        "ParamOut=w, MeanSquareOut=s, MomentOut=m" +
        mean + " {centered=true}\n");
    for (const std::string name : {"w", "g", "s", "m", "a"}) bent.set(name, full({2}, 1));
    return bent.set("lr", tensor({1})).run();
  };
  EXPECT_EQ(run(", MeanGradOut=a"), "(not refused)");
  EXPECT_EQ(run(""), "a centered rmsprop needs the output MeanGradOut");
  EXPECT_EQ(run(", MeanGradOut=@EMPTY@"),
            "rmsprop needs a variable in slot MeanGradOut, but has @EMPTY@ there");
}

TEST(BentPrograms, AVariableHasOneShapeInAllSlotsOfAnOp) {
  const auto run = [](const std::string& moment, const std::string& power) {
    Bent bent(
        "var w f32[2, 3] persistable\nvar g f32[2, 3] persistable\nvar lr f32[1] persistable\n"
        "var m f32[2, 3] persistable\nvar v f32[2, 3] persistable\nvar p f32[1] persistable\n"
        "var q f32[1] persistable\n"
        "adam(Param=w, Grad=g, LearningRate=lr, Moment1=m, Moment2=v, Beta1Pow=p, Beta2Pow=q) -> "
        "ParamOut=w, Moment1Out=" +
        moment + ", Moment2Out=v, Beta1PowOut=" + power + ", Beta2PowOut=q\n");
    for (const std::string name : {"w", "g", "m", "v"}) bent.set(name, full({2, 3}, 1));
    for (const std::string name : {"lr", "p", "q"}) bent.set(name, tensor({0.5}));
    return bent.run();
  };
  EXPECT_EQ(run("m", "p"), "(not refused)");
  EXPECT_EQ(run("m", "w"),
            "variable \"w\" is f32[1] in Beta1PowOut of adam and f32[2, 3] in another slot of it");
  for (const std::string number : {"lr", "q"}) {
    SCOPED_TRACE(number);
    EXPECT_THAT(run(number, "p"), HasSubstr("\"" + number + "\" is f32["));
  }
}

TEST(BentPrograms, AShapeHasNoOtherAxesThanItsOwn) {
  EXPECT_EQ(refusal_of([] { (void)Shape({2, 3})[2]; }), "a tensor of shape [2, 3] has no axis 2");
  EXPECT_EQ(refusal_of([] { (void)Shape({2, 3})[-1]; }), "a tensor of shape [2, 3] has no axis -1");
}

// A kernel that takes a second input to be as large as the first.
template <typename T>
Step careless(PrepareContext& c) {
  return [n = c.shape("X").numel(), x = c.in<T>("X"), y = c.in<T>("Y"), out = c.out<T>("Out")] {
    for (int64_t i = 0; i < n; ++i) out.data()[i] = x.data()[i] + y.data()[i];
  };
}

const OpDef& careless_op = define_op({
    .type = "toy_careless",
    .doc = "Forgets to look at Y.",
    .inputs = {{"X", "any tensor"}, {"Y", "like X"}},
    .outputs = {{"Out", "like X"}},
    .infer = [](InferContext& c) { c.out("Out") = c.in("X"); },
    .kernels = kernels_for<float>([]<typename T>(PrepareContext& c) { return careless<T>(c); }),
});

// A kernel that takes all variables of a list to be as large as the first, of which it asks for the
// dtype alone.
template <typename T>
Step careless_sum(PrepareContext& c) {
  std::vector<In<T>> ins;
  for (size_t i = 0; i < c.count("X"); ++i) ins.push_back(c.in<T>("X", i));
  return [n = c.shape("Out").numel(), ins, out = c.out<T>("Out")] {
    for (int64_t i = 0; i < n; ++i) {
      out.data()[i] = 0;
      for (const In<T>& x : ins) out.data()[i] += x.data()[i];
    }
  };
}

const OpDef& careless_sum_op = define_op({
    .type = "toy_careless_sum",
    .doc = "Looks at the first variable of X only.",
    .inputs = {{.name = "X", .doc = "any tensors", .list = true}},
    .outputs = {{"Out", "like the first of X"}},
    .infer =
        [](InferContext& c) {
          for (size_t i = 0; i < c.in_count("X"); ++i) {
            require(c.dtype("X", i) == f32, "X must be f32, but is {}", c.dtype("X", i));
          }
          c.out("Out") = c.in("X");
        },
    .kernels = kernels_for<float>([]<typename T>(PrepareContext& c) { return careless_sum<T>(c); }),
});

const OpDef& silent_op = define_op({
    .type = "toy_silent",
    .doc = "Says nothing of its second output.",
    .inputs = {{"X", "any tensor"}},
    .outputs = {{"Out", "like X"}, {"More", "any"}},
    .infer = [](InferContext& c) { c.out("Out") = c.in("X"); },
    .kernels = kernels_for<float>([]<typename T>(PrepareContext&) -> Step { return [] {}; }),
});

TEST(GeneralRules, AKernelMustNotReadWhatNobodyMeasured) {
  const std::string text = "var x f32[2] persistable\nvar y f32[1]\n";
  EXPECT_EQ(Bent(text + "toy_careless(X=x, Y=x) -> Out=y\n").set("x", tensor({1, 2})).run({"y"}),
            "the kernel of toy_careless reads variable 0 of its input Y, but nothing compares how "
            "many elements it has");
  Bent sum(text + "toy_careless_sum(X=[x, x]) -> Out=y\n");
  EXPECT_EQ(sum.set("x", tensor({1, 2})).run({"y"}),
            "the kernel of toy_careless_sum reads variable 1 of its input X, but nothing compares "
            "how many elements it has");
  EXPECT_EQ(Bent(text + "toy_silent(X=x) -> Out=y, More=z\n").set("x", tensor({1, 2})).run({"y"}),
            "toy_silent has no rule for variable 0 of its output More");
}

const OpDef& terse_op = define_op({
    .type = "toy_terse",
    .doc = "Says nothing of an output that may be left out.",
    .inputs = {{"X", "any tensor"}},
    .outputs = {{"Out", "like X"}, {.name = "More", .doc = "any", .optional = true}},
    .infer = [](InferContext& c) { c.out("Out") = c.in("X"); },
    .kernels = kernels_for<float>([]<typename T>(PrepareContext& c) -> Step {
      return [n = c.shape("X").numel(), x = c.in<T>("X"), out = c.out<T>("Out")] {
        std::copy_n(x.data(), n, out.data());
      };
    }),
});

TEST(GeneralRules, AnOutputThatAnOpSaysNothingOfIsNotWritten) {
  const auto run = [](const std::string& more, const std::string& fetch) {
    return Bent(
               "var x f32[2] persistable\nvar y f32[2]\nvar z f32[2]\nvar w f32[2]\n"
               "toy_terse(X=x) -> Out=y, More=z\n" +
               more)
        .set("x", tensor({1, 2}))
        .run({fetch});
  };
  EXPECT_EQ(run("", "y"), "(not refused)");
  EXPECT_EQ(run("relu(X=z) -> Out=w\n", "w"), "variable \"z\" is read before any op writes it");
}

TEST(GeneralRules, AKernelDoesNotMissAVariable) {
  const std::string vars =
      "var x f32[2, 3] data\nvar g f32[2, 3] data\nvar i i64[1, 1] data\n"
      "var y f32[2, 3]\n";
  const std::vector<Feed> feeds = {{"x", full({2, 3}, 1)},
                                   {"g", full({2, 3}, 1)},
                                   {"i", Tensor::of<int64_t>(std::array{int64_t{0}}, {1, 1})}};
  const auto run = [&](const std::string& ops) { return refusal(vars + ops, {"y"}, feeds); };
  // Nobody needs the gradient: there is nothing to do.
  EXPECT_EQ(run("relu(X=x) -> Out=y\ngather_nd_grad(X=x, Index=i, Out@GRAD=g) -> X@GRAD=@EMPTY@\n"),
            "(not refused)");
  // Nor an output.
  EXPECT_EQ(run("top_k(X=x) -> Out=y, Indices=@EMPTY@ {k=3}\n"), "(not refused)");
}

TEST(GeneralRules, AnOutputDoesNotStandAmongTheInputs) {
  const std::string vars = "var x f32[2] data\nvar y f32[2]\nrelu(X=x) -> Out=y\n";
  const auto run = [&](const std::string& op) {
    return refusal(vars + op, {"y"}, {{"x", tensor({1, 2})}});
  };
  EXPECT_EQ(run("py_func(X=x, Out=x) -> Other=y {forward_callable_id=0}\n"),
            "Out of py_func is an output, but the op has it among its inputs");
  // Programs of 1.8 have inputs of data_norm_grad among its outputs; nobody writes those.
  EXPECT_EQ(run("clip(X=x) -> Min=y, Out=y {min=0.0, max=1.0}\n"), "(not refused)");
}

TEST(GeneralRules, AGradientHasTheDtypeOfItsVariable) {
  Bent bent(
      "var x f64[4, 2] persistable\nvar g f32[1, 2] persistable\nvar dx f64[4, 2]\n"
      "slice_grad(Input=x, Out@GRAD=g) -> Input@GRAD=dx {axes=[0], starts=[1], ends=[2]}\n");
  bent.set("x", Tensor(f64, {4, 2})).set("g", full({1, 2}, 1));
  EXPECT_EQ(
      bent.run({"dx"}),
      "Out@GRAD of slice_grad must be f64, like the variable whose gradient it is, but is f32");
}

TEST(GeneralRules, SoHasOneOfAVariableThatIsPadded) {
  Bent bent(
      "var y f32[2] persistable\nvar g f64[3] persistable\nvar dy f32[2]\n"
      "pad_constant_like_grad(Y=y, Out@GRAD=g) -> Y@GRAD=dy\n");
  bent.set("y", full({2}, 1)).set("g", full({3}, 1, f64));
  EXPECT_EQ(
      bent.run({"dy"}),
      "pad_constant_like_grad moves elements between Out@GRAD and Y@GRAD, which must have one "
      "dtype, but hold f64 and f32");
}

TEST(GeneralRules, RowsWhoseNumberIsNotKnownAreNotWritten) {
  Bent bent(
      "var x i64[3] persistable\nvar m bool[3] persistable\nvar v f32[3, 2] persistable\n"
      "var some i64[-1]\nvar r f32[4, 2]\nvar d f32[4, 2]\n"
      "masked_select(X=x, Mask=m) -> Y=some\n"
      "toy_rows(Rows=some, Value=v) -> r {height=4L}\n"
      "get_tensor_from_selected_rows(X=r) -> d\n");
  bent.set("x", Tensor::of<int64_t>(std::array<int64_t, 3>{0, 1, 2}, {3}))
      .set("m", Tensor::of<bool>(std::array{true, false, true}, {3}))
      .set("v", full({3, 2}, 1));
  EXPECT_EQ(bent.run({"d"}), "Rows must number the rows of Value, but they are [2] and [3, 2]");
}

TEST(GeneralRules, EmptyOperandsAreNotReadFrom) {
  // Known integers of which one list is empty.
  EXPECT_EQ(refusal("var a i64[0]\nvar b i64[1]\nvar c i64[0]\n"
                    "fill_constant() -> Out=a {shape=[0L], dtype=3, value=1.0}\n"
                    "fill_constant() -> Out=b {shape=[1L], dtype=3, value=2.0}\n"
                    "elementwise_floordiv(X=a, Y=b) -> Out=c\n",
                    {"c"}),
            "(not refused)");
  // Rows of no columns.
  EXPECT_EQ(refusal("var x f32[2, 0] data\nvar y f32[2, 0]\nreverse(X=x) -> Out=y {axis=[0]}\n",
                    {"y"}, {{"x", Tensor(f32, {2, 0})}}),
            "(not refused)");
}

TEST(GeneralRules, NoWholeNumberIsDividedByZero) {
  const std::string text = "var x i32[0] data\nvar y i32[1]\nreduce_mean(X=x) -> Out=y\n";
  EXPECT_EQ(refusal(text, {"y"}, {{"x", Tensor(i32, {0})}}), "(not refused)");
}

TEST(GeneralRules, AGradientHasItsShapeWhereAnotherOneIsLeftOut) {
  const auto program = parse(
      "var x f32[2, 4, 3, 2] data\nvar s f32[4] data\nvar b f32[4] data\n"
      "var y f32[2, 4, 3, 2]\nvar m f32[8]\nvar v f32[8]\nvar db f32[4]\n"
      "instance_norm(X=x, Scale=s, Bias=b) -> Y=y, SavedMean=m, SavedVariance=v\n"
      "instance_norm_grad(X=x, Scale=s, SavedMean=m, SavedVariance=v, Y@GRAD=x) -> Bias@GRAD=db\n");
  Executor executor({.guarded = true});
  Scope scope;
  const std::vector<FetchedValue> found = executor.run(
      *program, {{"x", full({2, 4, 3, 2}, 1)}, {"s", full({4}, 1)}, {"b", full({4}, 1)}}, {"db"},
      scope);
  EXPECT_EQ(std::get<Tensor>(found[0]).shape(), Shape({4}));
}

TEST(GeneralRules, EveryVariableOfAListIsMeasured) {
  Bent bent(
      "var g f32[2] persistable\nvar h f32[2, 0] persistable\nvar x f32[2, 2]\n"
      "unstack_grad(Y@GRAD=[g, h]) -> X@GRAD=x {axis=0, num=2}\n");
  bent.set("g", full({2}, 1)).set("h", Tensor(f32, {2, 0}));
  EXPECT_EQ(
      bent.run({"x"}),
      "gradients of slices must have one shape, but Y@GRAD[0] is [2] and Y@GRAD[1] is [2, 0]");
}

TEST(GeneralRules, RowsWithoutLabelsAreNotRead) {
  Tensor empty(i64, {2, 0}), full_rows(i64, {2, 1});
  empty.set_lod({{0, 2}});
  full_rows.set_lod({{0, 2}});
  Bent bent(
      "var h i64[2, 0] persistable lod=1\nvar r i64[2, 1] persistable lod=1\n"
      "var y f32[1, 1]\nvar n i64[1]\n"
      "edit_distance(Hyps=h, Refs=r) -> Out=y, SequenceNum=n {normalized=false}\n");
  bent.set("h", empty).set("r", full_rows);
  EXPECT_EQ(bent.run({"y"}), "Hyps must hold a number for each of its rows, but holds 0");
}

TEST(GeneralRules, SumsOfNothingHaveAPlace) {
  const auto program = parse(
      "var x f32[2, 0] persistable\nvar y f32[1]\n"
      "einsum(Operands=x) -> Out=y {equation=\"ij->\"}\n");
  Executor executor({.guarded = true});
  Scope scope;
  scope.var("x") = Tensor(f32, {2, 0});
  EXPECT_EQ(message_of([&] { executor.run(*program, {}, {"y"}, scope); }), "(not refused)");
}

TEST(Limits, ExtentsOfWhatIsEmptyAreBoundedToo) {
  EXPECT_EQ(
      refusal("var x f32[0, 3] data\nvar y f32[0, 3]\n"
              "tile(X=x) -> Out=y {repeat_times=[4611686018427387904L, 4611686018427387904L]}\n",
              {"y"}, {{"x", Tensor(f32, {0, 3})}}),
      "a tensor can have 2^55 elements at most, but 3 times 4611686018427387904 are asked for");
  EXPECT_THAT(refusal("var x f32[1, 1, 2, 2] data\nvar y f32[1, 1, -1, -1]\n"
                      "nearest_interp_v2(X=x) -> Out=y {scale=[100000.0, 100000000.0]}\n",
                      {"y"}, {{"x", full({1, 1, 2, 2}, 1)}}),
              HasSubstr("bytes of memory at once"));
  EXPECT_THAT(refusal("var x f32[2, 3] data\nvar y f32[2, 3]\n"
                      "pad(X=x) -> Out=y {paddings=[0, 1000000, 0, 2147483647]}\n",
                      {"y"}, {{"x", full({2, 3}, 1)}}),
              HasSubstr("bytes of memory at once"));
}

TEST(Limits, AbsurdSizesAreRefusedBeforeTheyAreTaken) {
  const auto fill = [](const std::string& extents, bool persistable) {
    return message_of([&] {
      Executor executor;
      Scope scope;
      const auto program = parse(
          fmt::format("var big f32[1]{}\nfill_constant() -> Out=big {{shape=[{}], dtype=5}}\n",
                      persistable ? " persistable" : "", extents));
      executor.run(*program, {}, {"big"}, scope);
    });
  };
  EXPECT_THAT(fill("1000000000000000L", false), HasSubstr("\"big\" of 4000000000000000 bytes"));
  EXPECT_THAT(fill("100000L, 100000L, 1000L", false),
              ::testing::AllOf(
                  HasSubstr("the program needs 40000000000000 bytes of memory at once"),
                  HasSubstr("\"big\", float32[100000, 100000, 1000], of 40000000000000 bytes")));
  EXPECT_THAT(fill("10000000000000L", true),
              ::testing::AllOf(HasSubstr("cannot allocate a buffer of 40000000000000 bytes"),
                               HasSubstr("variable \"big\", float32[10000000000000]")));
  EXPECT_THAT(fill("4611686018427387904L, 4L", false), HasSubstr("2^55 elements at most"));
}

TEST(Limits, WhatAStepAsksForIsBoundedToo) {
  Executor executor;
  Scope scope;
  const auto program = parse(
      "var n i64[1] data\nvar z i64[1]\nvar s i64[1]\nvar y i64[-1]\n"
      "fill_constant() -> Out=z {shape=[1L], dtype=3, value=0.0}\n"
      "fill_constant() -> Out=s {shape=[1L], dtype=3, value=1.0}\n"
      "range(Start=z, End=n, Step=s) -> Out=y\n");
  const auto run = [&](int64_t n) {
    return message_of([&] {
      executor.run(*program, {{"n", Tensor::of<int64_t>(std::array{n}, {1})}}, {"y"}, scope);
    });
  };
  EXPECT_EQ(run(5), "(not refused)");
  EXPECT_THAT(run(int64_t{1} << 44), ::testing::AllOf(HasSubstr("cannot allocate a buffer of"),
                                                      HasSubstr("variable y i64[17592186044416]")));
}

TEST(Limits, RoundsThatRecordNothingAreCountedToo) {
  std::string body;
  for (int i = 0; i < 20; ++i) {
    body += fmt::format("var t{0} f32[0]\nsquare(X=s) -> Out=t{0}\nsum(X=[s, t{0}]) -> Out=s\n", i);
  }
  const auto program = parse(
      "var x f32[0] data\nvar c bool[1] data stop_gradient\nvar s f32[0]\nvar loss f32[1]\n"
      "scale(X=x) -> Out=s\nwhile(Condition=c, X=[s]) -> Out=[s, c] {sub_block=block 1}\n"
      "reduce_sum(X=s) -> Out=loss {reduce_all=true}\nblock 1 in 0 {\n" +
      body + "}\n");
  Block& block = program->global_block();
  const std::string gradient = gradients({block.find_var("loss")}, {block.find_var("x")}, {})[0];
  Asking caller;
  int64_t rounds = 0;
  caller.asked = [&] { require(++rounds < 100'000, "the loop goes on and on"); };
  Executor executor({.caller = &caller});
  Scope scope;
  set_memory_limit(memory_use().live + (1 << 20));
  const std::string found = refusal_of([&] {
    executor.run(*program, {{"x", Tensor(f32, {0})}, {"c", bools({true})}}, {gradient}, scope);
  });
  set_memory_limit(std::numeric_limits<int64_t>::max());
  EXPECT_THAT(found,
              HasSubstr("the gradient of while needs the values of each iteration, but after"));
}

TEST(Limits, BuffersAreCountedAgainstALimit) {
  set_memory_limit(memory_use().live + (1 << 20));
  EXPECT_THAT(refusal_of([] { Buffer::make(2 << 20); }), HasSubstr("cannot allocate a buffer"));
  set_memory_limit(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(refusal_of([] { Buffer::make(2 << 20); }), "(not refused)");
  EXPECT_GT(memory_left(), 2 << 20);
}

}  // namespace
}  // namespace flotilla
