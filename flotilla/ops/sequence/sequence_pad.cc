// flotilla/ops/sequence/sequence_pad.cc
//
// sequence_pad: sequences one beside the other, [sequences, longest, ...], with PadValue behind
// those that are shorter; `padded_length` is the longest, or -1 for what is there. Length: how long
// each was.

#include <algorithm>

#include "flotilla/ops/common/sequences.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_sequences(c, "X");
  const VarMeta &x = c.in("X"), &pad = c.in("PadValue");
  const int64_t length = c.attr<int64_t>("padded_length");
  require(length == -1 || length > 0, "padded_length must be positive or -1, but is {}", length);
  require(pad.dtype == x.dtype, "PadValue must hold {} as X does, but holds {}", x.dtype,
          pad.dtype);
  const int64_t width = x.shape.numel(1, x.shape.rank()), numbers = pad.shape.numel();
  require(numbers == 1 || fits(numbers, width),
          "PadValue must be one number or a row of X, which has shape {}, but has shape {}",
          x.shape, pad.shape);
  Shape shape = {x.sequences, length};
  for (int64_t a = 1; a < x.shape.rank(); ++a) shape.push_back(x.shape[a]);
  c.out("Out") = VarMeta::tensor(x.dtype, std::move(shape));
  c.out("Length") = VarMeta::tensor(i64, Shape{x.sequences});
}

int64_t longest_of(const Sequences& sequences) {
  int64_t longest = 0;
  sequences.for_each(
      [&](int64_t, int64_t begin, int64_t end) { longest = std::max(longest, end - begin); });
  return longest;
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape shape = c.shape("Out"), x = c.shape("X");
  const bool dynamic = !shape.known();
  const bool single = c.shape("PadValue").numel() == 1;
  return [=, width = x.numel(1, x.rank()), sequences = Sequences(c, "X"), in = c.in<T>("X"),
          pad = c.in<T>("PadValue"), length = c.out<int64_t>("Length"),
          found = dynamic ? c.dynamic_out<T>("Out") : DynamicOut<T>(),
          out = dynamic ? Out<T>() : c.out<T>("Out")] {
    const int64_t most = longest_of(sequences), longest = dynamic ? most : shape[1];
    require(most <= longest, "padded_length is {}, but there is a sequence of {} rows", longest,
            most);
    Shape full = shape;
    full[1] = longest;
    T* all = dynamic ? found.resize(full) : out.data();
    sequences.parallel(longest * width, [&](int64_t s, int64_t begin, int64_t end) {
      T* to = all + s * longest * width;
      length.data()[s] = end - begin;
      std::copy(in.data() + begin * width, in.data() + end * width, to);
      for (int64_t i = (end - begin) * width; i < longest * width; ++i) {
        to[i] = pad.data()[single ? 0 : i % width];
      }
    });
  };
};

void infer_grad(InferContext& c) {
  check_sequences(c, "X");
  const Shape &x = c.in("X").shape, &gradient = c.in("Out@GRAD").shape;
  bool same_rows = gradient.rank() == x.rank() + 1;
  for (int64_t a = 1; same_rows && a < x.rank(); ++a) same_rows = fits(x[a], gradient[a + 1]);
  require(same_rows, "Out@GRAD must hold padded sequences of the rows of X, but they are {} and {}",
          gradient, x);
  c.out("X@GRAD") = like(c.in("X"));
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  return [width = x.numel(1, x.rank()), count = c.shape("Out@GRAD")[0],
          longest = c.shape("Out@GRAD")[1], sequences = Sequences(c, "X"),
          dout = c.in<T>("Out@GRAD"), dx = c.out<T>("X@GRAD")] {
    require(sequences.count() == count && longest_of(sequences) <= longest,
            "Out@GRAD holds {} sequences of {} rows, but X {} of up to {}", count, longest,
            sequences.count(), longest_of(sequences));
    sequences.parallel(longest * width, [&](int64_t s, int64_t begin, int64_t end) {
      std::copy_n(dout.data() + s * longest * width, (end - begin) * width,
                  dx.data() + begin * width);
    });
  };
};

const OpDef& sequence_pad = define_op({
    .type = "sequence_pad",
    .doc = "Makes sequences equally long.",
    .inputs = {{.name = "X", .doc = "rows with a LoD"},
               constant("PadValue", "one number, or a row")},
    .outputs = {{.name = "Out", .doc = "[sequences, longest, ...]"},
                constant("Length", "i64: rows of each sequence")},
    .attrs = {{"padded_length", -1, "rows of each result; -1: of the longest sequence"}},
    .infer = infer,
    .grad = grad_op({shape_of("X")},
                    {.kernels = kernels_for<float, double>(backward), .infer = infer_grad}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(forward),
});

}  // namespace
}  // namespace flotilla::ops
