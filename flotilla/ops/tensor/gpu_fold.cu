// flotilla/ops/tensor/gpu_fold.cu
//
// The gradients of expand.cc and its relatives, and set_value, on a GPU.

#include <algorithm>

#include "flotilla/device/cuda/memory.h"
#include "flotilla/device/cuda/strided.h"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/gpu_kernels.h"
#include "flotilla/ops/common/fold.cuh"
#include "flotilla/ops/common/fold_formulas.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/tensor/gpu_fold.h"

namespace flotilla::ops {
namespace {

template <typename T>
Step add_up(PrepareContext& c, const Shape& from, const Shape& to, std::string_view dout,
            size_t i) {
  if (!c.has(dout, i)) {
    return [bytes = c.shape("X", i).numel() * static_cast<int64_t>(sizeof(T)),
            stream = c.around().stream,
            dx = c.out<T>("X@GRAD", i)] { cuda::fill(dx.data(), 0, bytes, stream); };
  }
  const GpuFold fold(from, to);
  return [fold, work = c.workspace<T>(fold.workspace()), stream = c.around().stream,
          dy = c.in<T>(dout, i), dx = c.out<T>("X@GRAD", i)] {
    fold.run<SumFold>(stream, LoadElement<T>{dy.data()}, StoreFinished<T, AsItIs>{dx.data(), {}},
                      work.data());
  };
}

// ---- set_value ----------------------------------------------------------------------------------

Step set_value(PrepareContext& c, const Box& box, const Ints& strides, std::vector<char> kept) {
  const int64_t size = size_of(c.dtype("Input"));
  const bool given = c.has("ValueTensor");
  const auto kept_bytes = static_cast<int64_t>(kept.size());
  return [copy = cuda::StridedCopy(box.extents, box.strides, strides, size), given, size,
          kept = std::move(kept), empty = box.empty(), offset = box.first * size,
          bytes = c.shape("Input").numel() * size, stream = c.around().stream,
          processors = c.around().gpu->info().processors,
          value = given ? c.in_bytes("ValueTensor") : In<char>(),
          room = given ? Out<char>() : c.workspace<char>(kept_bytes), x = c.in_bytes("Input"),
          out = c.out_bytes("Out")] {
    if (out.data() != x.data()) cuda::copy(out.data(), x.data(), bytes, stream);
    if (empty) return;
    const char* from = given ? value.data() : room.data();
    if (!given) cuda::write_bytes(stream, room.data(), kept);
    copy.run(stream, processors, out.data() + offset, from);
  };
}

// What was replaced has no gradient; the value has that of the places it was set to, summed up.
template <typename T>
Step set_value_backward(PrepareContext& c, const Box& box, const Ints& strides) {
  Ints folded = box.extents;  // the extents of the value, as axes of the box
  for (size_t a = 0; a < folded.size(); ++a) {
    if (strides[a] == 0) folded[a] = 1;
  }
  const Shape places(box.extents), value(folded);
  const bool of_value = c.has("ValueTensor@GRAD");
  const int64_t values = of_value ? c.shape("ValueTensor@GRAD").numel() : 0;
  const GpuFold fold(places, value);
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  return [fold, of_value, values, empty = box.empty(), offset = box.first,
          taken = cuda::StridedCopy(box.extents, dense_strides(places), box.strides, kSize),
          cleared = cuda::StridedCopy(box.extents, box.strides, Ints(box.extents.size()), kSize),
          bytes = c.shape("Out@GRAD").numel() * kSize, stream = c.around().stream,
          processors = c.around().gpu->info().processors,
          list = c.workspace<T>(of_value ? places.numel() : 0),
          work = c.workspace<T>(of_value ? fold.workspace() : 0), zero = c.workspace<T>(1),
          dout = c.in<T>("Out@GRAD"), dx = wanted<T>(c, "Input@GRAD"),
          dv = wanted<T>(c, "ValueTensor@GRAD")] {
    if (of_value && empty) cuda::fill(dv.data(), 0, values * kSize, stream);
    if (of_value && !empty) {
      taken.run(stream, processors, list.data(), dout.data() + offset);
      fold.run<SumFold>(stream, LoadElement<T>{list.data()},
                        StoreFinished<T, AsItIs>{dv.data(), {}}, work.data());
    }
    if (!dx) return;
    cuda::copy(dx.data(), dout.data(), bytes, stream);
    if (empty) return;
    cuda::fill(zero.data(), 0, kSize, stream);
    cleared.run(stream, processors, dx.data() + offset, zero.data());
  };
}

[[maybe_unused]] const bool kFilled = [] {
  gpu_add_up<float> = add_up<float>;
  gpu_add_up<double> = add_up<double>;
  gpu_set_value = {.forward = set_value};
  gpu_set_value_backward<float> = set_value_backward<float>;
  gpu_set_value_backward<double> = set_value_backward<double>;
  return true;
}();

[[maybe_unused]] const bool kRepeated = add_as_on_cpu<float, double>(
    {"expand_grad", "expand_as_grad", "expand_v2_grad", "expand_as_v2_grad", "tile_grad",
     "meshgrid_grad", "broadcast_tensors_grad", "set_value_grad"});

[[maybe_unused]] const bool kSetValue =
    add_as_on_cpu<float, double, int32_t, int64_t, bool, uint8_t, int8_t, int16_t>({"set_value"});

}  // namespace
}  // namespace flotilla::ops
