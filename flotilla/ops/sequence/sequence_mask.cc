// flotilla/ops/sequence/sequence_mask.cc
//
// sequence_mask: for each length in X that many ones, then zeros. A row has as many elements as
// MaxLenTensor or `maxlen` says; where neither does, as the largest length, which is known only
// when it runs.

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

int64_t positive(int64_t extent) {
  require(extent > 0, "MaxLenTensor must be positive, but is {}", extent);
  return extent;
}

// Empty: not known before it runs.
std::optional<int64_t> extent_of(const InferContext& c) {
  std::optional<int64_t> extent = c.attr<int64_t>("maxlen");
  if (c.has_in("MaxLenTensor")) {
    const auto& value = c.in("MaxLenTensor").value;
    if (!value) return {};
    require(value->size() == 1, "MaxLenTensor must hold one number, but holds {}", value->size());
    extent = positive(value->front());
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
  const bool given = c.has("MaxLenTensor");
  return [=, most = given ? LabelsIn(c, "MaxLenTensor") : LabelsIn(), out = c.dynamic_out<T>("Y")] {
    const L* x = lengths.data();
    int64_t extent = 0;
    if (given) {
      extent = positive(most[0]);
    } else {
      require(rows > 0, "the largest length of none is not known; say maxlen");
      extent = std::max(extent, static_cast<int64_t>(*std::max_element(x, x + rows)));
    }
    fill(x, rows, extent, out.resize(with_last(shape, extent)));
  };
}

constexpr auto forward = []<typename L>(PrepareContext& c) -> Step {
  return visit_dtype(c.dtype("Y"), [&]<typename T>(T) { return forward_as<L, T>(c); });
};

const OpDef& sequence_mask = define_op({
    .type = "sequence_mask",
    .doc = "For each length that many ones, then zeros.",
    .inputs = {constant("X", "lengths"),
               single(optional_constant("MaxLenTensor", "elements of a row, instead of `maxlen`"))},
    .outputs = {constant("Y", "X with one more axis")},
    .attrs = {{"maxlen", -1, "elements of a row; below zero: the largest length"},
              {"out_dtype", 3, "code of the dtype of Y"}},
    .infer = infer,
    .kernels = kernels_for<int64_t, int32_t, float, double>(forward),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops
