// flotilla/ops/sequence/gru.cc
//
// The formulas of a gated recurrent unit (Cho et al., 2014), row by row:
//
//   u, r = gate(Input_ur + h' W_ur + Bias_ur)                h': hidden state of the step before
//   k = activation(Input_k + (r h') W_k + Bias_k)
//   h = (1 - u) h' + u k, or with origin_mode u h' + (1 - u) k
//
// A row of gates holds what goes into u, r and k, `width` numbers each, and later what they are.
// Weight holds W_ur, [width, 2 * width], and behind it W_k, [width, width].
//
// gru: over sequences. A row of Input holds what the caller has made of one step. BatchGate holds
// u, r, k of each row and BatchResetHiddenPrev r h', both in the order of Input; BatchHidden is
// Hidden.
//
// gru_unit: one step for each row of a batch. Gate holds u, r, k of each row and ResetHiddenPrev r
// h'. As in Paddle only Hidden passes on a gradient.

#include "flotilla/kernel/in_order.h"
#include "flotilla/op/export_to_paddle.h"
#include "flotilla/ops/common/product.h"
#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/sequence/recurrent.h"

namespace flotilla::ops {
namespace {

struct GruUnit {
  int64_t width = 0;
  bool origin = false;
  Activation gate = {};
  Activation candidate = {};

  // What goes into the gates becomes them; reset = r h'. A null `before` stands for zeros.
  template <typename T>
  void open(const T* before, T* g, T* reset) const {
    for (int64_t j = 0; j < 2 * width; ++j) g[j] = activate(gate, g[j]);
    for (int64_t d = 0; d < width; ++d) {
      reset[d] = before == nullptr ? T{0} : g[width + d] * before[d];
    }
  }

  // What goes into the candidate becomes it, and gives the new state.
  template <typename T>
  void close(const T* before, T* g, T* h) const {
    for (int64_t d = 0; d < width; ++d) {
      const T old = before == nullptr ? T{0} : before[d], u = g[d];
      const T k = g[2 * width + d] = activate(candidate, g[2 * width + d]);
      h[d] = origin ? u * old + (1 - u) * k : (1 - u) * old + u * k;
    }
  }

  // Back through close(): dg, what goes into u and k. dh, the gradient of h, becomes what reaches
  // h' past the gates.
  template <typename T>
  void close_back(const T* before, const T* g, T* dh, T* dg) const {
    for (int64_t d = 0; d < width; ++d) {
      const T old = before == nullptr ? T{0} : before[d], u = g[d], k = g[2 * width + d];
      dg[d] = dh[d] * (origin ? old - k : k - old) * slope(gate, u);
      dg[2 * width + d] = dh[d] * (origin ? 1 - u : u) * slope(candidate, k);
      dh[d] *= origin ? u : 1 - u;
    }
  }

  // Back through open(): what goes into r, and what reaches h' by way of r h'.
  template <typename T>
  void open_back(const T* before, const T* g, const T* dreset, T* dh, T* dg) const {
    for (int64_t d = 0; d < width; ++d) {
      const T old = before == nullptr ? T{0} : before[d], r = g[width + d];
      dg[width + d] = dreset[d] * old * slope(gate, r);
      dh[d] += dreset[d] * r;
    }
  }
};

// ---- gru ----------------------------------------------------------------------------------------

void infer(InferContext& c) {
  const int64_t width = check_recurrence(c, 3);
  check_count(c, "Bias", 3 * width);
  check_first_state(c, "H0", width);
  const VarMeta& x = c.in("Input");
  const VarMeta state = like(x, Shape{x.shape[0], width});
  for (const char* slot : {"Hidden", "BatchHidden", "BatchResetHiddenPrev"}) c.out(slot) = state;
  c.out("BatchGate") = like(x);
}

template <typename T>
struct Network : Recurrence<T> {
  GruUnit unit;

  explicit Network(PrepareContext& c)
      : Recurrence<T>(c, 3),
        unit{this->width, c.attr<bool>("origin_mode"),
             activation_of(c.attr<std::string>("gate_activation")),
             activation_of(c.attr<std::string>("activation"))} {}

