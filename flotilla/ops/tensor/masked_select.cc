// flotilla/ops/tensor/masked_select.cc
//
// masked_select: the elements that a mask chooses. How many there are is known only when it runs.

#include <algorithm>

#include "flotilla/ops/common/move.h"

namespace flotilla::ops {
namespace {

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
  return [n = x.numel(), mask = Mask(c, x), in = c.in<T>("X"), out = c.dynamic_out<T>("Y")] {
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

}  // namespace
}  // namespace flotilla::ops
