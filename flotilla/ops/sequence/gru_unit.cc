// flotilla/ops/sequence/gru_unit.cc
//
// gru_unit: one step of a gated recurrent unit for each row of a batch, by the formulas of gru.h.
// Gate holds u, r, k of each row and ResetHiddenPrev r h'. As in Paddle only Hidden passes on a
// gradient.

#include "flotilla/ops/common/product.h"
#include "flotilla/ops/sequence/gru.h"

namespace flotilla::ops {
namespace {

// Paddle's numbers for them.
Activation activation_at(const InferContext& c, std::string_view attr) {
  const int64_t number = c.attr<int64_t>(attr);
  require(0 <= number && number <= 3,
          "{} must be 0 (identity), 1 (sigmoid), 2 (tanh) or 3 (relu), but is {}", attr, number);
  return static_cast<Activation>(number);
}

void infer(InferContext& c) {
  const Shape &x = c.in("Input").shape, &h = c.in("HiddenPrev").shape,
              &weight = c.in("Weight").shape;
  require(weight.rank() == 2 && weight[1] == 3 * weight[0] && x.rank() == 2 && h.rank() == 2 &&
              fits(x[1], weight[1]) && fits(h[1], weight[0]) && fits(x[0], h[0]),
          "Input, HiddenPrev and Weight must have shapes [rows, 3 * width], [rows, width] and "
          "[width, 3 * width], but have {}, {} and {}",
          x, h, weight);
  const int64_t width = weight[0];
  check_count(c, "Bias", 3 * width);
  activation_at(c, "activation");
  activation_at(c, "gate_activation");
  c.out("Gate") = like(c.in("Input"), Shape{x[0], 3 * width});
  c.out("ResetHiddenPrev") = c.out("Hidden") = like(c.in("Input"), Shape{x[0], width});
}

struct Batch : GruUnit {
  int64_t rows = 0;

  explicit Batch(PrepareContext& c)
      : GruUnit{c.shape("Weight")[0], c.attr<bool>("origin_mode"),
                static_cast<Activation>(c.attr<int64_t>("gate_activation")),
                static_cast<Activation>(c.attr<int64_t>("activation"))},
        rows(c.shape("HiddenPrev")[0]) {}

  int64_t gates() const { return 3 * width; }                     // numbers in a row of gates
  int64_t candidate_weight() const { return 2 * width * width; }  // where it begins in Weight

  // Calls f(row, its place in a matrix of states, its place in one of gates) for all rows.
  template <typename F>
  void for_each_row(F f) const {
    parallel_for(rows, 32 * std::max<int64_t>(width, 1),
                 [&](int64_t row) { f(row * width, row * gates()); });
  }
};

template <typename T>
void add(const T* from, int64_t n, T* to) {
  for (int64_t i = 0; i < n; ++i) to[i] += from[i];
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Batch b(c);
  const int64_t n = b.rows, w = b.width;
  return
      [=, to_gates = Product<T>(c, {.m = n, .n = 2 * w, .k = w}),
       to_candidate = Product<T>(c, {.m = n, .n = w, .k = w}),
       work = c.workspace<T>(std::max<int64_t>(2 * n * w, 1)), in = c.in<T>("Input"),
       before = c.in<T>("HiddenPrev"), weight = c.in<T>("Weight"), bias = given<T>(c, "Bias"),
       gates = c.out<T>("Gate"), reset = c.out<T>("ResetHiddenPrev"), hidden = c.out<T>("Hidden")] {
        to_gates.run(before.data(), weight.data(), work.data());
        b.for_each_row([&](int64_t at, int64_t gate) {
          T* g = gates.data() + gate;
          std::copy_n(in.data() + gate, b.gates(), g);
          if (bias) add(bias.data(), b.gates(), g);
          add(work.data() + 2 * at, 2 * w, g);
          b.open(before.data() + at, g, reset.data() + at);
        });
        to_candidate.run(reset.data(), weight.data() + b.candidate_weight(), work.data());
        b.for_each_row([&](int64_t at, int64_t gate) {
          T* g = gates.data() + gate;
          add(work.data() + at, w, g + 2 * w);
          b.close(before.data() + at, g, hidden.data() + at);
        });
      };
};

// The gradients of what goes into the gates: those of Input, and apart for products, which are
// fastest where rows lie side by side.
template <typename T>
struct GateGradients {
  Out<T> all, of_gates, of_candidate;

