// flotilla/ops/sequence/sequence_mask.cc
//
// sequence_mask: for each length in X that many ones, then zeros. A row has as many elements as
// MaxLenTensor or `maxlen` says; where neither does, as the largest length, which is known only
// when it runs.

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/tensor/known_value.h"

namespace flotilla::ops {
namespace {

// Empty: not known before it runs.
std::optional<int64_t> extent_of(const InferContext& c) {
  std::optional<int64_t> extent = c.attr<int64_t>("maxlen");
  if (c.has_in("MaxLenTensor")) {
    const auto& value = c.in("MaxLenTensor").value;
    if (!value) return {};
    require(value->size() == 1, "MaxLenTensor must hold one number, but holds {}", value->size());
    extent = value->front();
    require(*extent > 0, "MaxLenTensor must be positive, but is {}", *extent);
  }
  if (*extent < 0) return {};
  return extent;
}

void infer(InferContext& c) {
  Shape shape = c.in("X").shape;
  shape.push_back(extent_of(c).value_or(-1));
  const int64_t code = c.attr<int64_t>("out_dtype");
  c.out("Y") = VarMeta::tensor(from_paddle(static_cast<int>(code)), std::move(shape));
}

template <typename L, typename T>
void fill(const L* lengths, int64_t rows, int64_t extent, T* to) {
  parallel_for(rows, extent, [=](int64_t row) {
    for (int64_t i = 0; i < extent; ++i) {
      to[row * extent + i] = static_cast<T>(static_cast<L>(i) < lengths[row]);
    }
  });
}

// What MaxLenTensor says, whichever integers it holds.
struct Given {
  In<int32_t> narrow = {};
  In<int64_t> wide = {};

  explicit Given(PrepareContext& c) {
    if (!c.has("MaxLenTensor")) return;
    if (c.dtype("MaxLenTensor") == i64) {
      wide = c.in<int64_t>("MaxLenTensor");
    } else {
      narrow = c.in<int32_t>("MaxLenTensor");
    }
  }
  int64_t get() const {
    if (!narrow && !wide) return -1;
    const int64_t extent = wide ? *wide.data() : *narrow.data();
    require(extent > 0, "MaxLenTensor must be positive, but is {}", extent);
    return extent;
  }
};

template <typename L, typename T>
Step forward_as(PrepareContext& c) {
  const int64_t rows = c.shape("X").numel();
  const Shape shape = c.shape("Y");
  const auto lengths = c.in<L>("X");
  if (shape.known()) {
    return [=, extent = shape[shape.rank() - 1], out = c.out<T>("Y")] {
      fill(lengths.data(), rows, extent, out.data());
    };
  }
  return [=, given = Given(c), out = c.late_out<T>("Y")] {
    const L* x = lengths.data();
    int64_t extent = given.get();
    if (extent < 0) {
      require(rows > 0, "the largest length of none is not known; say maxlen");
      extent = std::max<int64_t>(0, static_cast<int64_t>(*std::max_element(x, x + rows)));
    }
    Shape full = shape;
    full[full.rank() - 1] = extent;
    fill(x, rows, extent, out.resize(full));
  };
}

template <typename L>
Step forward(PrepareContext& c) {
  const DType to = c.dtype("Y");
  if (to == f32) return forward_as<L, float>(c);
  if (to == f64) return forward_as<L, double>(c);
  if (to == i32) return forward_as<L, int32_t>(c);
  if (to == boolean) return forward_as<L, bool>(c);
  if (to == u8) return forward_as<L, uint8_t>(c);
  require(to == i64, "Y of sequence_mask holds floats, whole numbers or bools, but out_dtype is {}",
          to);
  return forward_as<L, int64_t>(c);
}

const OpDef& sequence_mask = define_op({
    .type = "sequence_mask",
    .doc = "For each length that many ones, then zeros.",
    .inputs = {{.name = "X", .doc = "lengths", .no_grad = true},
               {.name = "MaxLenTensor",
                .doc = "elements of a row, instead of `maxlen`",
                .optional = true,
                .no_grad = true,
                .one = true}},
    .outputs = {{.name = "Y", .doc = "X with one more axis", .no_grad = true}},
    .attrs = {{"maxlen", -1, "elements of a row; below zero: the largest length"},
              {"out_dtype", 3, "code of the dtype of Y"}},
    .infer = infer,
    .kernels = kernels_for<int64_t, int32_t, float, double>(
        []<typename T>(PrepareContext& c) { return forward<T>(c); }),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops
