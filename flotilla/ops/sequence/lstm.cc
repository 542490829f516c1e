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
//
// lstm_unit: one step for each row of a batch, whose parts of X are i, f, o, and the candidate g.
//
//   C = sigmoid(f + forget_bias) C_prev + sigmoid(i) tanh(g);  H = sigmoid(o) tanh(C)

#include "flotilla/kernel/in_order.h"
#include "flotilla/op/lower.h"
#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/sequence/recurrent.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const int64_t width = check_recurrence(c, 4);
  check_count(c, "Bias", (c.attr<bool>("use_peepholes") ? 7 : 4) * width);
  for (const char* slot : {"H0", "C0"}) check_first_state(c, slot, width);
  const VarMeta& x = c.in("Input");
  const VarMeta state = like(x, Shape{x.shape[0], width});
  for (const char* slot : {"Hidden", "Cell", "BatchCellPreAct"}) c.out(slot) = state;
  c.out("BatchGate") = like(x);
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
    n.walk_forward([&](int64_t r, int64_t previous) {
      T* g = gates.data() + r * 4 * w;
      std::copy_n(in.data() + r * 4 * w, 4 * w, g);
      step_forward(n, n.before(previous, hidden.data(), n.h0),
                   n.before(previous, cell.data(), n.c0), g, cell.data() + r * w,
                   active.data() + r * w, hidden.data() + r * w);
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
  return [=, scratch = n.back_scratch(c), gates = c.in<T>("BatchGate"),
          active = c.in<T>("BatchCellPreAct"), dhidden = given<T>(c, "Hidden@GRAD"),
          dcell = given<T>(c, "Cell@GRAD"), dh0 = wanted<T>(c, "H0@GRAD"),
          dc0 = wanted<T>(c, "C0@GRAD")] {
    const int64_t w = n.width;
    n.walk_back(scratch, dh0, dc0, [&](int64_t r, int64_t previous, T* dh) {
      T *dc = dh + w, *dg = dgates.data() + r * 4 * w;
      add_row(dhidden, r, w, dh);
      add_row(dcell, r, w, dc);
      step_backward(n, gates.data() + r * 4 * w, active.data() + r * w,
                    n.before(previous, cell.data(), n.c0), dh, dc, dg);
      std::fill_n(dh, w, T{0});
      add_product_back(dg, n.weight.data(), w, 4 * w, dh);
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
    const auto gate = [&](int64_t r) { return dgates.data() + r * 4 * w; };
    find_previous(n.sequences.offsets(), n.reverse, previous.data());
    if (dweight) {
      const auto h = [&](int64_t r) { return n.before(previous.data()[r], hidden.data(), n.h0); };
      sum_products(n.rows, w, 4 * w, h, gate, dweight.data());
    }
    if (!dbias) return;
    sum_rows(n.rows, 4 * w, dgates.data(), dbias.data());
    if (!n.peeps) return;
    T* peepholes = dbias.data() + 4 * w;
    std::fill_n(peepholes, 3 * w, T{0});
    for (int64_t r = 0; r < n.rows; ++r) {
      const T* old = n.before(previous.data()[r], cell.data(), n.c0);
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
  return in_order({walk_back(c, n, dgates, cell), sum_up(c, n, dgates, cell)});
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
    .grad = float_grad({shape_of("Input"), "H0", "C0", "Weight", "Bias", "Hidden", "Cell",
                        "BatchGate", "BatchCellPreAct"},
                       backward),
    .kernels = kernels_for<float, double>(forward),
});

// ---- lstm_unit ----------------------------------------------------------------------------------

void infer_unit(InferContext& c) {
  const Shape &x = c.in("X").shape, &before = c.in("C_prev").shape;
  require(x.rank() == 2 && before.rank() == 2 && fits(x[0], before[0]) &&
              (x[1] == 4 * before[1] || x[1] < 0 || before[1] < 0),
          "X and C_prev must have shapes [rows, 4 * width] and [rows, width], but have {} and {}",
          x, before);
  c.out("C") = like(c.in("C_prev"));
  c.out("H") = like(c.in("C_prev"));
}

void lower_unit(LowerContext& c) {
  const std::string parts = c.reshape(c.in("X"), {0, 4, -1});
  const auto part = [&](int32_t k) { return c.slice(parts, 1, k, k + 1, true); };
  const auto gate = [&](const std::string& x) { return c.apply("sigmoid", x); };
  const std::string forget = c.scale(part(1), 1, c.attr<float>("forget_bias"));
  const std::string kept = c.mul(gate(forget), c.in("C_prev"));
  const std::string added = c.mul(gate(part(0)), c.apply("tanh", part(3)));
  const std::string cell = c.add(kept, added);
  c.result("C", cell);
  c.result("H", c.mul(gate(part(2)), c.apply("tanh", cell)));
}

const OpDef& lstm_unit = define_op({
    .type = "lstm_unit",
    .doc = "One step of long short-term memory.",
    .inputs = {{.name = "X", .doc = "[rows, 4 * width]"},
               {.name = "C_prev", .doc = "the cell before, [rows, width]"}},
    .outputs = {{.name = "C", .doc = "the cell"}, {.name = "H", .doc = "the hidden state"}},
    .attrs = {{"forget_bias", 0.0f, "added to what goes into the forget gate"}},
    .infer = infer_unit,
    .grad = grad_of_body({"X", "C_prev", "C"}),
    .lower = lower_unit,
});

}  // namespace
}  // namespace flotilla::ops
