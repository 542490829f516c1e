// arg_max, arg_min: the index of the largest or smallest element of each slice along an axis.

#include <limits>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/slices.h"

namespace flotilla::ops {
namespace {

void infer_arg(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const int64_t code = c.attr<int64_t>("dtype");
  const DType dtype = code < 0 ? i64 : from_paddle(static_cast<int>(code));
  require(dtype == i64 || dtype == i32, "{} gives int64 or int32, but dtype names {}",
          c.op().type(), dtype);
  c.out("Out") = VarMeta::tensor(
      dtype,
      without_axis(x, c.attr<int64_t>("axis"), c.attr<bool>("flatten"), c.attr<bool>("keepdims")));
}

template <typename T, typename Place>
Step arg_as(PrepareContext& c) {
  const Slices s = slices(c.shape("X"), c.attr<int64_t>("axis"), c.attr<bool>("flatten"));
  require(s.n > 0, "{} of nothing: X has shape {}", c.op().type(), c.shape("X"));
  return [s, largest = c.op().type() == "arg_max", in = c.in<T>("X"), out = c.out<Place>("Out")] {
    const T* x = in.data();
    Place* to = out.data();
    parallel_for(s.count(), s.n, [=](int64_t slice) {
      // Of equal elements the first. NaN is passed over, as in Paddle.
      const T* from = x + s.begin(slice);
      T best = largest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
      int64_t found = 0;
      for (int64_t i = 0; i < s.n; ++i) {
        const T value = from[i * s.stride];
        if (!(largest ? value > best : value < best)) continue;
        best = value;
        found = i;
      }
      to[slice] = static_cast<Place>(found);
    });
  };
}

constexpr auto arg_forward = []<typename T>(PrepareContext& c) -> Step {
  return c.dtype("Out") == i32 ? arg_as<T, int32_t>(c) : arg_as<T, int64_t>(c);
};

const OpDef& define_arg(const std::string& type, const std::string& what) {
  return define_op({.type = type,
                    .doc = "The index of the " + what + " element of each slice.",
                    .inputs = {{.name = "X", .doc = "tensor", .no_grad = true}},
                    .outputs = {{.name = "Out", .doc = "X without the axis"}},
                    .attrs = {{"axis", int64_t{0}, "direction of a slice"},
                              {"keepdims", false, "the axis stays, with extent 1"},
                              {"flatten", false, "X as one long row"},
                              {"dtype", int32_t{3}, "code of the dtype of Out; -1: int64"}},
                    .infer = infer_arg,
                    .kernels = kernels_for<float, double, int32_t, int64_t, uint8_t>(arg_forward)});
}

const OpDef& arg_max = define_arg("arg_max", "largest");
const OpDef& arg_min = define_arg("arg_min", "smallest");

}  // namespace
}  // namespace flotilla::ops
