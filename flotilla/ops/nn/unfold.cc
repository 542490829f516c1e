// flotilla/ops/nn/unfold.cc
//
// unfold: the elements that a window meets while it slides over an image, one column for each of
// its places (im2col); zeros where it reaches beyond the image. The gradient adds the columns up
// again.
//
//   Y[n][(c kh + i) kw + j][place] = X[n][c][top + i dilation][left + j dilation]

#include <algorithm>

#include "flotilla/base/element_count.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/nn/window.h"

namespace flotilla::ops {
namespace {

// The windows along one axis of an image.
struct Axis {
  Window window = {};
  int64_t extent = 0;
  int64_t places = 0;

  // Element k of the window at place p lies at first(k) + p * window.stride.
  int64_t first(int64_t k) const { return k * window.dilation - window.pad_begin; }
  // The places at which element k lies inside of the image.
  int64_t begin(int64_t k) const { return places_before(-first(k)); }
  int64_t end(int64_t k) const { return places_before(extent - first(k)); }

 private:
  int64_t places_before(int64_t reach) const {
    return std::min(places, (std::max<int64_t>(reach, 0) + window.stride - 1) / window.stride);
  }
};

struct Windows {
  Axis down = {}, right = {};

  int64_t size() const { return down.window.size * right.window.size; }
  int64_t places() const { return down.places * right.places; }
  int64_t pixels() const { return down.extent * right.extent; }

  // Calls f(place, pixel) for each place at which element k of the window lies inside of the image.
  template <typename F>
  void for_each(int64_t k, F f) const {
    const int64_t i = k / right.window.size, j = k % right.window.size;
    for (int64_t row = down.begin(i); row < down.end(i); ++row) {
      const int64_t y = down.first(i) + row * down.window.stride;
      const int64_t left = y * right.extent + right.first(j);
      for (int64_t column = right.begin(j); column < right.end(j); ++column) {
        f(row * right.places + column, left + column * right.window.stride);
      }
    }
  }
};

template <typename Context>
Windows windows_of(const Context& c, const Shape& x) {
  using Ints = std::vector<int64_t>;
  const Ints sizes = c.template attr<Ints>("kernel_sizes");
  const Ints pads = c.template attr<Ints>("paddings");
  require(sizes.size() == 2, "kernel_sizes must hold 2 numbers, but holds {}", sizes.size());
  require(sizes[0] > 0 && sizes[1] > 0, "kernel_sizes must be positive, but are {} and {}",
          sizes[0], sizes[1]);
  require(pads.size() == 4, "paddings must hold 4 numbers, but holds {}", pads.size());
  const std::vector<Window> found = windows({x[2], x[3]}, sizes,
                                            {.strides = c.template attr<Ints>("strides"),
                                             .paddings = {pads[0], pads[2], pads[1], pads[3]},
                                             .dilations = c.template attr<Ints>("dilations")});
  const auto axis = [&](size_t a) {
    const int64_t extent = x[static_cast<int64_t>(a) + 2];
    const int64_t places = found[a].places(extent);
    require(places != 0, "a window that reaches over {} does not fit into {} with {} and {} around",
            found[a].reach(), extent, found[a].pad_begin, found[a].pad_end);
    return Axis{found[a], extent, places};
  };
  return {axis(0), axis(1)};
}

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  require(x.shape.rank() == 4, "X must be images, [N, C, H, W], but has shape {}", x.shape);
  const Windows w = windows_of(c, x.shape);
  const int64_t window = checked_product(w.down.window.size, w.right.window.size);
  const bool known = w.down.places >= 0 && w.right.places >= 0;
  c.out("Y") = like(x, {x.shape[0], checked_multiple(x.shape[1], window),
                        known ? checked_product(w.down.places, w.right.places) : -1});
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& shape = c.shape("X");
  return [w = windows_of(c, shape), channels = shape[0] * shape[1], in = c.in<T>("X"),
          out = c.out<T>("Y")] {
    parallel_for(channels * w.size(), w.places(), [&](int64_t row) {
      const T* x = in.data() + row / w.size() * w.pixels();
      T* y = out.data() + row * w.places();
      std::fill_n(y, w.places(), T{0});
      w.for_each(row % w.size(), [=](int64_t place, int64_t pixel) { y[place] = x[pixel]; });
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& shape = c.shape("X");
  return [w = windows_of(c, shape), channels = shape[0] * shape[1], dout = c.in<T>("Y@GRAD"),
          din = c.out<T>("X@GRAD")] {
    parallel_for(channels, w.size() * w.places(), [&](int64_t channel) {
      T* dx = din.data() + channel * w.pixels();
      std::fill_n(dx, w.pixels(), T{0});
      for (int64_t k = 0; k < w.size(); ++k) {
        const T* dy = dout.data() + (channel * w.size() + k) * w.places();
        w.for_each(k, [=](int64_t place, int64_t pixel) { dx[pixel] += dy[place]; });
      }
    });
  };
};

using Ints = std::vector<int32_t>;

const OpDef& unfold = define_op({
    .type = "unfold",
    .doc = "The elements of sliding windows of images, a column for each place of the window.",
    .inputs = {{.name = "X", .doc = "images, [N, C, H, W]"}},
    .outputs = {{.name = "Y", .doc = "[N, C times the elements of a window, places]"}},
    .attrs = {{"kernel_sizes", Ints{}, "height and width of the window"},
              {"strides", Ints{1, 1}, "steps from place to place"},
              {"paddings", Ints{0, 0, 0, 0}, "zeros above, left, below, right of the image"},
              {"dilations", Ints{1, 1}, "steps from element to element of the window"}},
    .infer = infer,
    .grad = grad_op({shape_of("X")}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
