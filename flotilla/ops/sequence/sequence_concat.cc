// flotilla/ops/sequence/sequence_concat.cc
//
// sequence_concat: sequence i of the result is sequence i of each input, one behind the other.

#include <algorithm>

#include "flotilla/ops/common/sequences.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta& first = c.in("X");
  int64_t rows = 0;
  for (size_t i = 0; i < c.in_count("X"); ++i) {
    check_sequences(c, "X", i);
    const VarMeta& x = c.in("X", i);
    require(x.shape.rank() == first.shape.rank() && x.dtype == first.dtype,
            "all inputs must hold {} and have rank {}, but input {} is {}{}", first.dtype,
            first.shape.rank(), i, x.dtype, x.shape);
    require(with_rows(x.shape, 0) == with_rows(first.shape, 0),
            "inputs of shapes {} and {} have other rows", first.shape, x.shape);
    require(!c.running() || x.sequences == first.sequences,
            "input 0 has {} sequences, but input {} has {}", first.sequences, i, x.sequences);
    rows = rows < 0 || x.shape[0] < 0 ? -1 : rows + x.shape[0];
  }
  c.out("Out") = cut_anew(first, with_rows(first.shape, rows));
}

std::vector<Sequences> sequences_of(PrepareContext& c) {
  std::vector<Sequences> all;
  for (size_t i = 0; i < c.count("X"); ++i) all.emplace_back(c, "X", i);
  return all;
}

// Calls f(input, its first row, row of the result, rows) for each piece, and returns the LoD.
template <typename F>
LoD for_each_piece(const std::vector<Sequences>& inputs, F f) {
  LoD lod = inputs.front().emptied();
  int64_t row = 0;
  for (int64_t s = 0; s < inputs.front().count(); ++s) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::span<const int64_t> offsets = inputs[i].offsets();
      require(inputs[i].count() == inputs.front().count(),
              "input 0 has {} sequences, but input {} has {}", inputs.front().count(), i,
              inputs[i].count());
      const int64_t rows = offsets[s + 1] - offsets[s];
      f(i, offsets[s], row, rows);
      row += rows;
    }
    lod.back().push_back(row);
  }
  return lod;
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& shape = c.shape("Out");
  std::vector<In<T>> inputs;
  for (size_t i = 0; i < c.count("X"); ++i) inputs.push_back(c.in<T>("X", i));
  return [inputs, width = shape.numel(1, shape.rank()), sequences = sequences_of(c),
          out = c.out<T>("Out"), lod = c.lod_out("Out")] {
    lod.set(for_each_piece(sequences, [&](size_t i, int64_t from, int64_t to, int64_t rows) {
      std::copy_n(inputs[i].data() + from * width, rows * width, out.data() + to * width);
    }));
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& shape = c.shape("Out@GRAD");
  std::vector<Out<T>> grads;
  for (size_t i = 0; i < c.count("X"); ++i) {
    grads.push_back(c.has("X@GRAD", i) ? c.out<T>("X@GRAD", i) : Out<T>());
  }
  return [grads, width = shape.numel(1, shape.rank()), sequences = sequences_of(c),
          dout = c.in<T>("Out@GRAD")] {
    for_each_piece(sequences, [&](size_t i, int64_t to, int64_t from, int64_t rows) {
      if (!grads[i]) return;
      std::copy_n(dout.data() + from * width, rows * width, grads[i].data() + to * width);
    });
  };
};

const OpDef& sequence_concat = define_op({
    .type = "sequence_concat",
    .doc = "Joins the sequences of several inputs.",
    .inputs = {{.name = "X", .doc = "rows with a LoD", .list = true}},
    .outputs = {{.name = "Out", .doc = "as many sequences as each input"}},
    .infer = infer,
    .grad = grad_op({shape_of("X")}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(forward),
});

}  // namespace
}  // namespace flotilla::ops
