// flotilla/ops/sequence/lstm.cc
//
// lstm: long short-term memory over sequences (Hochreiter and Schmidhuber, 1997), with peepholes
// (Gers and Schmidhuber, 2000). A row of Input holds what the caller has made of one step, four
// parts of `width` numbers: candidate, input gate, forget gate, output gate.
//
//   g = Input + h' Weight + Bias[0, 4 width)                h', c': of the step before
//   k = candidate(g_k), i = gate(g_i + p_i c'), f = gate(g_f + p_f c')
//   c = k i + c' f, o = gate(g_o + p_o c), h = o cell(c)    p: Bias[4 width, 7 width)
//
// BatchGate holds k, i, f, o of each row and BatchCellPreAct holds cell(c), both in the order of
// Input.

#include "flotilla/op/op_def.h"
#include "flotilla/ops/sequence/recurrent.h"
#include "flotilla/ops/tensor/known_value.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_sequences(c, "Input");
  const Shape &x = c.in("Input").shape, &weight = c.in("Weight").shape;
  require(x.rank() == 2 && weight.rank() == 2 && weight[1] == 4 * weight[0] &&
              (x[1] < 0 || x[1] == weight[1]),
          "Input and Weight must have shapes [rows, 4 * width] and [width, 4 * width], but have {} "
          "and {}",
          x, weight);
  const int64_t width = weight[0], numbers = (c.attr<bool>("use_peepholes") ? 7 : 4) * width;
  require(c.in("Bias").shape.numel() == numbers, "Bias must hold {} numbers, but has shape {}",
          numbers, c.in("Bias").shape);
  for (const char* slot : {"H0", "C0"}) check_first_state(c, slot, width);
  const VarMeta state = like(c.in("Input"), Shape{x[0], width});
  for (const char* slot : {"Hidden", "Cell", "BatchCellPreAct"}) c.out(slot) = state;
  c.out("BatchGate") = like(c.in("Input"));
}

template <typename T>
struct Network : Recurrence<T> {
  bool peeps = false;
  Activation gate = {};
  Activation cell = {};
  Activation candidate = {};
  In<T> c0;

  explicit Network(PrepareContext& c)
      : Recurrence<T>(c, 4),
        peeps(c.attr<bool>("use_peepholes")),
        gate(activation_of(c.attr<std::string>("gate_activation"))),
        cell(activation_of(c.attr<std::string>("cell_activation"))),
        candidate(activation_of(c.attr<std::string>("candidate_activation"))),
        c0(given<T>(c, "C0")) {}

  // Of gate 0 (input), 1 (forget) or 2 (output), at unit d.
  T peephole(int64_t which, int64_t d) const {
    return peeps ? this->bias.data()[(4 + which) * this->width + d] : T{0};
  }
};

// One step of a sequence: the gates of row g, which holds Input, and the new cell and hidden rows.
template <typename T>
void step_forward(const Network<T>& n, const T* h_before, const T* c_before, T* g, T* c, T* active,
                  T* h) {
  const int64_t w = n.width;
  for (int64_t j = 0; j < 4 * w; ++j) g[j] += n.bias.data()[j];
  if (h_before != nullptr) add_product(h_before, n.weight.data(), w, 4 * w, g);
  T *k = g, *i = g + w, *f = g + 2 * w, *o = g + 3 * w;
  for (int64_t d = 0; d < w; ++d) {
    const T old = c_before == nullptr ? T{0} : c_before[d];
    k[d] = activate(n.candidate, k[d]);
    i[d] = activate(n.gate, i[d] + n.peephole(0, d) * old);
    f[d] = activate(n.gate, f[d] + n.peephole(1, d) * old);
    c[d] = k[d] * i[d] + old * f[d];
    o[d] = activate(n.gate, o[d] + n.peephole(2, d) * c[d]);
    active[d] = activate(n.cell, c[d]);
    h[d] = o[d] * active[d];
  }
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [n = Network<T>(c), in = c.in<T>("Input"), hidden = c.out<T>("Hidden"),
          cell = c.out<T>("Cell"), gates = c.out<T>("BatchGate"),
          active = c.out<T>("BatchCellPreAct")] {
    const int64_t w = n.width;
    parallel_for(n.count(), n.work(), [&](int64_t s) {
      const SequenceWalk walk = n.walk(s);
      const T *h = n.first(n.h0, s), *old = n.first(n.c0, s);
      for (int64_t step = 0; step < walk.length(); ++step) {
        const int64_t r = walk.row(step);
        std::copy_n(in.data() + r * 4 * w, 4 * w, gates.data() + r * 4 * w);
        step_forward(n, h, old, gates.data() + r * 4 * w, cell.data() + r * w,
                     active.data() + r * w, hidden.data() + r * w);
        h = hidden.data() + r * w;
        old = cell.data() + r * w;
      }
    });
  };
};

