// flotilla/ops/sequence/gru.cc
//
// gru: gated recurrent units over sequences (Cho et al., 2014). A row of Input holds what the
// caller has made of one step, three parts of `width` numbers: update gate, reset gate, candidate.
//
//   u, r = gate(Input_ur + h' W_ur + Bias_ur)                h': hidden state of the step before
//   k = activation(Input_k + (r h') W_k + Bias_k)
//   h = (1 - u) h' + u k, or with origin_mode u h' + (1 - u) k
//
// Weight holds W_ur, [width, 2 * width], and behind it W_k, [width, width]. BatchGate holds u, r, k
// of each row and BatchResetHiddenPrev r h', both in the order of Input; BatchHidden is Hidden.

#include "flotilla/op/op_def.h"
#include "flotilla/op/spell_out.h"
#include "flotilla/ops/sequence/recurrent.h"
#include "flotilla/ops/tensor/known_value.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_sequences(c, "Input");
  const Shape &x = c.in("Input").shape, &weight = c.in("Weight").shape;
  require(x.rank() == 2 && weight.rank() == 2 && weight[1] == 3 * weight[0] &&
              (x[1] < 0 || x[1] == weight[1]),
          "Input and Weight must have shapes [rows, 3 * width] and [width, 3 * width], but have {} "
          "and {}",
          x, weight);
  const int64_t width = weight[0];
  require(!c.has_in("Bias") || c.in("Bias").shape.numel() == 3 * width,
          "Bias must hold {} numbers, but has shape {}", 3 * width,
          c.has_in("Bias") ? c.in("Bias").shape : Shape());
  check_first_state(c, "H0", width);
  const VarMeta state = like(c.in("Input"), Shape{x[0], width});
  for (const char* slot : {"Hidden", "BatchHidden", "BatchResetHiddenPrev"}) c.out(slot) = state;
  c.out("BatchGate") = like(c.in("Input"));
}

template <typename T>
struct Network : Recurrence<T> {
  bool origin = false;
  Activation gate = {};
  Activation candidate = {};

  explicit Network(PrepareContext& c)
      : Recurrence<T>(c, 3),
        origin(c.attr<bool>("origin_mode")),
        gate(activation_of(c.attr<std::string>("gate_activation"))),
        candidate(activation_of(c.attr<std::string>("activation"))) {}

  const T* gate_weight() const { return this->weight.data(); }
  const T* candidate_weight() const { return this->weight.data() + 2 * this->width * this->width; }
};

// One step of a sequence: the gates of row g, which holds Input, and the new hidden row.
template <typename T>
void step_forward(const Network<T>& n, const T* h_before, T* g, T* reset, T* h) {
  const int64_t w = n.width;
  for (int64_t j = 0; n.bias && j < 3 * w; ++j) g[j] += n.bias.data()[j];
  if (h_before != nullptr) add_product(h_before, n.gate_weight(), w, 2 * w, g);
  T *u = g, *r = g + w, *k = g + 2 * w;
  for (int64_t d = 0; d < w; ++d) {
    u[d] = activate(n.gate, u[d]);
    r[d] = activate(n.gate, r[d]);
    reset[d] = h_before == nullptr ? T{0} : r[d] * h_before[d];
  }
  if (h_before != nullptr) add_product(reset, n.candidate_weight(), w, w, k);
  for (int64_t d = 0; d < w; ++d) {
    k[d] = activate(n.candidate, k[d]);
    const T old = h_before == nullptr ? T{0} : h_before[d];
    h[d] = n.origin ? u[d] * old + (1 - u[d]) * k[d] : (1 - u[d]) * old + u[d] * k[d];
  }
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [n = Network<T>(c), in = c.in<T>("Input"), hidden = c.out<T>("Hidden"),
          gates = c.out<T>("BatchGate"), reset = c.out<T>("BatchResetHiddenPrev"),
          copy = wanted<T>(c, "BatchHidden")] {
    const int64_t w = n.width;
    parallel_for(n.count(), n.work(), [&](int64_t s) {
      const SequenceWalk walk = n.walk(s);
      const T* h = n.first(n.h0, s);
      for (int64_t step = 0; step < walk.length(); ++step) {
        const int64_t r = walk.row(step);
        std::copy_n(in.data() + r * 3 * w, 3 * w, gates.data() + r * 3 * w);
        step_forward(n, h, gates.data() + r * 3 * w, reset.data() + r * w, hidden.data() + r * w);
        h = hidden.data() + r * w;
        if (copy) std::copy_n(h, w, copy.data() + r * w);
      }
    });
  };
};

