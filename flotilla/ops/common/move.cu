// flotilla/ops/common/move.cu
//
// The moves of move.h on a GPU, and the kernels of the operators that are made of nothing else.

#include "flotilla/device/cuda/memory.h"
#include "flotilla/device/cuda/strided.h"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/gpu_kernels.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {
namespace {

Step pass_on(PrepareContext& c, std::string_view in, std::string_view out, const Layout& layout,
             size_t i) {
  const int64_t bytes = layout.physical_numel(c.shape(in, i)) * size_of(c.dtype(in, i));
  return [bytes, stream = c.around().stream, from = c.in_bytes(in, i, layout),
          to = c.out_bytes(out, i, layout)] {
    if (to.data() != from.data()) cuda::copy(to.data(), from.data(), bytes, stream);
  };
}

Step take(PrepareContext& c, std::string_view in, std::string_view out, const Box& box, size_t i) {
  const int64_t size = size_of(c.dtype(in, i));
  return
      [copy = cuda::StridedCopy(box.extents, dense_strides(Shape(box.extents)), box.strides, size),
       empty = box.empty(), offset = box.first * size, stream = c.around().stream,
       processors = c.around().gpu->info().processors, from = c.in_bytes(in, i),
       to = c.out_bytes(out, i)] {
        if (!empty) copy.run(stream, processors, to.data(), from.data() + offset);
      };
}

Step put(PrepareContext& c, std::string_view in, std::string_view out, const Box& box,
         ElementBits rest) {
  const int64_t size = size_of(c.dtype(in));
  return
      [copy = cuda::StridedCopy(box.extents, box.strides, dense_strides(Shape(box.extents)), size),
       rest, size, empty = box.empty(), offset = box.first * size, n = c.shape(out).numel(),
       stream = c.around().stream, processors = c.around().gpu->info().processors,
       from = c.in_bytes(in), to = c.out_bytes(out)] {
        cuda::fill_elements(stream, processors, to.data(), n, rest.data(), size);
        if (!empty) copy.run(stream, processors, to.data() + offset, from.data());
      };
}

[[maybe_unused]] const bool kFilled = [] {
  gpu_moves = {.pass_through = pass_on, .take_box = take, .put_box = put};
  return true;
}();

[[maybe_unused]] const bool kViews = add_every_dtype_as_on_cpu(
    {"reshape", "reshape_grad", "reshape2", "reshape2_grad", "squeeze", "squeeze_grad", "squeeze2",
     "squeeze2_grad", "unsqueeze", "unsqueeze_grad", "unsqueeze2", "unsqueeze2_grad", "flatten",
     "flatten_grad", "flatten2", "flatten2_grad", "flatten_contiguous_range",
     "flatten_contiguous_range_grad"});

[[maybe_unused]] const bool kBoxes = add_every_dtype_as_on_cpu({"transpose",
                                                                "transpose_grad",
                                                                "transpose2",
                                                                "transpose2_grad",
                                                                "slice",
                                                                "slice_grad",
                                                                "strided_slice",
                                                                "strided_slice_grad",
                                                                "crop",
                                                                "crop_grad",
                                                                "crop_tensor",
                                                                "crop_tensor_grad",
                                                                "flip",
                                                                "reverse",
                                                                "diagonal",
                                                                "diagonal_grad",
                                                                "diag_embed",
                                                                "pad_constant_like_grad",
                                                                "pixel_shuffle",
                                                                "pixel_shuffle_grad",
                                                                "pixel_unshuffle",
                                                                "pixel_unshuffle_grad",
                                                                "channel_shuffle",
                                                                "channel_shuffle_grad",
                                                                "shuffle_channel",
                                                                "shuffle_channel_grad",
                                                                "space_to_depth",
                                                                "space_to_depth_grad",
                                                                "expand",
                                                                "expand_as",
                                                                "expand_v2",
                                                                "expand_as_v2",
                                                                "tile",
                                                                "meshgrid",
                                                                "broadcast_tensors"});

[[maybe_unused]] const bool kWithConstant =
    add_as_on_cpu<float, double, int32_t, int64_t>({"pad_constant_like", "diag_v2"}) &&
    add_as_on_cpu<float, double>({"diag_v2_grad"});

}  // namespace
}  // namespace flotilla::ops
