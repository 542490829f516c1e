// flotilla/ops/nn/max_pool2d_with_index.cc
//
// max_pool2d_with_index: the largest element of each window of an image, and where it lies in its
// channel. Windows are of one size and step, or `adaptive`: chosen so that ksize is the size of the
// result. Paddle writes adaptive pools of the largest as this op.

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"

namespace flotilla::ops {
namespace {

// The windows along one axis.
struct Windows {
  int64_t extent = 0;  // of X
  int64_t size = 0;    // of a window; adaptive: how many there are
  int64_t stride = 1;
  int64_t padding = 0;
  bool adaptive = false;

  int64_t count() const {
    if (adaptive) return size;
    return extent < 0 ? -1 : (extent - size + 2 * padding) / stride + 1;
  }
  int64_t begin(int64_t i) const {
    return adaptive ? i * extent / size : std::max<int64_t>(0, i * stride - padding);
  }
  int64_t end(int64_t i) const {
    if (adaptive) return ((i + 1) * extent + size - 1) / size;
    return std::min(extent, i * stride - padding + size);
  }
};

template <typename Context>
Windows windows(const Context& c, const Shape& x, size_t axis) {
  const auto number = [&](const char* name) {
    const auto list = c.template attr<std::vector<int64_t>>(name);
    require(list.size() == 2, "{} must hold two numbers, but holds {}", name, list.size());
    return list[axis];
  };
  const int64_t extent = x[static_cast<int64_t>(axis) + 2];
  if (c.template attr<bool>("global_pooling")) return {.extent = extent, .size = extent};
  const Windows w = {.extent = extent,
                     .size = number("ksize"),
                     .stride = number("strides"),
                     .padding = number("paddings"),
                     .adaptive = c.template attr<bool>("adaptive")};
  require(w.size > 0 && w.stride > 0, "ksize and strides must be positive, but are {} and {}",
          w.size, w.stride);
  require(0 <= w.padding && (w.adaptive || w.padding < w.size),
          "paddings must lie in [0, {}), the size of a window, but hold {}", w.size, w.padding);
  require(w.adaptive || extent < 0 || extent + 2 * w.padding >= w.size,
          "windows of {} do not fit into {} elements with {} around them", w.size, extent,
          w.padding);
  return w;
}

void infer(InferContext& c) {
  const Shape& x = c.in("X").shape;
  require(x.rank() == 4, "X must have four axes, but has shape {}", x);
  Shape out = x;
  for (size_t axis : {0, 1}) out[static_cast<int64_t>(axis) + 2] = windows(c, x, axis).count();
  c.out("Out") = VarMeta::tensor(c.dtype("X"), out);
  c.out("Mask") = VarMeta::tensor(i32, out);
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& shape = c.shape("X");
  const Windows down = windows(c, shape, 0), right = windows(c, shape, 1);
  return [down, right, channels = shape[0] * shape[1], in = c.in<T>("X"), out = c.out<T>("Out"),
          mask = c.out<int32_t>("Mask")] {
    const int64_t rows = down.count(), columns = right.count();
    parallel_for(channels, down.extent * right.extent, [&](int64_t channel) {
      const T* x = in.data() + channel * down.extent * right.extent;
      for (int64_t i = 0; i < rows * columns; ++i) {
        const int64_t row = i / columns, column = i % columns;
        int64_t best = down.begin(row) * right.extent + right.begin(column);
        for (int64_t h = down.begin(row); h < down.end(row); ++h) {
          for (int64_t w = right.begin(column); w < right.end(column); ++w) {
            const T value = x[h * right.extent + w];
            // NaN is passed over, as in Paddle, where there is anything else.
            const bool first = x[best] != x[best] && value == value;
            if (value > x[best] || first) best = h * right.extent + w;
          }
        }
        out.data()[channel * rows * columns + i] = x[best];
        mask.data()[channel * rows * columns + i] = static_cast<int32_t>(best);
      }
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape &x = c.shape("X"), &out = c.shape("Out@GRAD");
  require(c.shape("Mask") == out, "Mask must have the shape {} of Out@GRAD, but has {}", out,
          c.shape("Mask"));
  return [places = x[2] * x[3], windows = out[2] * out[3], channels = x[0] * x[1],
          mask = c.in<int32_t>("Mask"), dout = c.in<T>("Out@GRAD"), dx = c.out<T>("X@GRAD")] {
    parallel_for(channels, places, [&](int64_t channel) {
      T* to = dx.data() + channel * places;
      std::fill_n(to, places, T{0});
      for (int64_t i = channel * windows; i < (channel + 1) * windows; ++i) {
        const int64_t place = mask.data()[i];
        require(0 <= place && place < places, "Mask holds {}, but a channel has {} elements", place,
                places);
        to[place] += dout.data()[i];
      }
    });
  };
};

using Ints = std::vector<int32_t>;

const std::vector<AttrSpec> kAttrs = {
    {"ksize", Ints{1, 1}, "height and width of a window; adaptive: of Out"},
    {"strides", Ints{1, 1}, "steps from window to window"},
    {"paddings", Ints{0, 0}, "elements around the image that never count"},
    {"global_pooling", false, "one window, the whole image"},
    {"adaptive", false, "windows are chosen so that Out has ksize"}};

const OpDef& max_pool2d_with_index = define_op({
    .type = "max_pool2d_with_index",
    .doc = "The largest elements of windows of images, and where they lie.",
    .inputs = {{.name = "X", .doc = "images, [N, C, H, W]"}},
    .outputs = {{.name = "Out", .doc = "[N, C, windows down, windows right]"},
                {.name = "Mask", .doc = "i32: places in the channel", .no_grad = true}},
    .attrs = kAttrs,
    .infer = infer,
    .grad = grad_op({shape_of("X"), "Mask"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
