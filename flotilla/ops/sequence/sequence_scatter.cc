// flotilla/ops/sequence/sequence_scatter.cc
//
// sequence_scatter: Out = X, and to row i are added the numbers of sequence i of Updates, each at
// the column that Ids names. Rows of several axes count their columns through.

#include <algorithm>

#include "flotilla/op/export_to_paddle.h"
#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/sequences.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_sequences(c, "Ids");
  check_labels(c, "Ids");
  const VarMeta &x = c.in("X"), &ids = c.in("Ids"), &updates = c.in("Updates");
  require(x.shape.rank() >= 1, "X must have rows, but has shape {}", x.shape);
  require(fits(ids.shape.numel(), updates.shape.numel()),
          "Ids of shape {} and Updates of shape {} must hold as many numbers", ids.shape,
          updates.shape);
  require(fits(x.shape[0], ids.sequences),
          "X of shape {} must have a row for each of the {} sequences of Ids", x.shape,
          ids.sequences);
  c.out("Out") = like(x);
}

// Calls f(element of the rows, number in the sequences) for each update.
struct Places {
  int64_t rows = 0;
  int64_t columns = 0;
  Sequences sequences;
  LabelsIn ids;

  Places(PrepareContext& c, const Shape& x)
      : rows(x[0]), columns(x.numel(1, x.rank())), sequences(c, "Ids"), ids(c, "Ids") {}

  template <typename F>
  void for_each(F f) const {
    require(sequences.count() == rows, "X has {} rows, but Ids has {} sequences", rows,
            sequences.count());
    sequences.for_each([&](int64_t s, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = ids[i];
        require(0 <= column && column < columns,
                "id {} of sequence {} is no column of X: it has {}", column, s, columns);
        f(s * columns + column, i);
      }
    });
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  c.in_place("X", "Out");
  return [places = Places(c, c.shape("X")), n = c.shape("X").numel(), x = c.in<T>("X"),
          updates = c.in<T>("Updates"), out = c.out<T>("Out")] {
    if (out.data() != x.data()) std::copy_n(x.data(), n, out.data());
    places.for_each([&](int64_t to, int64_t from) { out.data()[to] += updates.data()[from]; });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t n = c.shape("Out@GRAD").numel();
  return [n, places = Places(c, c.shape("Out@GRAD")), dout = c.in<T>("Out@GRAD"),
          dx = wanted<T>(c, "X@GRAD"), dupdates = wanted<T>(c, "Updates@GRAD")] {
    if (dx) std::copy_n(dout.data(), n, dx.data());
    if (!dupdates) return;
    places.for_each([&](int64_t from, int64_t to) { dupdates.data()[to] = dout.data()[from]; });
  };
};

const OpDef& sequence_scatter = define_op({
    .type = "sequence_scatter",
    .doc = "Adds the numbers of a sequence to a row.",
    .inputs = {{.name = "X", .doc = "[sequences, columns...]"},
               constant("Ids", "columns, i32 or i64 with a LoD"),
               {.name = "Updates", .doc = "a number for each id"}},
    .outputs = {{.name = "Out", .doc = "same shape as X", .like = "X"}},
    .infer = infer,
    .grad = grad_op(
        {"Ids", shape_of("Updates")},
        {.kernels = kernels_for<float, double>(backward),
         .to_paddle = [](Block& b, size_t i) { ask_for_gradient(b, b.op(i), "X", "Out@GRAD"); }}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
