// flotilla/ops/tensor/take_along_axis.cc
//
// take_along_axis: the elements of Input that Index names along `Axis`, at the places of Index:
//
//   Result[i, j, k] = Input[i, Index[i, j, k], k], where Axis is 1
//
// Every index is checked while the op runs; a negative one counts from the end.

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/loss/labels.h"
#include "flotilla/ops/nn/slices.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/move.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta &x = c.in("Input"), &index = c.in("Index");
  check_labels(c, "Index");
  require(x.shape.rank() == index.shape.rank(),
          "Index must have as many axes as Input, but they have shapes {} and {}", index.shape,
          x.shape);
  check_axis("Input", x.shape, c.attr<int64_t>("Axis"));
  const int64_t axis = x.shape.axis(c.attr<int64_t>("Axis"));
  for (int64_t a = 0; a < x.shape.rank(); ++a) {
    const int64_t of_x = x.shape[a], of_index = index.shape[a];
    require(a == axis || of_x < 0 || of_index < 0 || of_index <= of_x,
            "Index must not reach beyond Input but along axis {}, but they have shapes {} and {}",
            axis, index.shape, x.shape);
  }
  c.out("Result") = VarMeta::tensor(x.dtype, index.shape);
}

// Where the elements that Index names lie in Input.
class Places {
 public:
  explicit Places(PrepareContext& c) : index_(c, "Index") {
    const Shape &x = c.shape("Input"), &index = c.shape("Index");
    axis_ = x.axis(c.attr<int64_t>("Axis"));
    extents_ = index.dims();
    strides_ = dense_strides(x);
    extent_ = x[axis_];
  }
  int64_t of(int64_t i) const {
    const int64_t named = index_[i];
    require(-extent_ <= named && named < extent_,
            "the index at place {} must lie in [{}, {}), but is {}", i, -extent_, extent_, named);
    int64_t place = 0, rest = i;
    for (size_t a = extents_.size(); a-- > 0; rest /= extents_[a]) {
      const bool along = static_cast<int64_t>(a) == axis_;
      const int64_t at = along ? (named < 0 ? named + extent_ : named) : rest % extents_[a];
      place += at * strides_[a];
    }
    return place;
  }

 private:
  LabelsIn index_;
  Ints extents_, strides_;
  int64_t axis_ = 0, extent_ = 0;
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [places = Places(c), n = c.shape("Index").numel(), in = c.in<T>("Input"),
          out = c.out<T>("Result")] {
    parallel_for(n, 8, [&](int64_t i) { out.data()[i] = in.data()[places.of(i)]; });
  };
};

// An element may be taken several times: one thread adds its gradients up, in order.
constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return [places = Places(c), n = c.shape("Index").numel(), all = c.shape("Input").numel(),
          dout = c.in<T>("Result@GRAD"), dx = c.out<T>("Input@GRAD")] {
    std::fill_n(dx.data(), all, T{0});
    for (int64_t i = 0; i < n; ++i) dx.data()[places.of(i)] += dout.data()[i];
  };
};

const OpDef& take_along_axis = define_op({
    .type = "take_along_axis",
    .doc = "The elements of Input that Index names along an axis.",
    .inputs = {{.name = "Input", .doc = "tensor"},
               {.name = "Index", .doc = "i64 or i32, as many axes as Input", .no_grad = true}},
    .outputs = {{.name = "Result", .doc = "the shape of Index"}},
    .attrs = {{"Axis", 0, "the axis that Index counts along"}},
    .infer = infer,
    .grad =
        grad_op({shape_of("Input"), "Index"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for_all(forward),
    .dtype_slot = "Input",
});

}  // namespace
}  // namespace flotilla::ops
