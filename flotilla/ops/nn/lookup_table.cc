// flotilla/ops/nn/lookup_table.cc
//
// lookup_table_v2: Out[i] = W[Ids[i]], row by row; an id equal to padding_idx gives zeros.
// lookup_table:    the same for Ids whose last extent is 1, which Out drops.
//
// The gradient of W is dense, or with is_sparse one row for each id. An id of padding gives none.

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/table_rows.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_labels(c, "Ids");
  const VarMeta& table = c.in("W");
  require(table.shape.rank() == 2, "W must have rank 2, but has shape {}", table.shape);
  VarMeta out = like(c.in("Ids"));
  out.dtype = table.dtype;
  if (c.def().type == "lookup_table") {
    const Shape& ids = c.in("Ids").shape;
    require(ids.rank() >= 1 && fits(ids[ids.rank() - 1], 1),
            "the last extent of Ids must be 1, but Ids has shape {}", ids);
    out.shape = Shape(std::vector<int64_t>(ids.begin(), ids.end() - 1));
  }
  out.shape.push_back(table.shape[1]);
  c.out("Out") = std::move(out);
}

constexpr int64_t kAhead = 16;

int64_t padding_of(const PrepareContext& c) {
  return padding_row(c.attr<int64_t>("padding_idx"), c.shape("W")[0]);
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.shape("Ids").numel(), table = TableRows<T>(c), ids = LabelsIn(c, "Ids"),
          out = c.out<T>("Out"), padding = padding_of(c)] {
    T* y = out.data();
    const int64_t width = table.width;
    const int64_t grain = std::max<int64_t>(1, kGrainOperations / (width + 16));
    parallel_ranges(n, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (i + kAhead < end) table.prefetch(ids[i + kAhead]);
        table.copy(ids[i], padding, i, y + i * width);
      }
    });
  };
};

template <typename T>
Step backward_sparse(PrepareContext& c) {
  const SparseOut<T> grad = c.sparse_out<T>("W@GRAD");
  const int64_t padding = padding_of(c);
  if (padding == -1) c.view("Out@GRAD", "W@GRAD");
  return [grad, padding, ids = LabelsIn(c, "Ids"), dout = c.in<T>("Out@GRAD")] {
    const T* dy = dout.data();
    T* dw = grad.value.data();
    for (int64_t i = 0; i < grad.count; ++i) grad.rows.data()[i] = ids[i];
    if (dw != dy) std::copy_n(dy, grad.count * grad.width, dw);
    for (int64_t i = 0; padding != -1 && i < grad.count; ++i) {
      if (ids[i] == padding) std::fill_n(dw + i * grad.width, grad.width, T{0});
    }
  };
}

// Threads share out columns, so that repeated ids are added in the order they come.
template <typename T>
Step backward_dense(PrepareContext& c) {
  const int64_t n = c.shape("Ids").numel(), height = c.shape("W")[0], width = c.shape("W")[1];
  return [=, ids = LabelsIn(c, "Ids"), dout = c.in<T>("Out@GRAD"), out = c.out<T>("W@GRAD"),
          padding = padding_of(c)] {
    const T* dy = dout.data();
    T* dw = out.data();
    parallel_ranges(height * width, kGrainOperations,
                    [=](int64_t begin, int64_t end) { std::fill(dw + begin, dw + end, T{0}); });
    const int64_t grain = std::max<int64_t>(16, kGrainOperations / std::max<int64_t>(n, 1));
    parallel_ranges(width, grain, [=, &ids](int64_t begin, int64_t end) {
      for (int64_t i = 0; i < n; ++i) {
        const int64_t id = ids[i];
        if (id == padding && padding != -1) continue;
        require(0 <= id && id < height, "id {} at position {} is not one of the {} rows of W", id,
                i, height);
        for (int64_t j = begin; j < end; ++j) dw[id * width + j] += dy[i * width + j];
      }
    });
  };
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return c.is_sparse("W@GRAD") ? backward_sparse<T>(c) : backward_dense<T>(c);
};

const OpDef& define(std::string type, std::string ids_doc) {
  return define_op(
      {.type = std::move(type),
       .doc = "Looks up rows of a table.",
       .inputs = {{.name = "Ids", .doc = std::move(ids_doc), .no_grad = true},
                  {"W", "the table, [rows, width]"}},
       .outputs = {{"Out", "a row for each id"}},
       .attrs = {{"padding_idx", int64_t{-1}, "the id of padding, whose row is zeros; -1: none"},
                 {"is_sparse", false,
                  "whether the gradient of W holds only the rows that were looked up"},
                 // Marks that parameter-server programs carry along.
                 {"is_distributed", false, "of no effect"},
                 {"remote_prefetch", false, "of no effect"},
                 {"grad_inplace", false, "of no effect"},
                 {"entry_config", "", "of no effect"},
                 {"entry", "none", "of no effect"},
                 {"table_class", "none", "of no effect"},
                 {"table_names", std::vector<std::string>{}, "of no effect"},
                 {"epmap", std::vector<std::string>{}, "of no effect"},
                 {"height_sections", std::vector<int64_t>{}, "of no effect"},
                 {"trainer_id", 0, "of no effect"},
                 {"slot", 0, "of no effect"},
                 {"is_test", false, "of no effect"}},
       .infer = infer,
       .grad = grad_op({"Ids", shape_of("W")}, {.kernels = kernels_for<float, double>(backward),
                                                .infer = infer_table_grad}),
       .kernels = kernels_for<float, double>(forward),
       .dtype_slot = "W"});
}

const OpDef& lookup_table_v2 = define("lookup_table_v2", "row numbers, i64 or i32, of any shape");
const OpDef& lookup_table = define("lookup_table", "row numbers, i64 or i32, [..., 1]");

}  // namespace
}  // namespace flotilla::ops
