// flotilla/ops/sequence/sequence_softmax.cc
//
// sequence_softmax: of each sequence of numbers, exp(X - max) / sum(exp(X - max)).

#include <algorithm>
#include <cmath>

#include "flotilla/ops/common/sequences.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_sequences(c, "X");
  const Shape& x = c.in("X").shape;
  require(x.rank() == 1 || (x.rank() == 2 && x[1] == 1),
          "sequence_softmax takes a column of numbers, but X has shape {}", x);
  c.out("Out") = c.in("X");
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [sequences = Sequences(c, "X"), x = c.in<T>("X"), out = c.out<T>("Out")] {
    sequences.parallel(1024, [&](int64_t, int64_t begin, int64_t end) {
      if (begin == end) return;
      const T most = *std::max_element(x.data() + begin, x.data() + end);
      T sum = 0;
      for (int64_t i = begin; i < end; ++i) sum += out.data()[i] = std::exp(x.data()[i] - most);
      for (int64_t i = begin; i < end; ++i) out.data()[i] /= sum;
    });
  };
};

// dX = (dOut - sum(dOut * Out)) * Out
constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return [sequences = Sequences(c, "X"), out = c.in<T>("Out"), dout = c.in<T>("Out@GRAD"),
          dx = c.out<T>("X@GRAD")] {
    sequences.parallel(1024, [&](int64_t, int64_t begin, int64_t end) {
      T dot = 0;
      for (int64_t i = begin; i < end; ++i) dot += dout.data()[i] * out.data()[i];
      for (int64_t i = begin; i < end; ++i) {
        dx.data()[i] = (dout.data()[i] - dot) * out.data()[i];
      }
    });
  };
};

const OpDef& sequence_softmax = define_op({
    .type = "sequence_softmax",
    .doc = "Scales each sequence of numbers to positive ones whose sum is one.",
    .inputs = {{.name = "X", .doc = "numbers with a LoD"}},
    .outputs = {{.name = "Out", .doc = "same shape and sequences as X"}},
    .attrs = {{"use_cudnn", false, "ignored"}, {"data_format", "AnyLayout", "ignored"}},
    .infer = infer,
    .grad = grad_op({shape_of("X"), "Out"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
