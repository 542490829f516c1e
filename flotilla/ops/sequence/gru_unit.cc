// flotilla/ops/sequence/gru_unit.cc
//
// gru_unit: one step of a gated recurrent unit for each row of a batch. The formulas and the parts
// of Weight are those of gru (gru.cc); Gate holds u, r, k of each row and ResetHiddenPrev r h'. As
// in Paddle only Hidden passes on a gradient.

#include "flotilla/op/op_def.h"
#include "flotilla/ops/math/product.h"
#include "flotilla/ops/sequence/recurrent.h"
#include "flotilla/ops/tensor/known_value.h"

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
              (x[1] < 0 || x[1] == weight[1]) && (h[1] < 0 || h[1] == weight[0]) &&
              (x[0] < 0 || h[0] < 0 || x[0] == h[0]),
          "Input, HiddenPrev and Weight must have shapes [rows, 3 * width], [rows, width] and "
          "[width, 3 * width], but have {}, {} and {}",
          x, h, weight);
  const int64_t width = weight[0];
  require(!c.has_in("Bias") || c.in("Bias").shape.numel() == 3 * width,
          "Bias must hold {} numbers, but has shape {}", 3 * width,
          c.has_in("Bias") ? c.in("Bias").shape : Shape());
  activation_at(c, "activation");
  activation_at(c, "gate_activation");
  c.out("Gate") = like(c.in("Input"), Shape{x[0], 3 * width});
  c.out("ResetHiddenPrev") = like(c.in("Input"), Shape{x[0], width});
  c.out("Hidden") = like(c.in("Input"), Shape{x[0], width});
}

struct Unit {
  int64_t rows = 0;
  int64_t width = 0;
  bool origin = false;
  Activation gate = {};
  Activation candidate = {};

  explicit Unit(PrepareContext& c)
      : rows(c.shape("HiddenPrev")[0]),
        width(c.shape("Weight")[0]),
        origin(c.attr<bool>("origin_mode")),
        gate(static_cast<Activation>(c.attr<int64_t>("gate_activation"))),
        candidate(static_cast<Activation>(c.attr<int64_t>("activation"))) {}

  // Calls f(row) for all of them.
  template <typename F>
  void for_each_row(F f) const {
    parallel_for(rows, 32 * std::max<int64_t>(width, 1), f);
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Unit unit(c);
  const int64_t n = unit.rows, w = unit.width;
  return [=, to_gates = Product<T>(c, {.m = n, .n = 2 * w, .k = w}),
          to_candidate = Product<T>(c, {.m = n, .n = w, .k = w}),
          work = c.workspace<T>(std::max<int64_t>(2 * n * w, 1)), in = c.in<T>("Input"),
          before = c.in<T>("HiddenPrev"), weight = c.in<T>("Weight"), bias = given<T>(c, "Bias"),
          gates = c.out<T>("Gate"), reset = c.out<T>("ResetHiddenPrev"),
          hidden = c.out<T>("Hidden")] {
    const auto biased = [&](int64_t row, int64_t j) {
      return in.data()[row * 3 * w + j] + (bias ? bias.data()[j] : T{0});
    };
    const T* made = work.data();
    to_gates.run(before.data(), weight.data(), work.data());
    unit.for_each_row([&](int64_t row) {
      T* g = gates.data() + row * 3 * w;
      for (int64_t j = 0; j < 2 * w; ++j) {
        g[j] = activate(unit.gate, biased(row, j) + made[row * 2 * w + j]);
      }
      for (int64_t d = 0; d < w; ++d) {
        reset.data()[row * w + d] = g[w + d] * before.data()[row * w + d];
      }
    });
    to_candidate.run(reset.data(), weight.data() + 2 * w * w, work.data());
    unit.for_each_row([&](int64_t row) {
      T* g = gates.data() + row * 3 * w;
      for (int64_t d = 0; d < w; ++d) {
        const T old = before.data()[row * w + d], u = g[d];
        const T k = activate(unit.candidate, biased(row, 2 * w + d) + made[row * w + d]);
        g[2 * w + d] = k;
        hidden.data()[row * w + d] = unit.origin ? u * old + (1 - u) * k : (1 - u) * old + u * k;
      }
    });
  };
};

// What goes into the activations: of the gates [rows, 2 * width], and of the candidate. `old` is
// what reaches the state before directly, `reset` what reaches r h'.
template <typename T>
struct Gradients {
  Out<T> gates, candidate, reset, old;

