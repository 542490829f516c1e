// flotilla/ops/fused/lookup_concat.cc
//
// lookup_concat: rows that are put together from rows of tables and from other tensors. It stands
// for lookups, the reshapes behind them and the concat that joins the results (fuse_lookups).
//
//     Out row 0: [ W[Ids0[0]] | W[Ids1[0]] | ... | X0[0] ]     the piece of Ids[k] begins at the
//         row 1: [ W[Ids0[1]] | W[Ids1[1]] | ... | X0[1] ]     column offsets[k], that of X[j] at
//                                                              x_offsets[j]
//
// A piece of Ids may hold several rows of its table, one behind the other. The gradient of a table
// is what the sum of the gradients of its lookups would be, bit by bit: sparse ones one behind the
// other in the order of Ids; dense ones added up lookup by lookup.

#include "flotilla/ops/fused/lookup_concat.h"

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/in_order.h"
#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/table_rows.h"

namespace flotilla::ops {
namespace {

// ---- What the attributes say --------------------------------------------------------------------

constexpr int64_t kMostColumns = int64_t{1} << 31;

void check_lists(const InferContext& c) {
  const auto check = [&](const char* attr, std::string_view slot) {
    const size_t size = c.attr<Ints>(attr).size();
    require(size == c.in_count(slot),
            "{} must hold a number for each of {} variables in {}, but "
            "holds {}",
            attr, c.in_count(slot), slot, size);
  };
  for (const char* attr : {"tables", "offsets", "columns", "padding_idx"}) check(attr, "Ids");
  check("x_offsets", "X");
  check("is_sparse", "W");
  for (const char* attr : {"offsets", "x_offsets", "columns"}) {
    for (const int64_t number : c.attr<Ints>(attr)) {
      require(0 <= number && number < kMostColumns, "{} must lie in [0, {}), but holds {}", attr,
              kMostColumns, number);
    }
  }
  for (const int64_t table : c.attr<Ints>("tables")) {
    require(0 <= table && table < static_cast<int64_t>(c.in_count("W")),
            "tables must number the {} variables in W, but holds {}", c.in_count("W"), table);
  }
}

// How many rows the piece of Ids[k] has; -1 where that is not known yet.
int64_t rows_of(const InferContext& c, const LookupPiece& piece, size_t k) {
  const Shape &ids = c.in("Ids", k).shape, &table = c.in("W", piece.table).shape;
  if (!ids.known() || table[1] < 0) return -1;
  const int64_t elements = ids.numel() * table[1];
  require(elements % piece.columns == 0,
          "{} rows of {} elements do not fill rows of {} columns, those of Ids[{}]", ids.numel(),
          table[1], piece.columns, k);
  return elements / piece.columns;
}

// The shape of Out. Refuses pieces that differ in their rows, overlap or leave gaps.
Shape check_pieces(const InferContext& c) {
  check_lists(c);
  for (size_t t = 0; t < c.in_count("W"); ++t) {
    const VarMeta& table = c.in("W", t);
    require(table.shape.rank() == 2 && table.dtype == c.dtype("W"),
            "W must hold matrices of one dtype, but W[{}] is {}{}", t, table.dtype, table.shape);
  }
  int64_t rows = -1;
  const auto agree = [&](int64_t found, std::string_view slot, size_t i) {
    require(found < 0 || rows < 0 || found == rows, "{}[{}] has {} rows, but others have {}", slot,
            i, found, rows);
    rows = std::max(rows, found);
  };
  std::vector<std::pair<int64_t, int64_t>> spans;  // begin and end
  const std::vector<LookupPiece> pieces = pieces_of(c);
  for (size_t k = 0; k < pieces.size(); ++k) {
    const int64_t width = c.in("W", pieces[k].table).shape[1];
    check_labels(c, "Ids", k);
    require(pieces[k].columns > 0 && (width < 0 || (width > 0 && pieces[k].columns % width == 0)),
            "columns must hold multiples of a table's width {}, but holds {}", width,
            pieces[k].columns);
    agree(rows_of(c, pieces[k], k), "Ids", k);
    spans.emplace_back(pieces[k].offset, pieces[k].offset + pieces[k].columns);
  }
  const Ints offsets = c.attr<Ints>("x_offsets");
  for (size_t j = 0; j < offsets.size(); ++j) {
    const VarMeta& x = c.in("X", j);
    require(x.shape.rank() == 2 && x.shape[1] > 0 && x.dtype == c.dtype("W"),
            "X must hold matrices of the dtype {} of W, but X[{}] is {}{}", c.dtype("W"), j,
            x.dtype, x.shape);
    agree(x.shape[0], "X", j);
    spans.emplace_back(offsets[j], offsets[j] + x.shape[1]);
  }
  std::sort(spans.begin(), spans.end());
  int64_t end = 0;
  for (const auto& [from, to] : spans) {
    require(from == end,
            "a piece must begin at column {}, where the one before it ends, but "
            "begins at {}",
            end, from);
    end = to;
  }
  return {rows, end};
}

// ---- Forward ------------------------------------------------------------------------------------

void infer(InferContext& c) {
  const Shape shape = check_pieces(c);
  VarMeta out = VarMeta::tensor(c.dtype("W"), shape);
  // Sequences are those of the first piece, as concat has it.
  const Ints offsets = c.attr<Ints>("offsets"), x_offsets = c.attr<Ints>("x_offsets");
  const auto first = [](const Ints& list) {
    return static_cast<size_t>(std::find(list.begin(), list.end(), 0) - list.begin());
  };
  const bool from_x = first(x_offsets) < x_offsets.size();
  const VarMeta& source = from_x ? c.in("X", first(x_offsets)) : c.in("Ids", first(offsets));
  if (source.shape.rank() > 0 && source.shape[0] == shape[0]) {
    out.lod_level = source.lod_level;
    out.lod_source = source.lod_source;
    out.sequences = source.sequences;
  }
  c.out("Out") = std::move(out);
}

// A piece as its rows are copied.
template <typename T>
struct Lookup {
  TableRows<T> table;
  LabelsIn ids;
  int64_t offset = 0, per_row = 1, padding = -1;