// One step backwards: dg, the gradient of what goes into each activation; dh becomes that of the
// hidden state before, `dreset` is scratch.
template <typename T>
void step_backward(const Network<T>& n, const T* g, const T* h_before, T* dh, T* dreset, T* dg) {
  const int64_t w = n.width;
  const T *u = g, *r = g + w, *k = g + 2 * w;
  std::fill_n(dreset, w, T{0});
  for (int64_t d = 0; d < w; ++d) {
    const T old = h_before == nullptr ? T{0} : h_before[d];
    const T to_u = dh[d] * (n.origin ? old - k[d] : k[d] - old);
    const T to_k = dh[d] * (n.origin ? 1 - u[d] : u[d]);
    dg[d] = to_u * slope(n.gate, u[d]);
    dg[2 * w + d] = to_k * slope(n.candidate, k[d]);
    dh[d] *= n.origin ? u[d] : 1 - u[d];
  }
  add_product_back(dg + 2 * w, n.candidate_weight(), w, w, dreset);
  for (int64_t d = 0; d < w; ++d) {
    const T old = h_before == nullptr ? T{0} : h_before[d];
    dg[w + d] = dreset[d] * old * slope(n.gate, r[d]);
    dh[d] += dreset[d] * r[d];
  }
  add_product_back(dg, n.gate_weight(), w, 2 * w, dh);
}

// dGates of every row, and the gradient of H0.
template <typename T>
Step walk_back(PrepareContext& c, const Network<T>& n, Out<T> dgates, In<T> hidden) {
  const Out<T> carried = c.workspace<T>(std::max<int64_t>(2 * n.width * n.rows, 1));
  return [=, gates = c.in<T>("BatchGate"), dhidden = c.in<T>("Hidden@GRAD"),
          dh0 = wanted<T>(c, "H0@GRAD")] {
    const int64_t w = n.width;
    parallel_for(n.count(), 2 * n.work(), [&](int64_t s) {
      const SequenceWalk walk = n.walk(s);
      if (walk.length() == 0) {
        if (dh0) std::fill_n(dh0.data() + s * w, w, T{0});
        return;
      }
      T *dh = carried.data() + walk.begin * 2 * w, *dreset = dh + w;
      std::fill_n(dh, w, T{0});
      for (int64_t step = walk.length(); step-- > 0;) {
        const int64_t r = walk.row(step);
        const T* h_before = step > 0 ? hidden.data() + walk.row(step - 1) * w : n.first(n.h0, s);
        for (int64_t d = 0; d < w; ++d) dh[d] += dhidden.data()[r * w + d];
        step_backward(n, gates.data() + r * 3 * w, h_before, dh, dreset, dgates.data() + r * 3 * w);
      }
      if (dh0) std::copy_n(dh, w, dh0.data() + s * w);
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
    const T* h0 = n.h0 ? n.h0.data() : nullptr;
    find_previous(n.sequences.offsets(), n.reverse, previous.data());
    const auto h = [&](int64_t r) { return before(previous.data()[r], hidden.data(), h0, w); };
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
  return [back = walk_back(c, n, dgates, hidden), sum = sum_up(c, n, dgates, hidden)] {
    back();
    sum();
  };
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
         .spell_out = [](Block& block,
                         size_t i) { add_output_of_forward(block, i, "Input", "BatchHidden"); }}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
