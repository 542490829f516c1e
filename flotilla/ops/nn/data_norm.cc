// flotilla/ops/nn/data_norm.cc
//
// data_norm: columns scaled by what all batches so far summed up, not by this batch.
//
//   Means = BatchSum / BatchSize, Scales = sqrt(BatchSize / BatchSquareSum)
//   Y = (X - Means) * Scales           and, with enable_scale_and_shift, * scale_w + bias
//
// slot_dim > 0 cuts a row into slots whose first number counts how often something was shown: a
// slot that was never shown gives zeros and adds nothing to the summaries.
//
// The "gradients" of the three summaries are what a batch adds to them: the number of its rows,
// their sum and the sum of squared distances from Means. With slots they are divided by the number
// of rows, as parameter servers expect, which add them to decayed summaries.

#include <algorithm>
#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/optional_slots.h"

namespace flotilla::ops {
namespace {

constexpr double kNeverShown = 1e-7;

// The columns of X, for each of which these inputs must have a number where they are there.
int64_t check_columns(const InferContext& c, std::initializer_list<const char*> slots) {
  const Shape& x = c.in("X").shape;
  require(x.rank() == 2, "X must have rank 2, but has shape {}", x);
  for (const char* slot : slots) {
    if (!c.has_in(slot)) continue;
    const Shape& shape = c.in(slot).shape;
    require(shape == Shape{x[1]} || x[1] < 0,
            "{} must hold a number for each of the {} columns of X, but has shape {}", slot, x[1],
            shape);
  }
  return x[1];
}

void infer(InferContext& c) {
  const int64_t columns =
      check_columns(c, {"BatchSize", "BatchSum", "BatchSquareSum", "scale_w", "bias"});
  const int64_t slot = c.attr<int64_t>("slot_dim");
  require(slot <= 0 || columns % slot == 0,
          "the {} columns of X cannot be cut into slots of slot_dim {}", columns, slot);
  const float epsilon = c.attr<float>("epsilon");
  require(0 <= epsilon && epsilon <= 1e-3f, "epsilon must lie in [0, 0.001], but is {}", epsilon);
  require(!c.attr<bool>("enable_scale_and_shift") || (c.has_in("scale_w") && c.has_in("bias")),
          "enable_scale_and_shift needs scale_w and bias");
  c.out("Y") = like(c.in("X"));
  c.out("Means") = c.out("Scales") = VarMeta::tensor(c.dtype("X"), Shape{columns});
}

// Rows and columns, and which of them count.
template <typename T>
struct Table {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t slot = 0;  // <= 0: no slots

  explicit Table(PrepareContext& c)
      : rows(c.shape("X")[0]), columns(c.shape("X")[1]), slot(c.attr<int64_t>("slot_dim")) {}

  bool shown(const T* row, int64_t column) const {
    return slot <= 0 || std::abs(row[column / slot * slot]) >= static_cast<T>(kNeverShown);
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const bool shifts = c.attr<bool>("enable_scale_and_shift");
  return
      [table = Table<T>(c), x = c.in<T>("X"), size = c.in<T>("BatchSize"),
       sum = c.in<T>("BatchSum"), square = c.in<T>("BatchSquareSum"), y = c.out<T>("Y"),
       means = c.out<T>("Means"), scales = c.out<T>("Scales"),
       scale_w = shifts ? c.in<T>("scale_w") : In<T>(), bias = shifts ? c.in<T>("bias") : In<T>()] {
        const int64_t n = table.columns;
        for (int64_t j = 0; j < n; ++j) {
          means.data()[j] = sum.data()[j] / size.data()[j];
          scales.data()[j] = std::sqrt(size.data()[j] / square.data()[j]);
        }
        parallel_for(table.rows, n * 8, [&](int64_t i) {
          const T* from = x.data() + i * n;
          T* to = y.data() + i * n;
          for (int64_t j = 0; j < n; ++j) {
            to[j] = (from[j] - means.data()[j]) * scales.data()[j];
            if (scale_w) to[j] = to[j] * scale_w.data()[j] + bias.data()[j];
            if (!table.shown(from, j)) to[j] = 0;
          }
        });
      };
};

void infer_grad(InferContext& c) {
  const int64_t columns = check_columns(c, {"Means", "Scales", "scale_w"});
  c.out("X@GRAD") = like(c.in("X"));
  for (const char* name : {"BatchSize", "BatchSum", "BatchSquareSum", "scale_w", "bias"}) {
    c.out(grad_name(name)) = VarMeta::tensor(c.dtype("X"), Shape{columns});
  }
}

// What a batch adds to the summaries of one column.
template <typename T>
struct Summary {
  T size = 0, sum = 0, square = 0;