  GateGradients(PrepareContext& c, const Batch& b)
      : all(made(c, "Input@GRAD", 3 * b.rows * b.width)),
        of_gates(made(c, "", 2 * b.rows * b.width)),
        of_candidate(made(c, "", b.rows * b.width)) {}

  static Out<T> made(PrepareContext& c, const char* slot, int64_t numbers) {
    return c.has(slot) ? c.out<T>(slot) : c.workspace<T>(std::max<int64_t>(numbers, 1));
  }
};

template <typename T>
Step walk_back(PrepareContext& c, const Batch& b, const GateGradients<T>& to) {
  const int64_t n = b.rows, w = b.width;
  const auto product = [&](int64_t columns, bool accumulate) {
    return Product<T>(
        c, {.m = n, .n = w, .k = columns, .transpose_b = true, .accumulate = accumulate});
  };
  return [=, to_reset = product(w, false), to_before = product(2 * w, true),
          dreset = to.made(c, "", n * w), dbefore = to.made(c, "HiddenPrev@GRAD", n * w),
          goes_on = c.has("HiddenPrev@GRAD"), before = c.in<T>("HiddenPrev"),
          weight = c.in<T>("Weight"), gates = c.in<T>("Gate"), dhidden = c.in<T>("Hidden@GRAD")] {
    T *const dg = to.all.data(), *const dh = dbefore.data();
    std::copy_n(dhidden.data(), n * w, dh);
    b.for_each_row([&](int64_t at, int64_t gate) {
      b.close_back(before.data() + at, gates.data() + gate, dh + at, dg + gate);
      std::copy_n(dg + gate + 2 * w, w, to.of_candidate.data() + at);
    });
    to_reset.run(to.of_candidate.data(), weight.data() + b.candidate_weight(), dreset.data());
    b.for_each_row([&](int64_t at, int64_t gate) {
      b.open_back(before.data() + at, gates.data() + gate, dreset.data() + at, dh + at, dg + gate);
      std::copy_n(dg + gate, 2 * w, to.of_gates.data() + 2 * at);
    });
    if (goes_on) to_before.run(to.of_gates.data(), weight.data(), dh);
  };
}

// The gradients of what all rows share.
template <typename T>
Step sum_up(PrepareContext& c, const Batch& b, const GateGradients<T>& from) {
  const int64_t n = b.rows, w = b.width;
  return [=, to_gates = Product<T>(c, {.m = w, .n = 2 * w, .k = n, .transpose_a = true}),
          to_candidate = Product<T>(c, {.m = w, .n = w, .k = n, .transpose_a = true}),
          before = c.in<T>("HiddenPrev"), reset = c.in<T>("ResetHiddenPrev"),
          dweight = wanted<T>(c, "Weight@GRAD"), dbias = wanted<T>(c, "Bias@GRAD")] {
    if (dbias) sum_rows(n, b.gates(), from.all.data(), dbias.data());
    if (!dweight) return;
    to_gates.run(before.data(), from.of_gates.data(), dweight.data());
    to_candidate.run(reset.data(), from.of_candidate.data(), dweight.data() + b.candidate_weight());
  };
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Batch b(c);
  const GateGradients<T> made(c, b);
  return one_by_one({walk_back(c, b, made), sum_up(c, b, made)});
};

const OpDef& gru_unit = define_op({
    .type = "gru_unit",
    .doc = "One step of a gated recurrent unit.",
    .inputs = {{.name = "Input", .doc = "[rows, 3 * width]"},
               {.name = "HiddenPrev", .doc = "[rows, width]"},
               {.name = "Weight", .doc = "[width, 3 * width]"},
               {.name = "Bias", .doc = "[1, 3 * width]", .optional = true}},
    .outputs = {{.name = "Gate", .doc = "the gates and the candidate", .no_grad = true},
                {.name = "ResetHiddenPrev", .doc = "what the reset gate left", .no_grad = true},
                {.name = "Hidden", .doc = "[rows, width]"}},
    .attrs = {{"activation", static_cast<int32_t>(Activation::kTanh),
               "of the candidate: 0 identity, 1 sigmoid, 2 tanh, 3 relu"},
              {"gate_activation", static_cast<int32_t>(Activation::kSigmoid), "likewise"},
              {"origin_mode", false,
               "whether the update gate keeps the old state, not the candidate"}},
    .infer = infer,
    .grad = grad_op(
        {shape_of("Input"), "HiddenPrev", "Weight", shape_of("Bias"), "Gate", "ResetHiddenPrev"},
        {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
