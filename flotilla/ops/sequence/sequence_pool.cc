// flotilla/ops/sequence/sequence_pool.cc
//
// sequence_pool: one row for each sequence of X, whose rows a LoD cuts into sequences: their sum,
// average, sum over the square root of their number, largest elements, first or last row. A
// sequence without rows gives `pad_value`. Of several LoD levels the last one is pooled; those
// above stay.

#include <algorithm>
#include <cmath>

#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/sequences.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

enum class Pooling { kSum, kAverage, kSqrt, kMax, kFirst, kLast };

Pooling pooling_of(const PrepareContext& c) {
  const std::string name = c.attr<std::string>("pooltype");
  if (name == "SUM") return Pooling::kSum;
  if (name == "AVERAGE") return Pooling::kAverage;
  if (name == "SQRT") return Pooling::kSqrt;
  if (name == "MAX") return Pooling::kMax;
  if (name == "FIRST") return Pooling::kFirst;
  if (name == "LAST") return Pooling::kLast;
  refuse("pooltype must be one of SUM, AVERAGE, SQRT, MAX, FIRST, LAST, but is \"{}\"", name);
}

void infer(InferContext& c) {
  check_sequences(c, "X");
  const VarMeta& x = c.in("X");
  VarMeta out = VarMeta::tensor(x.dtype, x.shape);
  out.shape[0] = x.sequences;
  c.out("MaxIndex") = out;
  c.out("MaxIndex").dtype = i32;
  if (x.lod_level > 1) {
    out.lod_level = x.lod_level - 1;
    out.lod_source = kOwnLod;
  }
  c.out("Out") = std::move(out);
}

template <typename T>
void pool_rows(Pooling pooling, const T* rows, int64_t n, int64_t width, T* to, int32_t* places) {
  if (pooling == Pooling::kFirst || pooling == Pooling::kLast) {
    std::copy_n(rows + (pooling == Pooling::kFirst ? 0 : n - 1) * width, width, to);
    return;
  }
  std::copy_n(rows, width, to);
  if (places != nullptr) std::fill_n(places, width, 0);
  for (int64_t r = 1; r < n; ++r) {
    const T* row = rows + r * width;
    for (int64_t i = 0; i < width; ++i) {
      if (pooling != Pooling::kMax) {
        to[i] += row[i];
      } else if (row[i] > to[i]) {
        to[i] = row[i];
        if (places != nullptr) places[i] = static_cast<int32_t>(r);
      }
    }
  }
  const T count = static_cast<T>(n);
  if (pooling == Pooling::kAverage) std::for_each(to, to + width, [=](T& v) { v /= count; });
  if (pooling == Pooling::kSqrt)
    std::for_each(to, to + width, [=](T& v) { v /= std::sqrt(count); });
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  const bool nested = c.meta("Out").lod_level > 0;
  return [pooling = pooling_of(c), width = x.numel(1, x.rank()),
          pad = static_cast<T>(c.attr<float>("pad_value")), sequences = Sequences(c, "X"),
          in = c.in<T>("X"), out = c.out<T>("Out"), index = wanted<int32_t>(c, "MaxIndex"), nested,
          lod = nested ? c.lod_out("Out") : LodOut()] {
    if (nested) lod.set(sequences.outer());
    sequences.parallel(width * 8, [&](int64_t s, int64_t begin, int64_t end) {
      T* to = out.data() + s * width;
      int32_t* places = index ? index.data() + s * width : nullptr;
      if (begin == end) {
        std::fill_n(to, width, pad);
        if (places != nullptr) std::fill_n(places, width, -1);
      } else {
        pool_rows(pooling, in.data() + begin * width, end - begin, width, to, places);
      }
    });
  };
};

// The gradient of one sequence's rows.
template <typename T>
void spread_rows(Pooling pooling, const T* g, int64_t n, int64_t width, T* rows,
                 const int32_t* places) {
  const bool one_row = pooling == Pooling::kFirst || pooling == Pooling::kLast;
  if (one_row || pooling == Pooling::kMax) std::fill_n(rows, n * width, T{0});
  if (one_row) {
    std::copy_n(g, width, rows + (pooling == Pooling::kFirst ? 0 : n - 1) * width);
  } else if (pooling == Pooling::kMax) {
    for (int64_t i = 0; i < width; ++i) {
      require(0 <= places[i] && places[i] < n, "MaxIndex holds {}, but a sequence has {} rows",
              places[i], n);
      rows[places[i] * width + i] = g[i];
    }
  } else {
    const T count = static_cast<T>(n);
    const T factor = pooling == Pooling::kSum       ? T{1}
                     : pooling == Pooling::kAverage ? T{1} / count
                                                    : T{1} / std::sqrt(count);
    for (int64_t r = 0; r < n; ++r) {
      for (int64_t i = 0; i < width; ++i) rows[r * width + i] = g[i] * factor;
    }
  }
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  const Pooling pooling = pooling_of(c);
  const bool needs_places = pooling == Pooling::kMax;
  require(!needs_places || c.has("MaxIndex"), "the gradient of MAX needs MaxIndex");
  return
      [pooling, width = x.numel(1, x.rank()), count = c.shape("Out@GRAD")[0],
       sequences = Sequences(c, "X"), dout = c.in<T>("Out@GRAD"),
       index = needs_places ? c.in<int32_t>("MaxIndex") : In<int32_t>(), din = c.out<T>("X@GRAD")] {
        require(sequences.count() == count, "Out@GRAD has {} rows, but X has {} sequences", count,
                sequences.count());
        sequences.parallel(width * 8, [&](int64_t s, int64_t begin, int64_t end) {
          if (begin == end) return;
          spread_rows(pooling, dout.data() + s * width, end - begin, width,
                      din.data() + begin * width, index ? index.data() + s * width : nullptr);
        });
      };
};

const OpDef& sequence_pool = define_op({
    .type = "sequence_pool",
    .doc = "One row for each sequence of X.",
    .inputs = {{.name = "X", .doc = "rows with a LoD"}},
    .outputs = {{.name = "Out", .doc = "one row for each sequence"},
                optional_constant("MaxIndex", "int32: which row held the largest element")},
    .attrs = {{"is_test", false, "ignored"},
              {"pooltype", "AVERAGE", "SUM, AVERAGE, SQRT, MAX, FIRST or LAST"},
              {"pad_value", 0.0f, "what a sequence without rows gives"}},
    .infer = infer,
    .grad = float_grad({shape_of("X"), "MaxIndex"}, backward),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
