// flotilla/ops/tensor/tril_triu_indices.cc
//
// Triangles of matrices: tril_triu keeps one, tril_indices and triu_indices tell its places.

#include <algorithm>
#include <limits>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/dtype_attr.h"

namespace flotilla::ops {
namespace {

// ---- tril_triu ----------------------------------------------------------------------------------

void infer_triangle(InferContext& c) {
  require(c.in("X").shape.rank() >= 2, "tril_triu takes matrices, but X has shape {}",
          c.in("X").shape);
  c.out("Out") = like(c.in("X"));
}

template <typename T>
Step keep_triangle(PrepareContext& c, std::string_view in, std::string_view out) {
  const Shape& shape = c.shape(in);
  const int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  c.in_place(in, out);
  return [count = shape.numel(0, shape.rank() - 1), rows, columns,
          diagonal = c.attr<int64_t>("diagonal"), lower = c.attr<bool>("lower"), from = c.in<T>(in),
          to = c.out<T>(out)] {
    const T* x = from.data();
    T* y = to.data();
    parallel_for(count, columns, [=](int64_t i) {
      const int64_t edge = i % rows + diagonal;  // the last column below, the first above
      for (int64_t j = 0; j < columns; ++j) {
        y[i * columns + j] = (lower ? j <= edge : j >= edge) ? x[i * columns + j] : T{0};
      }
    });
  };
}

constexpr auto triangle_forward = []<typename T>(PrepareContext& c) -> Step {
  return keep_triangle<T>(c, "X", "Out");
};
constexpr auto triangle_backward = []<typename T>(PrepareContext& c) -> Step {
  return keep_triangle<T>(c, "Out@GRAD", "X@GRAD");
};

const OpDef& tril_triu = define_op({
    .type = "tril_triu",
    .doc = "The lower or upper triangle of matrices, zeros elsewhere.",
    .inputs = {{.name = "X", .doc = "matrices in the last two axes"}},
    .outputs = {{.name = "Out", .doc = "same shape as X", .like = "X"}},
    .attrs = {{"diagonal", int32_t{0},
               "the diagonal that is kept too; above the main one if positive"},
              {"lower", false, "keeps what lies below it, otherwise above"}},
    .infer = infer_triangle,
    .grad = grad_op({}, {.kernels = kernels_for<float, double>(triangle_backward)}),
    .kernels = kernels_for_all(triangle_forward),
});

// ---- tril_indices, triu_indices -----------------------------------------------------------------

// 0 + 1 + ... + n
int64_t sum_to(int64_t n) {
  if (n <= 0) return 0;
  return n % 2 == 0 ? n / 2 * (n + 1) : (n + 1) / 2 * n;
}

// The columns of each row that lie in a triangle of a matrix.
struct Triangle {
  bool lower;
  int64_t rows, columns, offset;

  template <typename Context>
  explicit Triangle(const Context& c)
      : lower(c.op().type() == "tril_indices"),
        rows(c.template attr<int64_t>(lower ? "rows" : "row")),
        columns(c.template attr<int64_t>(lower ? "cols" : "col")),
        offset(c.template attr<int64_t>("offset")) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // the sums below fit then
    require(0 <= std::min(rows, columns) && std::max(rows, columns) <= kMost,
            "the extents of a matrix must lie in [0, 2^31), but are {} and {}", rows, columns);
    offset = std::clamp(offset, -rows, columns);
  }
  int64_t begin(int64_t row) const {
    return lower ? 0 : std::clamp<int64_t>(row + offset, 0, columns);
  }
  int64_t end(int64_t row) const {
    return lower ? std::clamp<int64_t>(row + offset + 1, 0, columns) : columns;
  }
  // The rows that have any.
  int64_t first_row() const { return lower ? std::clamp<int64_t>(-offset, 0, rows) : 0; }
  int64_t end_row() const {
    if (columns == 0) return 0;
    return lower ? rows : std::clamp<int64_t>(columns - offset, 0, rows);
  }
  int64_t count() const { return lower ? clamped(offset + 1) : rows * columns - clamped(offset); }

 private:
  // What clamp(row + start, 0, columns) adds up to over all rows.
  int64_t clamped(int64_t start) const {
    const auto positive = [this](int64_t from) {
      return sum_to(rows - 1 + from) - sum_to(from - 1);
    };
    return positive(start) - positive(start - columns);
  }
};

void infer_places(InferContext& c) {
  c.out("out") = VarMeta::tensor(dtype_attr(c), {2, Triangle(c).count()});
}

constexpr auto places = []<typename T>(PrepareContext& c) -> Step {
  return [triangle = Triangle(c), n = c.shape("out")[1], out = c.out<T>("out")] {
    T *row_to = out.data(), *column_to = row_to + n;
    for (int64_t row = triangle.first_row(); row < triangle.end_row(); ++row) {
      for (int64_t column = triangle.begin(row); column < triangle.end(row); ++column) {
        *row_to++ = static_cast<T>(row);
        *column_to++ = static_cast<T>(column);
      }
    }
  };
};

const OpDef& define_places(const std::string& type, const char* rows, const char* columns) {
  return define_op(
      {.type = type,
       .doc = "The rows and the columns of the places in a triangle of a matrix.",
       .outputs = {{.name = "out", .doc = "[2, places]"}},
       .attrs = {{rows, 0, "rows of the matrix"},
                 {columns, 0, "its columns"},
                 {"offset", 0, "the diagonal it ends with; above the main one if positive"},
                 dtype_spec(3)},
       .infer = infer_places,
       .kernels = kernels_for<int32_t, int64_t>(places)});
}

const OpDef& tril_indices = define_places("tril_indices", "rows", "cols");
const OpDef& triu_indices = define_places("triu_indices", "row", "col");

}  // namespace
}  // namespace flotilla::ops
