// flotilla/ops/math/sum.cc
//
// sum: adds up any number of tensors of one shape, as autodiff does with the gradients of a
// variable that is used several times. Sparse rows alone stay sparse: the sum holds the rows of
// all. Together with a dense tensor they become dense.

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/device/cpu/simd.h"
#include "flotilla/op/grad_context.h"
#include "flotilla/ops/common/move.h"
#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {
namespace {

bool sparse(const VarMeta& meta) { return meta.kind == VarKind::kSelectedRows; }

void infer(InferContext& c) {
  VarMeta out = like(c.in("X"));
  bool all_sparse = true;
  int64_t rows = 0;
  for (size_t i = 0; i < c.in_count("X"); ++i) {
    const VarMeta& x = c.in("X", i);
    require(x.dtype == out.dtype && fits(x.shape, out.shape),
            "the tensors to sum must be alike, but X[0] is {}{} and X[{}] is {}{}", out.dtype,
            c.in("X").shape, i, x.dtype, x.shape);
    for (int64_t a = 0; a < x.shape.rank(); ++a) {
      if (out.shape[a] == -1) out.shape[a] = x.shape[a];
    }
    all_sparse = all_sparse && sparse(x);
    rows = rows < 0 || x.rows < 0 ? -1 : rows + x.rows;
  }
  out.kind = all_sparse ? VarKind::kSelectedRows : VarKind::kTensor;
  out.rows = all_sparse ? rows : -1;
  c.out("Out") = std::move(out);
}

// to += from
template <typename T>
void add(const T* from, T* to, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] += from[i];
}

// Elements that are added up while they stay in the first cache.
constexpr int64_t kPiece = 2048;

template <typename T>
void add_all(const std::vector<In<T>>& from, T* to, int64_t n) {
  parallel_ranges(n, kGrainOperations, [&](int64_t begin, int64_t end) {
    simd([&] {
      for (int64_t at = begin; at < end; at += kPiece) {
        const int64_t size = std::min(kPiece, end - at);
        const T* first = from[0].data() + at;
        const T* second = from[1].data() + at;
        T* sum = to + at;
#pragma GCC ivdep
        for (int64_t i = 0; i < size; ++i) sum[i] = first[i] + second[i];
        for (size_t j = 2; j < from.size(); ++j) add(from[j].data() + at, sum, size);
      }
    });
  });
}

// Rows are added in order, one after the other: they may repeat.
template <typename T>
void add_rows(const SparseIn<T>& rows, T* to) {
  const int64_t* places = rows.rows.data();
  for (int64_t r = 0; r < rows.count; ++r) {
    require(0 <= places[r] && places[r] < rows.height,
            "sparse rows hold row {}, but there are the rows 0 to {}", places[r], rows.height - 1);
  }
  const T* values = rows.value.data();
  simd([=, width = rows.width, count = rows.count] {
    for (int64_t r = 0; r < count; ++r) add(values + r * width, to + places[r] * width, width);
  });
}

template <typename T>
Step sparse_sum(PrepareContext& c) {
  std::vector<SparseIn<T>> from;
  for (size_t i = 0; i < c.count("X"); ++i) from.push_back(c.sparse_in<T>("X", i));
  return [from, out = c.sparse_out<T>("Out")] {
    int64_t* rows = out.rows.data();
    T* values = out.value.data();
    for (const SparseIn<T>& x : from) {
      copy_bytes(rows, x.rows.data(), x.count * static_cast<int64_t>(sizeof(int64_t)));
      copy_bytes(values, x.value.data(), x.count * x.width * static_cast<int64_t>(sizeof(T)));
      rows += x.count;
      values += x.count * x.width;
    }
  };
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  if constexpr (std::is_floating_point_v<T>) {
    if (c.is_sparse("Out")) return sparse_sum<T>(c);
  }
  Layout layout;
  bool any_sparse = false;
  for (size_t i = 0; i < c.count("X"); ++i) {
    any_sparse = any_sparse || c.is_sparse("X", i);
    if (layout.plain() && !c.is_sparse("X", i)) layout = c.layout("X", i);
  }
  if (any_sparse) layout = {};
  if (c.count("X") == 1) return pass_through(c, "X", "Out", layout);

  std::vector<In<T>> dense;
  std::vector<SparseIn<T>> rows;
  for (size_t i = 0; i < c.count("X"); ++i) {
    if (c.is_sparse("X", i)) {
      rows.push_back(c.sparse_in<T>("X", i));
    } else {
      if (dense.empty()) c.in_place("X", "Out", i);
      dense.push_back(c.in<T>("X", i, layout));
    }
  }
  return
      [n = layout.physical_numel(c.shape("Out")), dense, rows, out = c.out<T>("Out", 0, layout)] {
        T* to = out.data();
        if (dense.size() == 1) {
          copy_bytes(to, dense[0].data(), n * static_cast<int64_t>(sizeof(T)));
        } else {
          add_all(dense, to, n);
        }
        for (const SparseIn<T>& x : rows) add_rows(x, to);
      };
};

void grad(GradContext& g) {
  const std::string dout = g.output_grad("Out");
  for (size_t i = 0; i < g.op().input_list("X").size(); ++i) {
    const std::string dx = g.input_grad("X", i);
    if (!dx.empty()) g.emit("scale", {{"X", {dout}}}, {{"Out", {dx}}}, {{"scale", 1.0f}});
  }
}

const OpDef& sum = define_op({
    .type = "sum",
    .doc = "Adds up tensors of one shape.",
    .inputs = {{.name = "X", .doc = "tensors and sparse rows of one shape", .list = true}},
    .outputs = {{.name = "Out", .doc = "sparse where all of X are"}},
    .infer = infer,
    .grad = custom_grad(grad),
    .kernels = kernels_for<float, double, int32_t, int64_t>(forward),
});

}  // namespace
}  // namespace flotilla::ops
