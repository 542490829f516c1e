// flotilla/ops/sequence/row_conv.cc
//
// row_conv: each row with those behind it in its sequence, weighted column by column (Amodei et
// al., Deep Speech 2, 2015).
//
//   Out[i, d] = sum over j of X[i + j, d] * Filter[j, d]        up to the end of the sequence
//
// X has a LoD, or is [sequences, rows, columns].

#include <algorithm>

#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/pieces.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape &x = c.in("X").shape, &filter = c.in("Filter").shape;
  if (x.rank() != 3) check_sequences(c, "X");
  require(
      (x.rank() == 2 || x.rank() == 3) && filter.rank() == 2 && fits(x[x.rank() - 1], filter[1]),
      "X and Filter must have as many columns, but have shapes {} and {}", x, filter);
  c.out("Out") = like(c.in("X"));
}

struct Rows {
  int64_t width = 0;
  int64_t context = 0;  // rows of Filter
  Pieces pieces;

  explicit Rows(PrepareContext& c)
      : width(c.shape("Filter")[1]),
        context(c.shape("Filter")[0]),
        pieces(c, "X", "", c.shape("X").rank() == 3) {}

  // Calls f(element of a row, of one behind it, of Filter) for all that meet in a sequence.
  template <typename F>
  void for_each(Piece piece, F f) const {
    const int64_t end = piece.begin + piece.length;
    for (int64_t i = piece.begin; i < end; ++i) {
      for (int64_t j = 0; j < std::min(context, end - i); ++j) {
        for (int64_t d = 0; d < width; ++d) f(i * width + d, (i + j) * width + d, j * width + d);
      }
    }
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [rows = Rows(c), x = c.in<T>("X"), filter = c.in<T>("Filter"), out = c.out<T>("Out")] {
    const std::vector<Piece> pieces = rows.pieces.all();
    parallel_for(std::ssize(pieces), rows.width * rows.context * 8, [&](int64_t s) {
      const Piece piece = pieces[static_cast<size_t>(s)];
      std::fill_n(out.data() + piece.begin * rows.width, piece.length * rows.width, T{0});
      rows.for_each(piece,
                    [&, to = out.data(), x = x.data(), w = filter.data()](
                        int64_t i, int64_t behind, int64_t j) { to[i] += x[behind] * w[j]; });
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return
      [rows = Rows(c), n = c.shape("X").numel(), x = c.in<T>("X"), filter = c.in<T>("Filter"),
       dout = c.in<T>("Out@GRAD"), dx = wanted<T>(c, "X@GRAD"), df = wanted<T>(c, "Filter@GRAD")] {
        if (dx) std::fill_n(dx.data(), n, T{0});
        if (df) std::fill_n(df.data(), rows.context * rows.width, T{0});
        for (const Piece& piece : rows.pieces.all()) {
          rows.for_each(piece, [&, g = dout.data()](int64_t i, int64_t behind, int64_t j) {
            if (dx) dx.data()[behind] += g[i] * filter.data()[j];
            if (df) df.data()[j] += g[i] * x.data()[behind];
          });
        }
      };
};

const OpDef& row_conv = define_op({
    .type = "row_conv",
    .doc = "Each row becomes a weighted sum of itself and the rows after it.",
    .inputs = {{.name = "X", .doc = "rows with a LoD, or [sequences, rows, columns]"},
               {.name = "Filter", .doc = "[rows that are seen, columns]"}},
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .infer = infer,
    .grad = grad_op({"X", "Filter"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