// One step backwards: dg, the gradient of what goes into each activation; dc becomes that of the
// cell before.
template <typename T>
void step_backward(const Network<T>& n, const T* g, const T* active, const T* c_before, const T* dh,
                   T* dc, T* dg) {
  const int64_t w = n.width;
  const T *k = g, *i = g + w, *f = g + 2 * w, *o = g + 3 * w;
  for (int64_t d = 0; d < w; ++d) {
    const T old = c_before == nullptr ? T{0} : c_before[d];
    const T to_o = dh[d] * active[d] * slope(n.gate, o[d]);
    const T to_c = dc[d] + dh[d] * o[d] * slope(n.cell, active[d]) + to_o * n.peephole(2, d);
    const T to_i = to_c * k[d] * slope(n.gate, i[d]), to_f = to_c * old * slope(n.gate, f[d]);
    dg[d] = to_c * i[d] * slope(n.candidate, k[d]);
    dg[w + d] = to_i;
    dg[2 * w + d] = to_f;
    dg[3 * w + d] = to_o;
    dc[d] = to_c * f[d] + to_i * n.peephole(0, d) + to_f * n.peephole(1, d);
  }
}

// Adds a row that may not be there.
template <typename T>
void add_row(In<T> from, int64_t row, int64_t width, T* to) {
  if (!from) return;
  for (int64_t d = 0; d < width; ++d) to[d] += from.data()[row * width + d];
}

// dGates of every row, and the gradients of H0 and C0.
template <typename T>
Step walk_back(PrepareContext& c, const Network<T>& n, Out<T> dgates, In<T> cell) {
  const Out<T> carried = c.workspace<T>(std::max<int64_t>(2 * n.width * n.rows, 1));
  return [=, gates = c.in<T>("BatchGate"), active = c.in<T>("BatchCellPreAct"),
          dhidden = given<T>(c, "Hidden@GRAD"), dcell = given<T>(c, "Cell@GRAD"),
          dh0 = wanted<T>(c, "H0@GRAD"), dc0 = wanted<T>(c, "C0@GRAD")] {
    const int64_t w = n.width;
    parallel_for(n.count(), 2 * n.work(), [&](int64_t s) {
      const SequenceWalk walk = n.walk(s);
      if (walk.length() == 0) {
        if (dh0) std::fill_n(dh0.data() + s * w, w, T{0});
        if (dc0) std::fill_n(dc0.data() + s * w, w, T{0});
        return;
      }
      T *dh = carried.data() + walk.begin * 2 * w, *dc = dh + w;
      std::fill_n(dh, 2 * w, T{0});
      for (int64_t step = walk.length(); step-- > 0;) {
        const int64_t r = walk.row(step);
        const T* c_before = step > 0 ? cell.data() + walk.row(step - 1) * w : n.first(n.c0, s);
        T* dg = dgates.data() + r * 4 * w;
        add_row(dhidden, r, w, dh);
        add_row(dcell, r, w, dc);
        step_backward(n, gates.data() + r * 4 * w, active.data() + r * w, c_before, dh, dc, dg);
        std::fill_n(dh, w, T{0});
        add_product_back(dg, n.weight.data(), w, 4 * w, dh);
      }
      if (dh0) std::copy_n(dh, w, dh0.data() + s * w);
      if (dc0) std::copy_n(dc, w, dc0.data() + s * w);
    });
  };
}

