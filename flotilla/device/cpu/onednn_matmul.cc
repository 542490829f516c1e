#include "flotilla/device/cpu/onednn_internal.h"

namespace flotilla::onednn {
namespace {

using Dims = std::vector<int64_t>;

// Fills the defaults and merges batch axes along which both operands move evenly, so that oneDNN
// sees as few axes as possible.
MatmulProblem simplified(MatmulProblem p) {
  if (p.row_stride_a == 0) p.row_stride_a = p.transpose_a ? p.m : p.k;
  if (p.row_stride_b == 0) p.row_stride_b = p.transpose_b ? p.k : p.n;
  if (p.row_stride_c == 0) p.row_stride_c = p.n;
  const auto dense = [&](Dims& strides, int64_t matrix) {
    if (!strides.empty()) return;
    strides.resize(p.batch.size());
    for (size_t a = strides.size(); a-- > 0; matrix *= p.batch[a]) strides[a] = matrix;
  };
  dense(p.batch_stride_a, (p.transpose_a ? p.k : p.m) * p.row_stride_a);
  dense(p.batch_stride_b, (p.transpose_b ? p.n : p.k) * p.row_stride_b);
  require(p.batch_stride_a.size() == p.batch.size() && p.batch_stride_b.size() == p.batch.size(),
          "a matmul with {} batch axes needs as many strides, but A has {} and B has {}",
          p.batch.size(), p.batch_stride_a.size(), p.batch_stride_b.size());

  const auto erase = [&](size_t axis) {
    const auto at = static_cast<std::ptrdiff_t>(axis);
    p.batch.erase(p.batch.begin() + at);
    p.batch_stride_a.erase(p.batch_stride_a.begin() + at);
    p.batch_stride_b.erase(p.batch_stride_b.begin() + at);
  };
  for (size_t a = p.batch.size(); a-- > 0;) {
    if (p.batch[a] == 1) erase(a);
  }
  const auto even = [&](const Dims& strides, size_t a) {
    return strides[a] == strides[a + 1] * p.batch[a + 1];
  };
  for (size_t a = p.batch.size(); a-- > 1;) {
    if (even(p.batch_stride_a, a - 1) && even(p.batch_stride_b, a - 1)) {
      p.batch[a] *= p.batch[a - 1];
      erase(a - 1);
    }
  }
  // One matrix B for all: the batches of A are just more rows.
  const bool more_rows = p.batch.size() == 1 && p.batch_stride_b[0] == 0 && !p.transpose_a &&
                         p.batch_stride_a[0] == p.m * p.row_stride_a;
  if (more_rows) {
    p.m *= p.batch[0];
    erase(0);
  }
  return p;
}

memory::desc operand(const MatmulProblem& p, int64_t rows, int64_t columns, bool transposed,
                     int64_t row_stride, const Dims& batch_strides) {
  Dims dims = p.batch, strides = batch_strides;
  for (size_t a = 0; a < dims.size(); ++a) {
    if (strides[a] == 0) {
      dims[a] = 1;  // oneDNN repeats an extent of one
      strides[a] = (transposed ? columns : rows) * row_stride;
    }
  }
  dims.insert(dims.end(), {rows, columns});
  strides.insert(strides.end(), {transposed ? 1 : row_stride, transposed ? row_stride : 1});
  return memory::desc(dims, memory::data_type::f32, strides);
}

struct Descs {
  memory::desc a, b, bias, c;
};

Descs descs_of(const MatmulProblem& p) {
  Dims strides_c(p.batch.size());
  int64_t stride = p.m * p.row_stride_c;
  for (size_t i = strides_c.size(); i-- > 0; stride *= p.batch[i]) strides_c[i] = stride;
  Descs descs = {
      .a = operand(p, p.m, p.k, p.transpose_a, p.row_stride_a, p.batch_stride_a),
      .b = operand(p, p.k, p.n, p.transpose_b, p.row_stride_b, p.batch_stride_b),
      .bias = {},
      .c = operand(p, p.m, p.n, false, p.row_stride_c, strides_c),
  };
  if (p.has_bias) {
    Dims dims(p.batch.size() + 2, 1), strides(p.batch.size() + 2, p.n);
    dims.back() = p.n;
    strides.back() = 1;
    descs.bias = memory::desc(dims, memory::data_type::f32, strides);
  }
  return descs;
}

dnnl::matmul::primitive_desc describe(const MatmulProblem& p, const Descs& d,
                                      const memory::desc& b) {
  dnnl::primitive_attr attr = user_scratch();
  dnnl::post_ops post_ops;
  if (p.accumulate) post_ops.append_sum();
  append_act(post_ops, p.act);
  attr.set_post_ops(post_ops);
  return create(fmt::format("a matmul of {} x {} x {}", p.m, p.k, p.n), [&] {
    const dnnl::matmul::desc desc =
        p.has_bias ? dnnl::matmul::desc(d.a, b, d.bias, d.c) : dnnl::matmul::desc(d.a, b, d.c);
    return dnnl::matmul::primitive_desc(desc, attr, engine());
  });
}

std::unique_ptr<Primitive::State> prepare(const MatmulProblem& given, Layout& b_layout) {
  require(given.m >= 0 && given.n >= 0 && given.k > 0,
          "a matmul needs extents of at least 0 x 1 x 0, but has {} x {} x {}", given.m, given.k,
          given.n);
  require(!given.accumulate || (!given.has_bias && given.act.kind == Act::kNone),
          "a matmul that accumulates has neither bias nor activation");
  require(!given.choose_b_layout ||
              (given.batch.empty() && !given.transpose_b && given.row_stride_b == 0),
          "the layout of B can be chosen for a plain k x n matrix only");
  if (given.m == 0 || given.n == 0 || Shape(given.batch).numel() == 0) return nothing_to_do();
  const MatmulProblem p = simplified(given);
  const Descs d = descs_of(p);
  dnnl::matmul::primitive_desc pd = describe(p, d, p.choose_b_layout ? any_desc({p.k, p.n}) : d.b);
  if (p.choose_b_layout) {
    const std::optional<Layout> chosen = to_layout(pd.weights_desc());
    if (!chosen) pd = describe(p, d, d.b);
    b_layout = chosen.value_or(Layout());
  }
  auto state = std::make_unique<Primitive::State>(dnnl::matmul(pd), pd);
  state->add(DNNL_ARG_SRC, d.a);
  state->add(DNNL_ARG_WEIGHTS, pd.weights_desc());
  if (p.has_bias) state->add(DNNL_ARG_BIAS, d.bias);
  state->add(DNNL_ARG_DST, d.c);
  return state;
}

}  // namespace

Matmul::Matmul(const MatmulProblem& problem) : Primitive(nullptr), has_bias_(problem.has_bias) {
  state_ = prepare(problem, b_layout_);
}

void Matmul::run(const float* a, const float* b, const float* bias, float* c, void* scratch) {
  if (has_bias_) {
    state_->run({a, b, bias, c}, scratch);
  } else {
    state_->run({a, b, c}, scratch);
  }
}

}  // namespace flotilla::onednn