  const T* gate_weight() const { return this->weight.data(); }
  const T* candidate_weight() const { return this->weight.data() + 2 * this->width * this->width; }
};

// One step of a sequence: the gates of row g, which holds Input, and the new hidden row.
template <typename T>
void step_forward(const Network<T>& n, const T* before, T* g, T* reset, T* h) {
  const int64_t w = n.width;
  for (int64_t j = 0; n.bias && j < 3 * w; ++j) g[j] += n.bias.data()[j];
  if (before != nullptr) add_product(before, n.gate_weight(), w, 2 * w, g);
  n.unit.open(before, g, reset);
  if (before != nullptr) add_product(reset, n.candidate_weight(), w, w, g + 2 * w);
  n.unit.close(before, g, h);
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [n = Network<T>(c), in = c.in<T>("Input"), hidden = c.out<T>("Hidden"),
          gates = c.out<T>("BatchGate"), reset = c.out<T>("BatchResetHiddenPrev"),
          copy = wanted<T>(c, "BatchHidden")] {
    const int64_t w = n.width;
    n.walk_forward([&](int64_t r, int64_t previous) {
      T *g = gates.data() + r * 3 * w, *h = hidden.data() + r * w;
      std::copy_n(in.data() + r * 3 * w, 3 * w, g);
      step_forward(n, n.before(previous, hidden.data(), n.h0), g, reset.data() + r * w, h);
      if (copy) std::copy_n(h, w, copy.data() + r * w);
    });
  };
};

// One step backwards: dg, the gradient of what goes into each activation; dh becomes that of the
// hidden state before, `dreset` is scratch.
template <typename T>
void step_backward(const Network<T>& n, const T* g, const T* before, T* dh, T* dreset, T* dg) {
  const int64_t w = n.width;
  std::fill_n(dreset, w, T{0});
  n.unit.close_back(before, g, dh, dg);
  add_product_back(dg + 2 * w, n.candidate_weight(), w, w, dreset);
  n.unit.open_back(before, g, dreset, dh, dg);
  add_product_back(dg, n.gate_weight(), w, 2 * w, dh);
}

// dGates of every row, and the gradient of H0.
template <typename T>
Step walk_back(PrepareContext& c, const Network<T>& n, Out<T> dgates, In<T> hidden) {
  return [=, scratch = n.back_scratch(c), gates = c.in<T>("BatchGate"),
          dhidden = c.in<T>("Hidden@GRAD"), dh0 = wanted<T>(c, "H0@GRAD")] {
    const int64_t w = n.width;
    n.walk_back(scratch, dh0, Out<T>(), [&](int64_t r, int64_t previous, T* dh) {
      for (int64_t d = 0; d < w; ++d) dh[d] += dhidden.data()[r * w + d];
      step_backward(n, gates.data() + r * 3 * w, n.before(previous, hidden.data(), n.h0), dh,
                    dh + w, dgates.data() + r * 3 * w);
    });
  };
}

// The gradients of what all rows share.
template <typename T>
Step sum_up(PrepareContext& c, const Network<T>& n, Out<T> dgates, In<T> hidden) {
  const int64_t w = n.width;
  const Out<int64_t> previous = c.workspace<int64_t>(std::max<int64_t>(n.rows, 1));
  return [=, reset = c.in<T>("BatchResetHiddenPrev"), dweight = wanted<T>(c, "Weight@GRAD"),
          dbias = wanted<T>(c, "Bias@GRAD")] {
    if (dbias) sum_rows(n.rows, 3 * w, dgates.data(), dbias.data());
    if (!dweight) return;
    find_previous(n.sequences.offsets(), n.reverse, previous.data());
    const auto h = [&](int64_t r) { return n.before(previous.data()[r], hidden.data(), n.h0); };
    const auto gate = [&](int64_t r) { return dgates.data() + r * 3 * w; };
    sum_products(n.rows, w, 2 * w, h, gate, dweight.data());
    sum_products(
        n.rows, w, w, [&](int64_t r) { return reset.data() + r * w; },
        [&](int64_t r) { return gate(r) + 2 * w; }, dweight.data() + 2 * w * w);
  };
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Network<T> n(c);
  const Out<T> dgates = n.gate_gradients(c);
  const In<T> hidden = c.in<T>("Hidden");
  return in_order({walk_back(c, n, dgates, hidden), sum_up(c, n, dgates, hidden)});
};

const OpDef& gru = define_op({
    .type = "gru",
    .doc = "Gated recurrent units over sequences.",
    .inputs = {{.name = "Input", .doc = "rows with a LoD, [rows, 3 * width]"},
               {.name = "H0", .doc = "hidden state before each sequence", .optional = true},
               {.name = "Weight", .doc = "[width, 3 * width]"},
               {.name = "Bias", .doc = "[1, 3 * width]", .optional = true}},
    .outputs = {{.name = "Hidden", .doc = "[rows, width]"},
                {.name = "BatchGate", .doc = "for the gradient", .no_grad = true},
                {.name = "BatchResetHiddenPrev", .doc = "for the gradient", .no_grad = true},
                {.name = "BatchHidden", .doc = "Hidden", .optional = true, .no_grad = true}},
    .attrs = {{"activation", "tanh", "of the candidate: identity, sigmoid, tanh or relu"},
              {"gate_activation", "sigmoid", "likewise"},
              {"is_reverse", false, "whether sequences are read from their end"},
              {"origin_mode", false,
               "whether the update gate keeps the old state, not the candidate"}},
    .infer = infer,
    .grad = grad_op(
        {shape_of("Input"), "H0", "Weight", shape_of("Bias"), "Hidden", "BatchGate",
         "BatchResetHiddenPrev"},
        {.kernels = kernels_for<float, double>(backward),
         .to_paddle = [](Block& block,
                         size_t i) { add_output_of_forward(block, i, "Input", "BatchHidden"); }}),
    .kernels = kernels_for<float, double>(forward),
});

// ---- gru_unit -----------------------------------------------------------------------------------

// Paddle's numbers for them.
Activation activation_at(const InferContext& c, std::string_view attr) {
  const int64_t number = c.attr<int64_t>(attr);
  require(0 <= number && number <= 3,
          "{} must be 0 (identity), 1 (sigmoid), 2 (tanh) or 3 (relu), but is {}", attr, number);
  return static_cast<Activation>(number);
}

void infer_unit(InferContext& c) {
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

constexpr auto unit_forward = []<typename T>(PrepareContext& c) -> Step {
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

constexpr auto unit_backward = []<typename T>(PrepareContext& c) -> Step {
  const Batch b(c);
  const GateGradients<T> made(c, b);
  return in_order({walk_back(c, b, made), sum_up(c, b, made)});
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
    .infer = infer_unit,
    .grad = float_grad(
        {shape_of("Input"), "HiddenPrev", "Weight", shape_of("Bias"), "Gate", "ResetHiddenPrev"},
        unit_backward),
    .kernels = kernels_for<float, double>(unit_forward),
});

}  // namespace
}  // namespace flotilla::ops