  void add(T x, T mean) {
    size += 1;
    sum += x;
    square += (x - mean) * (x - mean);
  }
  void finish(T epsilon, bool average) {
    const T rows = size;
    if (average && rows > 0) {
      size = 1;
      sum /= rows;
      square /= rows;
    }
    square += rows * epsilon;
  }
};

template <typename T>
Step summaries(PrepareContext& c, const Table<T>& table) {
  return [table, epsilon = static_cast<T>(c.attr<float>("epsilon")), x = c.in<T>("X"),
          means = c.in<T>("Means"), size = wanted<T>(c, "BatchSize@GRAD"),
          sum = wanted<T>(c, "BatchSum@GRAD"), square = wanted<T>(c, "BatchSquareSum@GRAD")] {
    parallel_for(table.columns, table.rows * 8, [&](int64_t j) {
      Summary<T> found;
      for (int64_t i = 0; i < table.rows; ++i) {
        const T* row = x.data() + i * table.columns;
        if (table.shown(row, j)) found.add(row[j], means.data()[j]);
      }
      found.finish(epsilon, table.slot > 0);
      if (size) size.data()[j] = found.size;
      if (sum) sum.data()[j] = found.sum;
      if (square) square.data()[j] = found.square;
    });
  };
}

// dscale_w = sum(dY * (X - Means) * Scales), dbias = sum(dY)
template <typename T>
Step shifts(PrepareContext& c, const Table<T>& table) {
  return [table, x = c.in<T>("X"), means = c.in<T>("Means"), scales = c.in<T>("Scales"),
          dy = c.in<T>("Y@GRAD"), dscale = wanted<T>(c, "scale_w@GRAD"),
          dbias = wanted<T>(c, "bias@GRAD")] {
    parallel_for(table.columns, table.rows * 8, [&](int64_t j) {
      T scale = 0, bias = 0;
      for (int64_t i = 0; i < table.rows; ++i) {
        const T* row = x.data() + i * table.columns;
        if (!table.shown(row, j)) continue;
        const T g = dy.data()[i * table.columns + j];
        scale += g * (row[j] - means.data()[j]) * scales.data()[j];
        bias += g;
      }
      if (dscale) dscale.data()[j] = scale;
      if (dbias) dbias.data()[j] = bias;
    });
  };
}

// dX = dY * Scales, times scale_w where there is one. As in Paddle, only then do slots that were
// never shown get none.
template <typename T>
Step slopes(PrepareContext& c, const Table<T>& table) {
  const bool shifts = c.attr<bool>("enable_scale_and_shift");
  return [table, x = c.in<T>("X"), scales = c.in<T>("Scales"), dy = c.in<T>("Y@GRAD"),
          scale_w = shifts ? c.in<T>("scale_w") : In<T>(), dx = c.out<T>("X@GRAD")] {
    const int64_t n = table.columns;
    parallel_for(table.rows, n * 8, [&](int64_t i) {
      for (int64_t j = 0; j < n; ++j) {
        const T factor = scales.data()[j] * (scale_w ? scale_w.data()[j] : T{1});
        const bool counts = !scale_w || table.shown(x.data() + i * n, j);
        dx.data()[i * n + j] = counts ? dy.data()[i * n + j] * factor : T{0};
      }
    });
  };
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Table<T> table(c);
  std::vector<Step> steps;
  if (c.has("X@GRAD")) steps.push_back(slopes(c, table));
  if (c.has("BatchSize@GRAD") || c.has("BatchSum@GRAD") || c.has("BatchSquareSum@GRAD")) {
    steps.push_back(summaries(c, table));
  }
  if (c.has("scale_w@GRAD") || c.has("bias@GRAD")) steps.push_back(shifts(c, table));
  return [steps] {
    for (const Step& step : steps) step();
  };
};

// Real Paddle's gradient op has no summaries.
Slot left_out(std::string summary) {
  return {.name = std::move(summary), .doc = "as before", .optional = true, .shape_only = true};
}

const OpDef& data_norm = define_op({
    .type = "data_norm",
    .doc = "Scales columns by the mean and deviation of all batches so far.",
    .inputs = {{.name = "scale_w", .doc = "a factor for each column", .optional = true},
               {.name = "bias", .doc = "what is added to each column", .optional = true},
               {.name = "X", .doc = "[rows, columns]"},
               {.name = "BatchSize", .doc = "number of rows so far"},
               {.name = "BatchSum", .doc = "their sum"},
               {.name = "BatchSquareSum", .doc = "of their squares"}},
    .outputs = {{.name = "Y", .doc = "same shape as X", .like = "X"},
                {.name = "Means", .doc = "of each column", .no_grad = true},
                {.name = "Scales", .doc = "one over the deviation", .no_grad = true}},
    .attrs = {{"epsilon", 1e-4f, "added for each row to the sum of squares"},
              {"slot_dim", -1, "width of a slot; below 1: none"},
              {"summary_decay_rate", 0.9999999f, "for those who add up summaries"},
              {"enable_scale_and_shift", false, "whether scale_w and bias are used"},
              {"data_layout", "NCHW", "not used: rows are samples"},
              {"sync_stats", false, "of no effect: workers' summaries meet where parameters do"},
              {"use_mkldnn", false, "not used"}},
    .infer = infer,
    .grad = grad_op(
        {"scale_w", "bias", "X", "BatchSize", "BatchSum", "BatchSquareSum", "Means", "Scales"},
        {.kernels = kernels_for<float, double>(backward),
         .infer = infer_grad,
         .inputs = {left_out("BatchSize"), left_out("BatchSum"), left_out("BatchSquareSum")}}),
    .kernels = kernels_for<float, double>(forward),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops
