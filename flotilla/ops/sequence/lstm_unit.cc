// flotilla/ops/sequence/lstm_unit.cc
//
// lstm_unit: one step of long short-term memory for each row of a batch. A row of X holds what goes
// into the gates, four parts of `width` numbers: i, f, o, and the candidate g.
//
//   C = sigmoid(f + forget_bias) C_prev + sigmoid(i) tanh(g);  H = sigmoid(o) tanh(C)

#include "flotilla/op/op_def.h"
#include "flotilla/ops/sequence/recurrent.h"
#include "flotilla/ops/tensor/known_value.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape &x = c.in("X").shape, &before = c.in("C_prev").shape;
  require(x.rank() == 2 && before.rank() == 2 && (x[0] == before[0] || x[0] < 0 || before[0] < 0) &&
              (x[1] == 4 * before[1] || x[1] < 0 || before[1] < 0),
          "X and C_prev must have shapes [rows, 4 * width] and [rows, width], but have {} and {}",
          x, before);
  c.out("C") = like(c.in("C_prev"));
  c.out("H") = like(c.in("C_prev"));
}

template <typename T>
struct Gates {
  T i, f, o, g;

  // Of element d of a row of X.
  Gates(const T* row, int64_t d, int64_t width, T forget_bias)
      : i(activate(Activation::kSigmoid, row[d])),
        f(activate(Activation::kSigmoid, row[width + d] + forget_bias)),
        o(activate(Activation::kSigmoid, row[2 * width + d])),
        g(std::tanh(row[3 * width + d])) {}
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t n = c.shape("C_prev")[0], w = c.shape("C_prev")[1];
  return [=, bias = static_cast<T>(c.attr<float>("forget_bias")), in = c.in<T>("X"),
          before = c.in<T>("C_prev"), cell = c.out<T>("C"), hidden = c.out<T>("H")] {
    parallel_for(n, 64 * std::max<int64_t>(w, 1), [&](int64_t row) {
      for (int64_t d = 0; d < w; ++d) {
        const Gates<T> at(in.data() + row * 4 * w, d, w, bias);
        const T made = at.f * before.data()[row * w + d] + at.i * at.g;
        cell.data()[row * w + d] = made;
        hidden.data()[row * w + d] = at.o * std::tanh(made);
      }
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t n = c.shape("C_prev")[0], w = c.shape("C_prev")[1];
  return [=, bias = static_cast<T>(c.attr<float>("forget_bias")), in = c.in<T>("X"),
          before = c.in<T>("C_prev"), cell = c.in<T>("C"), dcell = given<T>(c, "C@GRAD"),
          dhidden = given<T>(c, "H@GRAD"), dx = wanted<T>(c, "X@GRAD"),
          dbefore = wanted<T>(c, "C_prev@GRAD")] {
    parallel_for(n, 64 * std::max<int64_t>(w, 1), [&](int64_t row) {
      for (int64_t d = 0; d < w; ++d) {
        const int64_t at = row * w + d;
        const Gates<T> gate(in.data() + row * 4 * w, d, w, bias);
        const T shown = std::tanh(cell.data()[at]), dh = dhidden ? dhidden.data()[at] : T{0};
        const T dc =
            (dcell ? dcell.data()[at] : T{0}) + dh * gate.o * slope(Activation::kTanh, shown);
        if (dbefore) dbefore.data()[at] = dc * gate.f;
        if (!dx) continue;
        T* to = dx.data() + row * 4 * w + d;
        to[0] = dc * gate.g * slope(Activation::kSigmoid, gate.i);
        to[w] = dc * before.data()[at] * slope(Activation::kSigmoid, gate.f);
        to[2 * w] = dh * shown * slope(Activation::kSigmoid, gate.o);
        to[3 * w] = dc * gate.i * slope(Activation::kTanh, gate.g);
      }
    });
  };
};

const AttrSpec kForgetBias = {"forget_bias", 0.0f, "added to what goes into the forget gate"};

const OpDef& lstm_unit = define_op({
    .type = "lstm_unit",
    .doc = "One step of long short-term memory.",
    .inputs = {{.name = "X", .doc = "[rows, 4 * width]"},
               {.name = "C_prev", .doc = "the cell before, [rows, width]"}},
    .outputs = {{.name = "C", .doc = "the cell"}, {.name = "H", .doc = "the hidden state"}},
    .attrs = {kForgetBias},
    .infer = infer,
    .grad = grad_op({"X", "C_prev", "C"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
