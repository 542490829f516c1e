// flotilla/ops/nn/fused_embedding_seq_pool.cc
//
// fused_embedding_seq_pool: for each sequence of rows of ids, the sum of the rows of W that a
// column of them names, column beside column. An id equal to padding_idx adds nothing.
//
// The gradient of W is dense, or with is_sparse one row for each id. An id of padding gives none.

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/loss/labels.h"
#include "flotilla/ops/nn/table_grad.h"
#include "flotilla/ops/tensor/sequences.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_labels(c, "Ids");
  check_sequences(c, "Ids");
  const VarMeta &ids = c.in("Ids"), &table = c.in("W");
  require(table.shape.rank() == 2, "W must have rank 2, but has shape {}", table.shape);
  const std::string combiner = c.attr<std::string>("combiner");
  require(combiner == "sum", "combiner must be \"sum\", but is \"{}\"", combiner);
  const int64_t columns = ids.shape.numel(1, ids.shape.rank());
  c.out("Out") = VarMeta::tensor(table.dtype,
                                 Shape{ids.sequences, columns < 0 ? -1 : columns * table.shape[1]});
}

// What both directions walk along.
struct Lookups {
  int64_t columns = 0;  // ids of a row
  int64_t height = 0, width = 0;
  int64_t padding = -1;  // counted from the front; -1: there is none
  LabelsIn ids;
  Sequences sequences;
  std::string table;

  explicit Lookups(PrepareContext& c)
      : columns(c.shape("Ids").numel(1, c.shape("Ids").rank())),
        height(c.shape("W")[0]),
        width(c.shape("W")[1]),
        padding(c.attr<int64_t>("padding_idx")),
        ids(c, "Ids"),
        sequences(c, "Ids"),
        table(c.op().input("W")) {
    if (padding < -1) padding += height;
  }

  bool counts(int64_t id) const { return padding == -1 || id != padding; }
  // Calls f(place, id, where its row stands in Out) for the ids of a sequence.
  template <typename F>
  void for_each(int64_t sequence, F f) const {
    const std::span<const int64_t> offsets = sequences.offsets();
    for (int64_t row = offsets[sequence]; row < offsets[sequence + 1]; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        const int64_t place = row * columns + column, id = ids[place];
        require(!counts(id) || (0 <= id && id < height),
                "id {} at position {} is not a row of the table \"{}\", which has the rows 0 to {}",
                id, place, table, height - 1);
        f(place, id, (sequence * columns + column) * width);
      }
    }
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [lookups = Lookups(c), table = c.in<T>("W"), out = c.out<T>("Out")] {
    const int64_t width = lookups.width, line = lookups.columns * width;
    parallel_for(lookups.sequences.count(), 64 * std::max<int64_t>(line, 1), [&](int64_t s) {
      std::fill_n(out.data() + s * line, line, T{0});
      lookups.for_each(s, [&](int64_t, int64_t id, int64_t at) {
        if (!lookups.counts(id)) return;
        const T* row = table.data() + id * width;
        T* to = out.data() + at;
        for (int64_t j = 0; j < width; ++j) to[j] += row[j];
      });
    });
  };
};

template <typename T>
Step backward_sparse(PrepareContext& c) {
  return [lookups = Lookups(c), dout = c.in<T>("Out@GRAD"), grad = c.sparse_out<T>("W@GRAD")] {
    for (int64_t s = 0; s < lookups.sequences.count(); ++s) {
      lookups.for_each(s, [&](int64_t place, int64_t id, int64_t at) {
        grad.rows.data()[place] = id;
        T* to = grad.value.data() + place * grad.width;
        if (lookups.counts(id)) {
          std::copy_n(dout.data() + at, grad.width, to);
        } else {
          std::fill_n(to, grad.width, T{0});
        }
      });
    }
  };
}

// One thread, so that repeated ids are added in the order they come.
template <typename T>
Step backward_dense(PrepareContext& c) {
  return [lookups = Lookups(c), dout = c.in<T>("Out@GRAD"), grad = c.out<T>("W@GRAD")] {
    const int64_t width = lookups.width;
    std::fill_n(grad.data(), lookups.height * width, T{0});
    for (int64_t s = 0; s < lookups.sequences.count(); ++s) {
      lookups.for_each(s, [&](int64_t, int64_t id, int64_t at) {
        if (!lookups.counts(id)) return;
        T* to = grad.data() + id * width;
        for (int64_t j = 0; j < width; ++j) to[j] += dout.data()[at + j];
      });
    }
  };
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return c.is_sparse("W@GRAD") ? backward_sparse<T>(c) : backward_dense<T>(c);
};

const Slot kIds = {.name = "Ids", .doc = "rows of i64 or i32 with a LoD", .no_grad = true};

const std::vector<AttrSpec> kAttrs = {
    {"combiner", "sum", "what is made of the rows of a sequence"},
    {"is_sparse", false, "whether the gradient of W holds only the rows that were looked up"},
    {"padding_idx", int64_t{-1}, "the id that stands for nothing; -1: none"},
    {"grad_inplace", false, "of no effect"}};

const OpDef& fused_embedding_seq_pool = define_op({
    .type = "fused_embedding_seq_pool",
    .doc = "Looks up rows of a table, and adds up those of a sequence.",
    .inputs = {{"W", "the table, [rows, width]"}, kIds},
    .outputs = {{"Out", "a row for each sequence"}},
    .attrs = kAttrs,
    .infer = infer,
    .grad = grad_op({shape_of("W"), "Ids"},
                    {.kernels = kernels_for<float, double>(backward), .infer = infer_table_grad}),
    .kernels = kernels_for<float, double>(forward),
    .dtype_slot = "W",
});

}  // namespace
}  // namespace flotilla::ops
