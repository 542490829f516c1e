// flotilla/ops/tensor/select.cc
//
// Elements chosen one by one: masked_select by a mask, whose result has a size that is known only
// when it runs; index_sample by numbers, row by row; diag_v2 by their place on a diagonal.

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/move.h"

namespace flotilla::ops {
namespace {

// ---- masked_select ------------------------------------------------------------------------------

void infer_masked(InferContext& c) {
  const VarMeta &x = c.in("X"), &mask = c.in("Mask");
  require(mask.dtype == boolean, "Mask must hold bool, but holds {}", mask.dtype);
  const Shape common = broadcast(x.shape, mask.shape, -1);
  require(!common.known() || common == x.shape, "Mask of shape {} must repeat to the shape {} of X",
          mask.shape, x.shape);
  c.out("Y") = VarMeta::tensor(x.dtype, {-1});
}

// The mask in the shape of X.
class Mask {
 public:
  Mask(PrepareContext& c, const Shape& x)
      : in_(c.in<bool>("Mask")), whole_(c.workspace<bool>(x.numel())), copy_(copy_of(c, x)) {}
  const bool* data() const {
    copy_.run(reinterpret_cast<char*>(whole_.data()), reinterpret_cast<const char*>(in_.data()));
    return whole_.data();
  }

 private:
  static BoxCopy copy_of(const PrepareContext& c, const Shape& x) {
    Ints extents = c.shape("Mask").dims();
    extents.insert(extents.begin(), x.dims().size() - extents.size(), 1);
    Ints strides = dense_strides(Shape(extents));
    for (size_t a = 0; a < extents.size(); ++a) strides[a] = extents[a] == 1 ? 0 : strides[a];
    return BoxCopy(x.dims(), dense_strides(x), strides, 1);
  }

  In<bool> in_;
  Out<bool> whole_;
  BoxCopy copy_;
};

constexpr auto masked_forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  return [n = x.numel(), mask = Mask(c, x), in = c.in<T>("X"), out = c.late_out<T>("Y")] {
    const bool* chosen = mask.data();
    T* to = out.resize({std::count(chosen, chosen + n, true)});
    for (int64_t i = 0; i < n; ++i) {
      if (chosen[i]) *to++ = in.data()[i];
    }
  };
};

constexpr auto masked_backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  return [n = x.numel(), given = c.shape("Y@GRAD").numel(), mask = Mask(c, x),
          dout = c.in<T>("Y@GRAD"), din = c.out<T>("X@GRAD")] {
    const bool* chosen = mask.data();
    const int64_t count = std::count(chosen, chosen + n, true);
    require(count == given, "Mask chooses {} elements, but Y@GRAD holds {}", count, given);
    const T* from = dout.data();
    for (int64_t i = 0; i < n; ++i) din.data()[i] = chosen[i] ? *from++ : T{0};
  };
};

const OpDef& masked_select = define_op({
    .type = "masked_select",
    .doc = "The elements of X where Mask holds, in order.",
    .inputs = {{.name = "X", .doc = "tensor"},
               {.name = "Mask", .doc = "bool; repeats to the shape of X", .no_grad = true}},
    .outputs = {{.name = "Y", .doc = "a vector"}},
    .infer = infer_masked,
    .grad =
        grad_op({shape_of("X"), "Mask"}, {.kernels = kernels_for<float, double>(masked_backward)}),
    .kernels = kernels_for_all(masked_forward),
    .dtype_slot = "X",
});

// ---- index_sample -------------------------------------------------------------------------------

void infer_sample(InferContext& c) {
  const Shape &x = c.in("X").shape, &index = c.in("Index").shape;
  require(x.rank() == 2 && index.rank() == 2 && (x[0] == index[0] || x[0] == -1 || index[0] == -1),
          "X and Index must be matrices with as many rows, but have shapes {} and {}", x, index);
  require(c.dtype("Index") == i64 || c.dtype("Index") == i32,
          "Index must hold int32 or int64, but holds {}", c.dtype("Index"));
  c.out("Out") = VarMeta::tensor(c.dtype("X"), index);
}

// Calls f(place in Out, place in X) for each number.
template <typename Number, typename F>
void for_samples(const Number* numbers, int64_t rows, int64_t samples, int64_t columns, F f) {
  for (int64_t i = 0; i < rows * samples; ++i) {
    require(0 <= numbers[i] && numbers[i] < columns,
            "the index at place {} must lie in [0, {}), but is {}", i, columns, numbers[i]);
    f(i, i / samples * columns + numbers[i]);
  }
}

template <typename T, typename Number>
Step sample(PrepareContext& c) {
  const Shape &x = c.shape("X"), &index = c.shape("Index");
  return [rows = x[0], columns = x[1], samples = index[1], numbers = c.in<Number>("Index"),
          in = c.in<T>("X"), out = c.out<T>("Out")] {
    for_samples(numbers.data(), rows, samples, columns,
                [&](int64_t to, int64_t from) { out.data()[to] = in.data()[from]; });
  };
}