// The gradients of what all rows share.
template <typename T>
Step sum_up(PrepareContext& c, const Network<T>& n, Out<T> dgates, In<T> cell) {
  const Out<int64_t> previous = c.workspace<int64_t>(std::max<int64_t>(n.rows, 1));
  return [=, hidden = c.in<T>("Hidden"), dweight = wanted<T>(c, "Weight@GRAD"),
          dbias = wanted<T>(c, "Bias@GRAD")] {
    const int64_t w = n.width;
    const T *h0 = n.h0 ? n.h0.data() : nullptr, *c0 = n.c0 ? n.c0.data() : nullptr;
    const auto gate = [&](int64_t r) { return dgates.data() + r * 4 * w; };
    find_previous(n.sequences.offsets(), n.reverse, previous.data());
    if (dweight) {
      const auto h = [&](int64_t r) { return before(previous.data()[r], hidden.data(), h0, w); };
      sum_products(n.rows, w, 4 * w, h, gate, dweight.data());
    }
    if (!dbias) return;
    sum_rows(n.rows, 4 * w, dgates.data(), dbias.data());
    if (!n.peeps) return;
    T* peepholes = dbias.data() + 4 * w;
    std::fill_n(peepholes, 3 * w, T{0});
    for (int64_t r = 0; r < n.rows; ++r) {
      const T* old = before(previous.data()[r], cell.data(), c0, w);
      for (int64_t d = 0; d < w; ++d) {
        if (old != nullptr) peepholes[d] += gate(r)[w + d] * old[d];
        if (old != nullptr) peepholes[w + d] += gate(r)[2 * w + d] * old[d];
        peepholes[2 * w + d] += gate(r)[3 * w + d] * cell.data()[r * w + d];
      }
    }
  };
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Network<T> n(c);
  const Out<T> dgates = n.gate_gradients(c);
  const In<T> cell = c.in<T>("Cell");
  return [back = walk_back(c, n, dgates, cell), sum = sum_up(c, n, dgates, cell)] {
    back();
    sum();
  };
};

const OpDef& lstm = define_op({
    .type = "lstm",
    .doc = "Long short-term memory over sequences.",
    .inputs = {{.name = "Input", .doc = "rows with a LoD, [rows, 4 * width]"},
               {.name = "H0", .doc = "hidden state before each sequence", .optional = true},
               {.name = "C0", .doc = "cell before each sequence", .optional = true},
               {.name = "Weight", .doc = "[width, 4 * width]"},
               {.name = "Bias", .doc = "of the gates, then the peepholes"}},
    .outputs = {{.name = "Hidden", .doc = "[rows, width]"},
                {.name = "Cell", .doc = "[rows, width]"},
                {.name = "BatchGate", .doc = "for the gradient", .no_grad = true},
                {.name = "BatchCellPreAct", .doc = "for the gradient", .no_grad = true}},
    .attrs = {{"use_peepholes", true, "whether gates see the cell"},
              {"is_reverse", false, "whether sequences are read from their end"},
              {"gate_activation", "sigmoid", "identity, sigmoid, tanh or relu"},
              {"cell_activation", "tanh", "likewise"},
              {"candidate_activation", "tanh", "likewise"}},
    .infer = infer,
    .grad = grad_op({shape_of("Input"), "H0", "C0", "Weight", "Bias", "Hidden", "Cell", "BatchGate",
                     "BatchCellPreAct"},
                    {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
