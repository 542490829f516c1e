// flotilla/ops/sequence/sequence_pad.cc
//
// sequence_pad: sequences one beside the other, [sequences, longest, ...], with PadValue behind
// those that are shorter; `padded_length` is the longest, or -1 for what is there. Length: how long
// each was.

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/sequences.h"

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
  require(numbers < 0 || numbers == 1 || width < 0 || numbers == width,
          "PadValue must be one number or a row of X, which has shape {}, but has shape {}",
          x.shape, pad.shape);
  Shape shape = {x.sequences, length};
  for (int64_t a = 1; a < x.shape.rank(); ++a) shape.push_back(x.shape[a]);
  c.out("Out") = VarMeta::tensor(x.dtype, std::move(shape));
  c.out("Length") = VarMeta::tensor(i64, Shape{x.sequences});
}

int64_t longest_of(std::span<const int64_t> offsets) {
  int64_t longest = 0;
  for (size_t s = 0; s + 1 < offsets.size(); ++s) {
    longest = std::max(longest, offsets[s + 1] - offsets[s]);
  }
  return longest;
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape shape = c.shape("Out"), x = c.shape("X");
  const bool late = !shape.known();
  const bool single = c.shape("PadValue").numel() == 1;
  return [=, width = x.numel(1, x.rank()), sequences = Sequences(c, "X"), in = c.in<T>("X"),
          pad = c.in<T>("PadValue"), length = c.out<int64_t>("Length"),
          found = late ? c.late_out<T>("Out") : LateOut<T>(),
          out = late ? Out<T>() : c.out<T>("Out")] {
    const std::span<const int64_t> offsets = sequences.offsets();
    const int64_t longest = late ? longest_of(offsets) : shape[1];
    require(longest_of(offsets) <= longest,
            "padded_length is {}, but there is a sequence of {} rows", longest,
            longest_of(offsets));
    Shape full = shape;
    full[1] = longest;
    T* all = late ? found.resize(full) : out.data();
    parallel_for(sequences.count(), longest * width, [&](int64_t s) {
      const int64_t rows = offsets[s + 1] - offsets[s];
      T* to = all + s * longest * width;
      length.data()[s] = rows;
      std::copy_n(in.data() + offsets[s] * width, rows * width, to);
      for (int64_t i = rows * width; i < longest * width; ++i) {
        to[i] = pad.data()[single ? 0 : i % width];
      }
    });
  };
};

void infer_grad(InferContext& c) {
  check_sequences(c, "X");
  const Shape &x = c.in("X").shape, &gradient = c.in("Out@GRAD").shape;
  bool fits = gradient.rank() == x.rank() + 1;
  for (int64_t a = 1; fits && a < x.rank(); ++a) {
    fits = x[a] == gradient[a + 1] || x[a] < 0 || gradient[a + 1] < 0;
  }
  require(fits, "Out@GRAD must hold padded sequences of the rows of X, but they are {} and {}",
          gradient, x);
  c.out("X@GRAD") = like(c.in("X"));
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  return [width = x.numel(1, x.rank()), count = c.shape("Out@GRAD")[0],
          longest = c.shape("Out@GRAD")[1], sequences = Sequences(c, "X"),
          dout = c.in<T>("Out@GRAD"), dx = c.out<T>("X@GRAD")] {
    const std::span<const int64_t> offsets = sequences.offsets();
    require(sequences.count() == count && longest_of(offsets) <= longest,
            "Out@GRAD holds {} sequences of {} rows, but X {} of up to {}", count, longest,
            sequences.count(), longest_of(offsets));
    parallel_for(sequences.count(), longest * width, [&](int64_t s) {
      std::copy_n(dout.data() + s * longest * width, (offsets[s + 1] - offsets[s]) * width,
                  dx.data() + offsets[s] * width);
    });
  };
};

const AttrSpec kLength = {"padded_length", -1, "rows of each result; -1: of the longest sequence"};

const OpDef& sequence_pad = define_op({
    .type = "sequence_pad",
    .doc = "Makes sequences equally long.",
    .inputs = {{.name = "X", .doc = "rows with a LoD"},
               {.name = "PadValue", .doc = "one number, or a row", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "[sequences, longest, ...]"},
                {.name = "Length", .doc = "i64: rows of each sequence", .no_grad = true}},
    .attrs = {kLength},
    .infer = infer,
    .grad = grad_op({shape_of("X")},
                    {.kernels = kernels_for<float, double>(backward), .infer = infer_grad}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(forward),
});

}  // namespace
}  // namespace flotilla::ops