  FLT_INLINE void prefetch(int64_t row) const {
    for (int64_t i = row * per_row; i < (row + 1) * per_row; ++i) table.prefetch(ids[i]);
  }
  FLT_INLINE void copy(int64_t row, T* out) const {
    T* to = out + offset;
    for (int64_t i = row * per_row; i < (row + 1) * per_row; ++i, to += table.width) {
      table.copy(ids[i], padding, i, to);
    }
  }
};

template <typename T>
struct Other {
  In<T> x;
  int64_t offset = 0, columns = 0;
};

// Rows for a thread, where one has `columns`.
int64_t grain_of(int64_t columns) {
  return std::max<int64_t>(1, kGrainOperations / std::max<int64_t>(1, 2 * columns));
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  std::vector<Lookup<T>> lookups;
  const std::vector<LookupPiece> pieces = pieces_of(c);
  for (size_t k = 0; k < pieces.size(); ++k) {
    const TableRows<T> table(c, pieces[k].table);
    lookups.push_back({table, LabelsIn(c, "Ids", k), pieces[k].offset,
                       pieces[k].columns / table.width,
                       padding_row(pieces[k].padding, table.height)});
  }
  std::vector<Other<T>> others;
  const Ints offsets = c.attr<Ints>("x_offsets");
  for (size_t j = 0; j < offsets.size(); ++j) {
    others.push_back({c.in<T>("X", j), offsets[j], c.shape("X", j)[1]});
  }
  return [rows = c.shape("Out")[0], columns = c.shape("Out")[1], lookups = std::move(lookups),
          others = std::move(others), out = c.out<T>("Out")] {
    parallel_ranges(rows, grain_of(columns), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        T* const to = out.data() + row * columns;
        for (const Lookup<T>& lookup : lookups) {
          if (row + 1 < end) lookup.prefetch(row + 1);
          lookup.copy(row, to);
        }
        for (const Other<T>& other : others) {
          copy_row(other.x.data() + row * other.columns, other.columns, to + other.offset);
        }
      }
    });
  };
};

// ---- Backward -----------------------------------------------------------------------------------

