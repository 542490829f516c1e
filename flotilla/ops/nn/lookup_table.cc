// flotilla/ops/nn/lookup_table.cc
//
// lookup_table, lookup_table_v2: Out[i] = W[Ids[i]], row by row; zeros where Ids[i] is padding_idx.
// The older op wants Ids with a last axis of 1, which Out does not have. The gradient of W is
// dense, or, with is_sparse, the rows that were read: ids and the gradients of their rows, repeated
// ids repeated.

#include <algorithm>
#include <cstring>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"

namespace flotilla::ops {
namespace {

constexpr int64_t kNoPadding = -1;

bool is_old(const Op& op) { return !op.type().starts_with("lookup_table_v2"); }

void infer(InferContext& c) {
  const VarMeta &ids = c.in("Ids"), &w = c.in("W");
  require(w.shape.rank() == 2, "W must be [rows, width], but has shape {}", w.shape);
  require(ids.dtype == i64 || ids.dtype == i32, "Ids must be int64 or int32, but is {}", ids.dtype);
  std::vector<int64_t> dims = ids.shape.dims();
  if (is_old(c.op())) {
    require(!dims.empty() && (dims.back() == 1 || dims.back() == -1),
            "the last axis of Ids must be 1, but Ids has shape {}", ids.shape);
    dims.pop_back();
  }
  dims.push_back(w.shape[1]);
  VarMeta out = ids;
  out.dtype = w.dtype;
  out.shape = Shape(dims);
  out.value.reset();
  c.out("Out") = out;
}

void infer_grad(InferContext& c) {
  VarMeta grad = VarMeta::tensor(c.in("W").dtype, c.in("W").shape);
  if (c.attr<bool>("is_sparse")) {
    grad.kind = VarKind::kSelectedRows;
    grad.rows = c.in("Ids").shape.numel();
  }
  c.out("W@GRAD") = grad;
}

// A padding index counted from the end, as Paddle allows, is counted from the front here.
int64_t padding_of(const PrepareContext& c, int64_t rows) {
  const int64_t padding = c.attr<int64_t>("padding_idx");
  return padding == kNoPadding || padding >= 0 ? padding : padding + rows;
}

struct Table {
  int64_t rows = 0, width = 0, padding = kNoPadding;

  void check(int64_t id) const {
    require(0 <= id && id < rows, "the id {} lies outside a table of {} rows", id, rows);
  }
};

Table table_of(const PrepareContext& c) {
  const Shape& w = c.shape("W");
  return {w[0], w[1], padding_of(c, w[0])};
}

template <typename T, typename Id>
Step forward(PrepareContext& c) {
  const Table t = table_of(c);
  const int64_t n = c.shape("Ids").numel();
  return [t, n, ids = c.in<Id>("Ids"), w = c.in<T>("W"), out = c.out<T>("Out")] {
    const int64_t grain = std::max<int64_t>(1, kGrainOperations / std::max<int64_t>(t.width, 1));
    parallel_ranges(n, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t id = ids.data()[i];
        T* row = out.data() + i * t.width;
        if (id == t.padding) {
          std::fill_n(row, t.width, T{0});
        } else {
          t.check(id);
          std::copy_n(w.data() + id * t.width, t.width, row);
        }
      }
    });
  };
}

// The rows of the ids, in order; those of the padding are zero.
template <typename T, typename Id>
Step sparse_backward(PrepareContext& c, const Table& t) {
  const auto grad = c.sparse_out<T>("W@GRAD");
  return [t, grad, ids = c.in<Id>("Ids"), dout = c.in<T>("Out@GRAD")] {
    for (int64_t i = 0; i < grad.count; ++i) {
      const int64_t id = ids.data()[i];
      grad.rows.data()[i] = id;
      T* row = grad.value.data() + i * t.width;
      if (id == t.padding) {
        std::fill_n(row, t.width, T{0});
      } else {
        std::copy_n(dout.data() + i * t.width, t.width, row);
      }
    }
  };
}

template <typename T, typename Id>
Step backward(PrepareContext& c) {
  const Table t = table_of(c);
  if (c.is_sparse("W@GRAD")) return sparse_backward<T, Id>(c, t);
  const int64_t n = c.shape("Ids").numel();
  return [t, n, ids = c.in<Id>("Ids"), dout = c.in<T>("Out@GRAD"), dw = c.out<T>("W@GRAD")] {
    std::fill_n(dw.data(), t.rows * t.width, T{0});
    for (int64_t i = 0; i < n; ++i) {
      const int64_t id = ids.data()[i];
      if (id == t.padding) continue;
      t.check(id);
      const T* from = dout.data() + i * t.width;
      T* to = dw.data() + id * t.width;
      for (int64_t j = 0; j < t.width; ++j) to[j] += from[j];
    }
  };
}

template <typename T>
Step pick_forward(PrepareContext& c) {
  return c.dtype("Ids") == i64 ? forward<T, int64_t>(c) : forward<T, int32_t>(c);
}

template <typename T>
Step pick_backward(PrepareContext& c) {
  return c.dtype("Ids") == i64 ? backward<T, int64_t>(c) : backward<T, int32_t>(c);
}

const std::vector<AttrSpec> kAttrs = {
    {"is_sparse", false, "the gradient of W holds only the rows that were read"},
    {"is_distributed", false, "the table lives on parameter servers"},
    {"padding_idx", kNoPadding, "an id whose row is zero and is not trained; -1: none"},
    {"remote_prefetch", false, "rows are fetched from parameter servers"},
    {"trainer_id", int32_t{0}, "rank of this worker"},
    {"slot", int32_t{0}, "number of the feature"},
    {"entry_config", std::string(), "admission of new rows"},
    {"entry", std::string("none"), "admission of new rows"},
    {"table_class", std::string("none"), "kind of the table on the servers"},
    {"is_test", false, "no row is made"},
    {"grad_inplace", false, "a hint of Paddle's"},
    {"epmap", std::vector<std::string>{}, "addresses of parameter servers"},
    {"height_sections", std::vector<int64_t>{}, "rows of each parameter server"},
    {"table_names", std::vector<std::string>{}, "parts of the table"},
};

bool define(const std::string& type) {
  define_op({.type = type,
             .doc = "Takes the rows of W that Ids names.",
             .inputs = {{.name = "W", .doc = "table, [rows, width]"},
                        {.name = "Ids", .doc = "row numbers", .no_grad = true}},
             .outputs = {{"Out", "the rows"}},
             .attrs = kAttrs,
             .infer = infer,
             .grad = grad_op({"W", "Ids"}),
             .kernels = {{kCpu, f32, pick_forward<float>}, {kCpu, f64, pick_forward<double>}},
             .dtype_slot = "W"});
  define_op({.type = type + "_grad",
             .doc = "Gradient of " + type + ".",
             .inputs = {{.name = "W", .doc = "table", .shape_only = true},
                        {"Ids", "row numbers"},
                        {"Out@GRAD", "gradient of the rows"}},
             .outputs = {{"W@GRAD", "gradient of the table"}},
             .attrs = kAttrs,
             .infer = infer_grad,
             .kernels = {{kCpu, f32, pick_backward<float>}, {kCpu, f64, pick_backward<double>}},
             .dtype_slot = "W"});
  return true;
}

const bool old_op = define("lookup_table");
const bool new_op = define("lookup_table_v2");

}  // namespace
}  // namespace flotilla::ops
