// flotilla/ops/sequence/row_conv.cc
//
// row_conv: each row with those behind it in its sequence, weighted column by column (Amodei et
// al., Deep Speech 2, 2015).
//
//   Out[i, d] = sum over j of X[i + j, d] * Filter[j, d]        up to the end of the sequence
//
// X has a LoD, or is [sequences, rows, columns].

#include <algorithm>
#include <vector>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/optional_slots.h"
#include "flotilla/ops/tensor/sequences.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape &x = c.in("X").shape, &filter = c.in("Filter").shape;
  if (x.rank() != 3) check_sequences(c, "X");
  require((x.rank() == 2 || x.rank() == 3) && filter.rank() == 2 &&
              (x[x.rank() - 1] < 0 || filter[1] == x[x.rank() - 1]),
          "X and Filter must have as many columns, but have shapes {} and {}", x, filter);
  c.out("Out") = like(c.in("X"));
}

// The rows of each sequence.
struct Rows {
  int64_t count = 0;   // of sequences, where there is no LoD
  int64_t length = 0;  // likewise
  int64_t width = 0;
  int64_t context = 0;  // rows of Filter
  std::vector<Sequences> sequences = {};

  explicit Rows(PrepareContext& c) : width(c.shape("Filter")[1]), context(c.shape("Filter")[0]) {
    const Shape& x = c.shape("X");
    if (x.rank() == 2) {
      sequences.emplace_back(c, "X");
    } else {
      count = x[0];
      length = x[1];
    }
  }

  std::vector<int64_t> offsets() const {
    if (!sequences.empty()) {
      const std::span<const int64_t> found = sequences.front().offsets();
      return {found.begin(), found.end()};
    }
    std::vector<int64_t> found;
    for (int64_t s = 0; s <= count; ++s) found.push_back(s * length);
    return found;
  }

  // Calls f(row, row behind it, row of Filter) for all pairs of one sequence.
  template <typename F>
  void for_pairs(int64_t begin, int64_t end, F f) const {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < std::min(context, end - i); ++j) f(i, i + j, j);
    }
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [rows = Rows(c), x = c.in<T>("X"), filter = c.in<T>("Filter"), out = c.out<T>("Out")] {
    const std::vector<int64_t> offsets = rows.offsets();
    const int64_t w = rows.width;
    parallel_for(std::ssize(offsets) - 1, w * rows.context * 8, [&](int64_t s) {
      const int64_t begin = offsets[static_cast<size_t>(s)],
                    end = offsets[static_cast<size_t>(s) + 1];
      std::fill_n(out.data() + begin * w, (end - begin) * w, T{0});
      rows.for_pairs(begin, end, [&](int64_t i, int64_t behind, int64_t j) {
        for (int64_t d = 0; d < w; ++d) {
          out.data()[i * w + d] += x.data()[behind * w + d] * filter.data()[j * w + d];
        }
      });
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return
      [rows = Rows(c), n = c.shape("X").numel(), x = c.in<T>("X"), filter = c.in<T>("Filter"),
       dout = c.in<T>("Out@GRAD"), dx = wanted<T>(c, "X@GRAD"), df = wanted<T>(c, "Filter@GRAD")] {
        const std::vector<int64_t> offsets = rows.offsets();
        const int64_t w = rows.width;
        if (dx) std::fill_n(dx.data(), n, T{0});
        if (df) std::fill_n(df.data(), rows.context * w, T{0});
        for (size_t s = 0; s + 1 < offsets.size(); ++s) {
          rows.for_pairs(offsets[s], offsets[s + 1], [&](int64_t i, int64_t behind, int64_t j) {
            for (int64_t d = 0; d < w; ++d) {
              const T g = dout.data()[i * w + d];
              if (dx) dx.data()[behind * w + d] += g * filter.data()[j * w + d];
              if (df) df.data()[j * w + d] += g * x.data()[behind * w + d];
            }
          });
        }
      };
};

const OpDef& row_conv = define_op({
    .type = "row_conv",
    .doc = "Rows weighted with those behind them.",
    .inputs = {{.name = "X", .doc = "rows with a LoD, or [sequences, rows, columns]"},
               {.name = "Filter", .doc = "[rows that are seen, columns]"}},
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .infer = infer,
    .grad = grad_op({"X", "Filter"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