void infer_grad(InferContext& c) {
  const Shape shape = check_pieces(c);
  const Shape& given = c.in("Out@GRAD").shape;
  require(given.rank() == 2 && given[1] == shape[1] &&
              (given[0] < 0 || shape[0] < 0 || given[0] == shape[0]),
          "Out@GRAD must have the shape {} of Out, but has {}", shape, given);
  const Ints sparse = c.attr<Ints>("is_sparse"), tables = c.attr<Ints>("tables");
  for (size_t t = 0; t < c.in_count("W"); ++t) {
    VarMeta grad = VarMeta::tensor(c.dtype("W", t), c.in("W", t).shape);
    if (sparse[t] != 0) {
      grad.kind = VarKind::kSelectedRows;
      grad.rows = 0;
      for (size_t k = 0; k < tables.size(); ++k) {
        if (tables[k] != static_cast<int64_t>(t)) continue;
        const Shape& ids = c.in("Ids", k).shape;
        grad.rows = grad.rows < 0 || !ids.known() ? -1 : grad.rows + ids.numel();
      }
    }
    c.out("W@GRAD", t) = std::move(grad);
  }
  for (size_t j = 0; j < c.in_count("X"); ++j) c.out("X@GRAD", j) = like(c.in("X", j));
}

// The gradient of one lookup, as it lies in Out@GRAD.
struct Part {
  LabelsIn ids;
  int64_t count = 0;  // ids
  int64_t first = 0;  // ids of the table's lookups before it
  int64_t offset = 0, per_row = 1, padding = -1;

  // Of id i.
  template <typename T>
  const T* row(const T* dout, int64_t columns, int64_t width, int64_t i) const {
    return dout + i / per_row * columns + offset + i % per_row * width;
  }
  bool is_padding(int64_t id) const { return id == padding && padding != -1; }

  // Writes ids and gradients of the rows [begin, end) of Out.
  template <typename T>
  void copy(const T* dout, int64_t columns, const SparseOut<T>& grad, int64_t begin,
            int64_t end) const {
    const int64_t width = grad.width;
    int64_t* row = grad.rows.data() + first;
    T* value = grad.value.data() + (first + begin * per_row) * width;
    for (int64_t i = begin * per_row; begin < end; ++begin) {
      const T* from = dout + begin * columns + offset;
      for (int64_t j = 0; j < per_row; ++j, ++i, from += width, value += width) {
        row[i] = ids[i];
        if (is_padding(row[i])) {
          std::fill_n(value, width, T{0});
        } else {
          copy_row(from, width, value);
        }
      }
    }
  }
};

std::vector<Part> parts_of(PrepareContext& c, size_t table) {
  const int64_t height = c.shape("W", table)[0], width = c.shape("W", table)[1];
  const std::vector<LookupPiece> pieces = pieces_of(c);
  std::vector<Part> parts;
  int64_t first = 0;
  for (size_t k = 0; k < pieces.size(); ++k) {
    if (pieces[k].table != table) continue;
    parts.push_back({LabelsIn(c, "Ids", k), c.shape("Ids", k).numel(), first, pieces[k].offset,
                     pieces[k].columns / width, padding_row(pieces[k].padding, height)});
    first += parts.back().count;
  }
  return parts;
}

template <typename T>
Step sparse_table(PrepareContext& c, size_t table) {
  const Shape& shape = c.shape("Out@GRAD");
  return [parts = parts_of(c, table), rows = shape[0], columns = shape[1],
          dout = c.in<T>("Out@GRAD"), grad = c.sparse_out<T>("W@GRAD", table)] {
    parallel_ranges(rows, grain_of(columns), [&](int64_t begin, int64_t end) {
      for (const Part& part : parts) part.copy(dout.data(), columns, grad, begin, end);
    });
  };
}

// The ids of a part, sorted, equal ones in their order: `order` gets their positions.
void sort_ids(const Part& part, int64_t height, int64_t* order) {
  for (int64_t i = 0; i < part.count; ++i) {
    const int64_t id = part.ids[i];
    require(part.is_padding(id) || (0 <= id && id < height),
            "id {} at position {} is not a row of the table, which has the rows 0 to {}", id, i,
            height - 1);
    order[i] = i;
  }
  std::sort(order, order + part.count, [&](int64_t a, int64_t b) {
    return std::pair(part.ids[a], a) < std::pair(part.ids[b], b);
  });
}

