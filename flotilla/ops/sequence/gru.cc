// flotilla/ops/sequence/gru.cc
//
// gru: gated recurrent units over sequences, by the formulas of gru.h. A row of Input holds what
// the caller has made of one step. BatchGate holds u, r, k of each row and BatchResetHiddenPrev r
// h', both in the order of Input; BatchHidden is Hidden.

#include "flotilla/ops/sequence/gru.h"

#include "flotilla/op/export_to_paddle.h"

namespace flotilla::ops {
namespace {

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
  return one_by_one({walk_back(c, n, dgates, hidden), sum_up(c, n, dgates, hidden)});
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

}  // namespace
}  // namespace flotilla::ops
