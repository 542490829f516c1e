// flotilla/ops/sequence/sequence_softmax.cc
//
// sequence_softmax: exp(X - max) / sum(exp(X - max)), over the rows of each sequence, column by
// column.

#include <algorithm>
#include <cmath>

#include "flotilla/ops/common/sequences.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_sequences(c, "X");
  c.out("Out") = c.in("X");
}

// Calls f(first element, behind the last) for each column of each sequence; its elements lie
// `width` apart.
template <typename F>
void for_each_column(const Sequences& sequences, int64_t width, F f) {
  sequences.parallel(1024 * width, [&](int64_t, int64_t begin, int64_t end) {
    if (begin == end) return;
    for (int64_t column = 0; column < width; ++column) f(begin * width + column, end * width);
  });
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t width = c.shape("X").numel(1, c.shape("X").rank());
  return [width, sequences = Sequences(c, "X"), in = c.in<T>("X"), result = c.out<T>("Out")] {
    const T* x = in.data();
    T* out = result.data();
    for_each_column(sequences, width, [&](int64_t begin, int64_t end) {
      T most = x[begin], sum = 0;
      for (int64_t i = begin; i < end; i += width) most = std::max(most, x[i]);
      for (int64_t i = begin; i < end; i += width) sum += out[i] = std::exp(x[i] - most);
      for (int64_t i = begin; i < end; i += width) out[i] /= sum;
    });
  };
};

// dX = (dOut - sum(dOut * Out)) * Out
constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t width = c.shape("Out").numel(1, c.shape("Out").rank());
  return [width, sequences = Sequences(c, "X"), result = c.in<T>("Out"),
          dresult = c.in<T>("Out@GRAD"), din = c.out<T>("X@GRAD")] {
    const T *out = result.data(), *dout = dresult.data();
    T* dx = din.data();
    for_each_column(sequences, width, [&](int64_t begin, int64_t end) {
      T dot = 0;
      for (int64_t i = begin; i < end; i += width) dot += dout[i] * out[i];
      for (int64_t i = begin; i < end; i += width) dx[i] = (dout[i] - dot) * out[i];
    });
  };
};

const OpDef& sequence_softmax = define_op({
    .type = "sequence_softmax",
    .doc = "Scales each column of each sequence to positive numbers whose sum is one.",
    .inputs = {{.name = "X", .doc = "rows with a LoD"}},
    .outputs = {{.name = "Out", .doc = "same shape and sequences as X"}},
    .attrs = {{"use_cudnn", false, "ignored"}, {"data_format", "AnyLayout", "ignored"}},
    .infer = infer,
    .grad = grad_op({shape_of("X"), "Out"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
