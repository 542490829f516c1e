// flotilla/ops/sequence/sequence_conv.cc
//
// sequence_conv: each row of a sequence with its neighbours, one behind the other, times Filter.
//
//   Out[i] = [X[i + start], ..., X[i + start + length - 1]] Filter       rows outside are zeros
//
// Filter has length * width rows: the first `width` belong to the first neighbour. Rows of Filter
// and Out are contiguous, so all three loops end in a sum over the columns of Filter.

#include <algorithm>

#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/sequences.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_sequences(c, "X");
  const Shape &x = c.in("X").shape, &filter = c.in("Filter").shape;
  const int64_t length = c.attr<int64_t>("contextLength");
  require(x.rank() == 2 && filter.rank() == 2, "X and Filter must be matrices, but are {} and {}",
          x, filter);
  constexpr int64_t kMost = int64_t{1} << 31;
  const int64_t start = c.attr<int64_t>("contextStart");
  require(0 < length && length < kMost && -kMost < start && start < kMost,
          "contextLength must be positive, and it and contextStart below 2^31, but they are {} and "
          "{}",
          length, start);
  require(x[1] < 0 || filter[0] == length * x[1],
          "Filter must have contextLength * {} = {} rows, but has shape {}", x[1], length * x[1],
          filter);
  require(c.attr<int64_t>("contextStride") == 1, "contextStride must be 1, but is {}",
          c.attr<int64_t>("contextStride"));
  require(!c.attr<bool>("paddingTrainable"), "rows outside of a sequence are zeros, not learnt");
  c.out("Out") = c.in("X");  // with its sequences
  c.out("Out").shape[1] = filter[1];
}

struct Window {
  int64_t length = 0;   // rows
  int64_t start = 0;    // of the first, from the row in the middle
  int64_t width = 0;    // of a row of X
  int64_t columns = 0;  // of Filter
};

Window window_of(PrepareContext& c) {
  return {c.attr<int64_t>("contextLength"), c.attr<int64_t>("contextStart"), c.shape("X")[1],
          c.shape("Filter")[1]};
}

// Calls f(row, neighbour, its place in the window) for all of one sequence.
template <typename F>
void for_each_neighbour(const Window& w, int64_t begin, int64_t end, F&& f) {
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = 0; j < w.length; ++j) {
      const int64_t other = i + w.start + j;
      if (begin <= other && other < end) f(i, other, j);
    }
  }
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [w = window_of(c), sequences = Sequences(c, "X"), x = c.in<T>("X"),
          filter = c.in<T>("Filter"), out = c.out<T>("Out")] {
    const int64_t work = w.length * w.width * w.columns * 8;
    sequences.parallel(work, [&](int64_t, int64_t begin, int64_t end) {
      std::fill(out.data() + begin * w.columns, out.data() + end * w.columns, T{0});
      for_each_neighbour(w, begin, end, [&](int64_t i, int64_t other, int64_t j) {
        T* to = out.data() + i * w.columns;
        for (int64_t d = 0; d < w.width; ++d) {
          const T value = x.data()[other * w.width + d];
          const T* row = filter.data() + (j * w.width + d) * w.columns;
          for (int64_t m = 0; m < w.columns; ++m) to[m] += value * row[m];
        }
      });
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return [w = window_of(c), sequences = Sequences(c, "X"), x = c.in<T>("X"),
          filter = c.in<T>("Filter"), dout = c.in<T>("Out@GRAD"), dx = wanted<T>(c, "X@GRAD"),
          dfilter = wanted<T>(c, "Filter@GRAD")] {
    if (dx) {
      const int64_t work = w.length * w.width * w.columns * 8;
      sequences.parallel(work, [&](int64_t, int64_t begin, int64_t end) {
        std::fill(dx.data() + begin * w.width, dx.data() + end * w.width, T{0});
        for_each_neighbour(w, begin, end, [&](int64_t i, int64_t other, int64_t j) {
          const T* g = dout.data() + i * w.columns;
          for (int64_t d = 0; d < w.width; ++d) {
            const T* row = filter.data() + (j * w.width + d) * w.columns;
            T sum = 0;
            for (int64_t m = 0; m < w.columns; ++m) sum += g[m] * row[m];
            dx.data()[other * w.width + d] += sum;
          }
        });
      });
    }
    if (!dfilter) return;
    // Threads share out the rows of Filter; each sums up the sequences in order.
    parallel_for(w.length * w.width, w.columns * sequences.offsets().back(), [&](int64_t k) {
      const int64_t j = k / w.width, d = k % w.width;
      T* row = dfilter.data() + k * w.columns;
      std::fill_n(row, w.columns, T{0});
      sequences.for_each([&](int64_t, int64_t begin, int64_t end) {
        const int64_t first = std::max(begin, begin - w.start - j);
        const int64_t last = std::min(end, end - w.start - j);
        for (int64_t i = first; i < last; ++i) {
          const T value = x.data()[(i + w.start + j) * w.width + d];
          const T* g = dout.data() + i * w.columns;
          for (int64_t m = 0; m < w.columns; ++m) row[m] += value * g[m];
        }
      });
    });
  };
};

const OpDef& sequence_conv = define_op({
    .type = "sequence_conv",
    .doc = "Each row of a sequence with its neighbours, times Filter.",
    .inputs = {{.name = "X", .doc = "matrix whose rows a LoD cuts into sequences"},
               {.name = "Filter", .doc = "[contextLength * width of X, columns]"}},
    .outputs = {{.name = "Out", .doc = "as many rows and sequences as X"}},
    .attrs = {{"paddingTrainable", false, "rows outside of a sequence are learnt; refused"},
              {"contextLength", 1, "rows that are seen together"},
              {"contextStart", 0, "of the first of them, from the row in the middle"},
              {"contextStride", 1, "1"}},
    .infer = infer,
    .grad = grad_op({"X", "Filter"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