template <typename T, typename Number>
Step sample_grad(PrepareContext& c) {
  const Shape &x = c.shape("X@GRAD"), &index = c.shape("Index");
  return [rows = x[0], columns = x[1], samples = index[1], numbers = c.in<Number>("Index"),
          dout = c.in<T>("Out@GRAD"), din = c.out<T>("X@GRAD")] {
    zero_bytes(din.data(), rows * columns * static_cast<int64_t>(sizeof(T)));
    for_samples(numbers.data(), rows, samples, columns,
                [&](int64_t from, int64_t to) { din.data()[to] += dout.data()[from]; });
  };
}

constexpr auto sample_forward = []<typename T>(PrepareContext& c) -> Step {
  return c.dtype("Index") == i32 ? sample<T, int32_t>(c) : sample<T, int64_t>(c);
};
constexpr auto sample_backward = []<typename T>(PrepareContext& c) -> Step {
  return c.dtype("Index") == i32 ? sample_grad<T, int32_t>(c) : sample_grad<T, int64_t>(c);
};

const OpDef& index_sample = define_op({
    .type = "index_sample",
    .doc = "From each row of X the elements with the numbers in the same row of Index.",
    .inputs = {{.name = "X", .doc = "matrix"},
               {.name = "Index", .doc = "int32 or int64, a row for each of X", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "same shape as Index"}},
    .infer = infer_sample,
    .grad =
        grad_op({shape_of("X"), "Index"}, {.kernels = kernels_for<float, double>(sample_backward)}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(sample_forward),
    .dtype_slot = "X",
});

// ---- diag_v2 ------------------------------------------------------------------------------------

// A diagonal of a matrix: `count` elements from `first` on, `step` apart.
struct Diagonal {
  int64_t first = 0, step = 1, count = 0;
};

Diagonal diagonal_of(const Shape& matrix, int64_t offset) {
  const int64_t down = std::max<int64_t>(0, -offset), right = std::max<int64_t>(0, offset);
  return {down * matrix[1] + right, matrix[1] + 1,
          std::max<int64_t>(0, std::min(matrix[0] - down, matrix[1] - right))};
}

void infer_diag(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const int64_t offset = c.attr<int64_t>("offset");
  require(x.rank() == 1 || x.rank() == 2, "diag_v2 takes a vector or a matrix, but X has shape {}",
          x);
  Shape out = {-1};
  if (x.rank() == 1) {
    const int64_t size = x[0] < 0 ? -1 : x[0] + std::abs(offset);
    out = {size, size};
  } else if (x.known()) {
    out = {diagonal_of(x, offset).count};
  }
  c.out("Out") = VarMeta::tensor(c.dtype("X"), std::move(out));
}

// Puts a vector onto the diagonal of a matrix, or takes it from there.
template <typename T>
Step move_diagonal(PrepareContext& c, std::string_view in, std::string_view out, int64_t offset,
                   T rest) {
  const bool spreads = c.shape(in).rank() == 1;
  const Shape& matrix = spreads ? c.shape(out) : c.shape(in);
  return [d = diagonal_of(matrix, offset), n = matrix.numel(), spreads, rest, from = c.in<T>(in),
          to = c.out<T>(out)] {
    if (spreads) std::fill_n(to.data(), n, rest);
    for (int64_t i = 0; i < d.count; ++i) {
      const int64_t at = d.first + i * d.step;
      to.data()[spreads ? at : i] = from.data()[spreads ? i : at];
    }
  };
}

constexpr auto diag_forward = []<typename T>(PrepareContext& c) -> Step {
  return move_diagonal<T>(c, "X", "Out", c.attr<int64_t>("offset"),
                          static_cast<T>(c.attr<float>("padding_value")));
};
constexpr auto diag_backward = []<typename T>(PrepareContext& c) -> Step {
  return move_diagonal<T>(c, "Out@GRAD", "X@GRAD", c.attr<int64_t>("offset"), T{0});
};

const OpDef& diag_v2 = define_op({
    .type = "diag_v2",
    .doc = "A matrix with the vector X on a diagonal, or a diagonal of the matrix X.",
    .inputs = {{.name = "X", .doc = "vector or matrix"}},
    .outputs = {{.name = "Out", .doc = "matrix or vector"}},
    .attrs = {{"offset", int32_t{0}, "which diagonal; above the main one if positive"},
              {"padding_value", 0.0f, "what a matrix made of a vector holds elsewhere"}},
    .infer = infer_diag,
    .grad = grad_op({shape_of("X")}, {.kernels = kernels_for<float, double>(diag_backward)}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(diag_forward),
});

// ---- diag ---------------------------------------------------------------------------------------

void infer_square(InferContext& c) {
  const VarMeta& diagonal = c.in("Diagonal");
  require(diagonal.shape.rank() == 1, "Diagonal must be a vector, but has shape {}",
          diagonal.shape);
  c.out("Out") = VarMeta::tensor(diagonal.dtype, Shape{diagonal.shape[0], diagonal.shape[0]});
}

const OpDef& diag = define_op({
    .type = "diag",
    .doc = "A square matrix with a vector on its diagonal and zeros elsewhere.",
    .inputs = {{.name = "Diagonal", .doc = "vector", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "matrix", .no_grad = true}},
    .infer = infer_square,
    .kernels = kernels_for<float, double, int32_t, int64_t>([]<typename T>(PrepareContext& c) {
      return move_diagonal<T>(c, "Diagonal", "Out", 0, T{0});
    }),
});

}  // namespace
}  // namespace flotilla::ops