  Gradients(PrepareContext& c, int64_t numbers)
      : gates(c.workspace<T>(2 * numbers)),
        candidate(c.workspace<T>(numbers)),
        reset(c.workspace<T>(numbers)),
        old(c.workspace<T>(numbers)) {}
};

template <typename T>
Step walk_back(PrepareContext& c, const Unit& unit, const Gradients<T>& to) {
  const int64_t n = unit.rows, w = unit.width;
  return [=, to_reset = Product<T>(c, {.m = n, .n = w, .k = w, .transpose_b = true}),
          before = c.in<T>("HiddenPrev"), weight = c.in<T>("Weight"), gates = c.in<T>("Gate"),
          dhidden = c.in<T>("Hidden@GRAD")] {
    unit.for_each_row([&](int64_t row) {
      const T* g = gates.data() + row * 3 * w;
      for (int64_t d = 0; d < w; ++d) {
        const int64_t i = row * w + d;
        const T old = before.data()[i], dh = dhidden.data()[i], u = g[d], k = g[2 * w + d];
        const T to_u = dh * (unit.origin ? old - k : k - old);
        to.gates.data()[row * 2 * w + d] = to_u * slope(unit.gate, u);
        to.candidate.data()[i] = dh * (unit.origin ? 1 - u : u) * slope(unit.candidate, k);
        to.old.data()[i] = dh * (unit.origin ? u : 1 - u);
      }
    });
    to_reset.run(to.candidate.data(), weight.data() + 2 * w * w, to.reset.data());
    unit.for_each_row([&](int64_t row) {
      const T* r = gates.data() + row * 3 * w + w;
      for (int64_t d = 0; d < w; ++d) {
        const int64_t i = row * w + d;
        const T dreset = to.reset.data()[i];
        to.gates.data()[row * 2 * w + w + d] = dreset * before.data()[i] * slope(unit.gate, r[d]);
        to.old.data()[i] += dreset * r[d];
      }
    });
  };
}

// The gradients of Input, HiddenPrev and Bias.
template <typename T>
Step spread(PrepareContext& c, const Unit& unit, const Gradients<T>& from) {
  const int64_t n = unit.rows, w = unit.width;
  return [=,
          to_old =
              Product<T>(c, {.m = n, .n = w, .k = 2 * w, .transpose_b = true, .accumulate = true}),
          weight = c.in<T>("Weight"), din = wanted<T>(c, "Input@GRAD"),
          dbefore = wanted<T>(c, "HiddenPrev@GRAD"), dbias = wanted<T>(c, "Bias@GRAD")] {
    if (din) {
      unit.for_each_row([&](int64_t row) {
        T* to = std::copy_n(from.gates.data() + row * 2 * w, 2 * w, din.data() + row * 3 * w);
        std::copy_n(from.candidate.data() + row * w, w, to);
      });
    }
    if (dbefore) {
      std::copy_n(from.old.data(), n * w, dbefore.data());
      to_old.run(from.gates.data(), weight.data(), dbefore.data());
    }
    if (!dbias) return;
    sum_rows(n, 2 * w, from.gates.data(), dbias.data());
    sum_rows(n, w, from.candidate.data(), dbias.data() + 2 * w);
  };
}

template <typename T>
Step weigh(PrepareContext& c, const Unit& unit, const Gradients<T>& from) {
  if (!c.has("Weight@GRAD")) return [] {};
  const int64_t n = unit.rows, w = unit.width;
  return [=, of_gates = Product<T>(c, {.m = w, .n = 2 * w, .k = n, .transpose_a = true}),
          of_candidate = Product<T>(c, {.m = w, .n = w, .k = n, .transpose_a = true}),
          before = c.in<T>("HiddenPrev"), reset = c.in<T>("ResetHiddenPrev"),
          dweight = c.out<T>("Weight@GRAD")] {
    of_gates.run(before.data(), from.gates.data(), dweight.data());
    of_candidate.run(reset.data(), from.candidate.data(), dweight.data() + 2 * w * w);
  };
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Unit unit(c);
  const Gradients<T> made(c, std::max<int64_t>(unit.rows * unit.width, 1));
  return [first = walk_back(c, unit, made), then = spread(c, unit, made),
          last = weigh(c, unit, made)] {
    first();
    then();
    last();
  };
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