// Of each lookup the repeated rows first, then the lookups: the order in which a sum adds.
template <typename T>
Step dense_table(PrepareContext& c, size_t table) {
  const int64_t height = c.shape("W", table)[0], width = c.shape("W", table)[1];
  std::vector<Part> parts = parts_of(c, table);
  int64_t total = 0;
  for (const Part& part : parts) total += part.count;
  return [=, parts = std::move(parts), columns = c.shape("Out@GRAD")[1], dout = c.in<T>("Out@GRAD"),
          grad = c.out<T>("W@GRAD", table), order = c.workspace<int64_t>(total)] {
    int64_t* at = order.data();
    for (const Part& part : parts) {
      sort_ids(part, height, at);
      at += part.count;
    }
    T* dw = grad.data();
    parallel_ranges(height * width, kGrainOperations,
                    [=](int64_t begin, int64_t end) { std::fill(dw + begin, dw + end, T{0}); });
    // Threads share out columns, so that rows are added in one order.
    const int64_t grain = std::max<int64_t>(16, kGrainOperations / std::max<int64_t>(total, 1));
    parallel_ranges(width, grain, [&](int64_t begin, int64_t end) {
      const int64_t* places = order.data();
      for (const Part& part : parts) {
        for (int64_t i = 0; i < part.count;) {
          const int64_t id = part.ids[places[i]];
          int64_t next = i + 1;
          while (next < part.count && part.ids[places[next]] == id) ++next;
          for (int64_t j = begin; j < end && !part.is_padding(id); ++j) {
            T sum = 0;
            for (int64_t l = i; l < next; ++l) {
              sum += part.row(dout.data(), columns, width, places[l])[j];
            }
            dw[id * width + j] += sum;
          }
          i = next;
        }
        places += part.count;
      }
    });
  };
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  std::vector<Step> steps;
  const Ints sparse = c.attr<Ints>("is_sparse"), offsets = c.attr<Ints>("x_offsets");
  for (size_t t = 0; t < sparse.size(); ++t) {
    if (!c.has("W@GRAD", t)) continue;
    steps.push_back(sparse[t] != 0 ? sparse_table<T>(c, t) : dense_table<T>(c, t));
  }
  for (size_t j = 0; j < offsets.size(); ++j) {
    if (!c.has("X@GRAD", j)) continue;
    steps.push_back([rows = c.shape("X", j)[0], width = c.shape("X", j)[1], offset = offsets[j],
                     columns = c.shape("Out@GRAD")[1], dout = c.in<T>("Out@GRAD"),
                     dx = c.out<T>("X@GRAD", j)] {
      parallel_ranges(rows, grain_of(width), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          copy_row(dout.data() + row * columns + offset, width, dx.data() + row * width);
        }
      });
    });
  }
  return in_order(std::move(steps));
};

// ---- Definitions --------------------------------------------------------------------------------

const Slot kIds = {
    .name = "Ids", .doc = "row numbers, i64 or i32, of any shape", .list = true, .no_grad = true};

const OpDef& lookup_concat = define_op({
    .type = "lookup_concat",
    .doc = "Puts rows together from rows of tables and from other tensors.",
    .inputs = {kIds,
               {.name = "W", .doc = "the tables, [rows, width]", .list = true},
               {.name = "X",
                .doc = "other pieces, [rows of Out, columns]",
                .optional = true,
                .list = true}},
    .outputs = {{"Out", "the pieces side by side"}},
    .attrs = {{"tables", std::vector<int64_t>{}, "for each of Ids: which of W it looks into"},
              {"offsets", std::vector<int64_t>{},
               "for each of Ids: the column of Out where its piece begins"},
              {"columns", std::vector<int64_t>{},
               "for each of Ids: how many columns its piece has"},
              {"padding_idx", std::vector<int64_t>{}, "for each of Ids: the id of zeros; -1: none"},
              {"x_offsets", std::vector<int64_t>{},
               "for each of X: the column of Out where it begins"},
              {"is_sparse", std::vector<int64_t>{},
               "for each of W: whether its gradient holds rows only"}},
    .infer = infer,
    .grad = grad_op({"Ids", shape_of("W"), shape_of("X")},
                    {.kernels = kernels_for<float, double>(backward), .infer = infer_grad}),
    .kernels = kernels_for<float, double>(forward),
    .dtype_slot = "W",
});

}  // namespace
}  // namespace flotilla::ops
