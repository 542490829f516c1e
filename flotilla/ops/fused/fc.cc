// flotilla/ops/fused/fc.cc
//
// fc: Out = act(Input W + Bias), Input flattened to a matrix. What the passes make of mul,
// elementwise_add and an activation; MulOut and AddOut stand for what those would have written and
// are never made, only their shapes are known.

#include <algorithm>
#include <memory>

#include "flotilla/device/cpu/fast_math.h"
#include "flotilla/device/cpu/onednn.h"
#include "flotilla/device/cpu/simd.h"
#include "flotilla/kernel/in_order.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/product.h"
#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/fused/fc_column.h"
#include "flotilla/ops/fused/fc_problem.h"

namespace flotilla::ops {
namespace {

// The axes of Input that become rows.
int64_t check_operands(const InferContext& c) {
  const Shape &input = c.in("Input").shape, &w = c.in("W").shape;
  const int64_t rows = c.attr<int64_t>("in_num_col_dims");
  require(0 < rows && rows < input.rank() && w.rank() == 2,
          "fc needs an Input of more than {} axes and a W of 2, but they are {} and {}", rows,
          input, w);
  const int64_t columns = input.numel(rows, input.rank());
  require(columns < 0 || columns == w[0], "Input {} has {} columns from axis {} on, but W is {}",
          input, columns, rows, w);
  const Shape& bias = c.in("Bias").shape;
  require(bias.numel() < 0 || w[1] < 0 || bias.numel() == w[1],
          "Bias must have a number for each column of W, but is {} and W is {}", bias, w);
  return rows;
}

void infer(InferContext& c) {
  const Shape &input = c.in("Input").shape, &w = c.in("W").shape;
  const int64_t rows = check_operands(c);
  fc_act_of(c.attr<std::string>("activation_type"));
  Shape out;
  for (int64_t a = 0; a < rows; ++a) out.push_back(input[a]);
  out.push_back(w[1]);
  for (const char* slot : {"Out", "MulOut", "AddOut"}) {
    c.out(slot) = c.in("Input");
    c.out(slot).shape = out;
    c.out(slot).value.reset();
  }
}

// tanh of oneDNN is fused into the product but slower than a loop of our own behind it.
bool runs_behind(FcAct act) { return act == FcAct::kTanh || act == FcAct::kSigmoid; }

void add_and_activate(FcAct act, const float* bias, float* y, int64_t m, int64_t n) {
  parallel_ranges(m, std::max<int64_t>(1, kGrainOperations / (8 * n)),
                  [=](int64_t begin, int64_t end) {
                    simd([=] {
                      for (int64_t row = begin; row < end; ++row) {
                        float* FLT_RESTRICT out = y + row * n;
                        if (act == FcAct::kTanh) {
                          for (int64_t i = 0; i < n; ++i) out[i] = fast_tanh(out[i] + bias[i]);
                        } else {
                          for (int64_t i = 0; i < n; ++i) out[i] = fast_sigmoid(out[i] + bias[i]);
                        }
                      }
                    });
                  });
}

// Calls f with dOut * act'(Out) as a function of both.
template <typename F>
void with_derivative(FcAct act, F f) {
  with_formula(act, [&]<typename Formula>(Formula) {
    f([](float y, float dy) -> float { return Formula::df(0.0f, y, dy, Params<float>()); });
  });
}

Step forward_column(PrepareContext& c, const FcSizes& s, FcAct act) {
  return [=, x = c.in<float>("Input"), w = c.in<float>("W"), b = c.in<float>("Bias"),
          y = c.out<float>("Out")] {
    with_formula(act, [&]<typename Formula>(Formula) {
      column_forward(x.data(), w.data(), *b.data(), y.data(), s.m, s.k,
                     [](float x) -> float { return Formula::f(x, Params<float>()); });
    });
  };
}

Step forward(PrepareContext& c) {
  const FcSizes s = fc_sizes_of(c.shape("Input"), c.shape("W"), c);
  const FcAct act = fc_act_of(c.attr<std::string>("activation_type"));
  if (s.n == 1) return forward_column(c, s, act);
  const bool behind = runs_behind(act);
  auto product = std::make_shared<onednn::Matmul>(onednn::MatmulProblem{
      .m = s.m,
      .n = s.n,
      .k = s.k,
      .has_bias = !behind,
      .act = {act == FcAct::kRelu ? onednn::Act::kRelu : onednn::Act::kNone}});
  Out<char> scratch;
  if (product->scratch_bytes() > 0) scratch = c.workspace(product->scratch_bytes());
  return [=, x = c.in<float>("Input"), w = c.in<float>("W"), b = c.in<float>("Bias"),
          y = c.out<float>("Out")] {
    product->run(x.data(), w.data(), behind ? nullptr : b.data(), y.data(),
                 scratch ? scratch.data() : nullptr);
    if (behind) add_and_activate(act, b.data(), y.data(), s.m, s.n);
  };
}

// d = dOut * act'(Out), and its column sums, in one pass; without an activation only the sums. Rows
// are cut into a fixed number of parts whose sums are added in order: the same bits on any number
// of threads.
constexpr int64_t kParts = 8;

template <typename Derivative>
void derive_rows(const float* out, const float* dout, float* d, float* FLT_RESTRICT sums,
                 int64_t begin, int64_t end, int64_t n, Derivative derivative) {
  for (int64_t row = begin; row < end; ++row) {
    const float* FLT_RESTRICT y = out + row * n;
    const float* dy = dout + row * n;
    float* dx = d + row * n;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      dx[i] = derivative(y[i], dy[i]);
      sums[i] += dx[i];
    }
  }
}

void sum_rows(const float* dout, float* FLT_RESTRICT sums, int64_t begin, int64_t end, int64_t n) {
  for (int64_t row = begin; row < end; ++row) {
    const float* FLT_RESTRICT dy = dout + row * n;
    for (int64_t i = 0; i < n; ++i) sums[i] += dy[i];
  }
}

void derive(FcAct act, const float* out, const float* dout, float* d, float* partial,
            float* bias_grad, int64_t m, int64_t n) {
  const int64_t parts = std::min(kParts, std::max<int64_t>(m, 1));
  const int64_t grain =
      std::max<int64_t>(1, kGrainOperations * parts / std::max<int64_t>(1, 4 * m * n));
  parallel_ranges(parts, grain, [=](int64_t first, int64_t last) {
    simd([=] {
      for (int64_t part = first; part < last; ++part) {
        const int64_t begin = m * part / parts, end = m * (part + 1) / parts;
        float* sums = partial + part * n;
        std::fill_n(sums, n, 0.0f);
        if (act != FcAct::kNone) {
          with_derivative(act, [&](auto f) { derive_rows(out, dout, d, sums, begin, end, n, f); });
        } else {
          sum_rows(dout, sums, begin, end, n);
        }
      }
    });
  });
  if (bias_grad == nullptr) return;
  simd([=] {
    for (int64_t i = 0; i < n; ++i) {
      float sum = 0;
      for (int64_t part = 0; part < parts; ++part) sum += partial[part * n + i];
      bias_grad[i] = sum;
    }
  });
}

Step backward_column(PrepareContext& c, const FcSizes& s, FcAct act) {
  const auto dout = c.in<float>("Out@GRAD");
  return
      [=, out = act == FcAct::kNone ? dout : c.in<float>("Out"), x = c.in<float>("Input"),
       w = c.in<float>("W"), dx = wanted<float>(c, "Input@GRAD"), dw = wanted<float>(c, "W@GRAD"),
       db = wanted<float>(c, "Bias@GRAD"), partial = c.workspace<float>(kColumnParts * (s.k + 1))] {
        const ColumnGrads to = {.dx = dx ? dx.data() : nullptr,
                                .partial = partial.data(),
                                .dw = dw ? dw.data() : nullptr,
                                .dbias = db ? db.data() : nullptr};
        with_derivative(act, [&](auto f) {
          column_backward(
              x.data(), w.data(), to, s.m, s.k,
              [f, y = out.data(), dy = dout.data()](int64_t row) { return f(y[row], dy[row]); });
        });
      };
}

Step backward(PrepareContext& c) {
  const FcSizes s = fc_sizes_of(c.shape("Input"), c.shape("W"), c);
  const FcAct act = fc_act_of(c.attr<std::string>("activation_type"));
  if (s.n == 1) return backward_column(c, s, act);
  const auto partial = c.workspace<float>(kParts * s.n);
  const auto dout = c.in<float>("Out@GRAD");
  const In<float> out = act == FcAct::kNone ? dout : c.in<float>("Out");
  const Out<float> db = wanted<float>(c, "Bias@GRAD");
  // Without an activation d is dOut itself.
  const Out<float> d = c.workspace<float>(act == FcAct::kNone ? 1 : s.m * s.n);
  Step dx, dw;
  const auto d_data = [=] { return act == FcAct::kNone ? dout.data() : d.data(); };
  if (c.has("Input@GRAD")) {
    dx = [=, product = Product<float>(c, {.m = s.m, .n = s.k, .k = s.n, .transpose_b = true}),
          w = c.in<float>("W"),
          to = c.out<float>("Input@GRAD")] { product.run(d_data(), w.data(), to.data()); };
  }
  if (c.has("W@GRAD")) {
    dw = [=, product = Product<float>(c, {.m = s.k, .n = s.n, .k = s.m, .transpose_a = true}),
          x = c.in<float>("Input"),
          to = c.out<float>("W@GRAD")] { product.run(x.data(), d_data(), to.data()); };
  }
  return in_order({[=] {
                     if (act == FcAct::kNone && !db) return;
                     derive(act, out.data(), dout.data(), d.data(), partial.data(),
                            db ? db.data() : nullptr, s.m, s.n);
                   },
                   dx, dw});
}

const OpDef& fc = define_op({
    .type = "fc",
    .doc = "act(Input W + Bias), Input flattened to a matrix.",
    .inputs = {{"Input", "left operand"}, {"W", "weight, [columns, size]"}, {"Bias", "[size]"}},
    .outputs = {{"Out", "result"},
                optional_constant("MulOut", "shape of the product"),
                optional_constant("AddOut", "shape of the sum")},
    .attrs = {{"in_num_col_dims", int32_t{1}, "axes of Input that become rows"},
              {"activation_type", std::string(), "relu, tanh, sigmoid, or none"}},
    .infer = infer,
    .grad =
        grad_op({"Input", "W", shape_of("Bias"), "Out"},
                {.kernels = {{kCpu, f32, backward}},
                 // Not needed without an activation.
                 .inputs = {{.name = "Out", .doc = "result", .optional = true, .like = "Out@GRAD"}},
                 .type = "fused_fc_grad"}),
    .kernels = {{kCpu, f32, forward}},
});

}  // namespace
}  // namespace flotilla::ops
