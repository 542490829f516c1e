// flotilla/ops/nn/fold_unfold.cc
//
// unfold: the elements that a window meets while it slides over an image, one column for each of
//         its places (im2col); zeros where it reaches beyond the image
// fold:   images to which columns are added up again (col2im)
//
//   columns[n][(c kh + i) kw + j][place] = image[n][c][top + i dilation][left + j dilation]
//
// Each is the gradient of the other.

#include "flotilla/ops/nn/fold_unfold.h"

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

// Those of images of this size.
template <typename Context>
SlidingWindows windows_of(const Context& c, int64_t height, int64_t width) {
  using Ints = std::vector<int64_t>;
  const Ints sizes = c.template attr<Ints>("kernel_sizes");
  const Ints pads = c.template attr<Ints>("paddings");
  require(sizes.size() == 2, "kernel_sizes must hold 2 numbers, but holds {}", sizes.size());
  require(sizes[0] > 0 && sizes[1] > 0, "kernel_sizes must be positive, but are {} and {}",
          sizes[0], sizes[1]);
  require(pads.size() == 4, "paddings must hold 4 numbers, but holds {}", pads.size());
  const std::vector<Window> found = windows({height, width}, sizes,
                                            {.strides = c.template attr<Ints>("strides"),
                                             .paddings = {pads[0], pads[2], pads[1], pads[3]},
                                             .dilations = c.template attr<Ints>("dilations")});
  const auto axis = [&](size_t a) {
    const int64_t extent = a == 0 ? height : width;
    const int64_t places = found[a].places(extent);
    require(places != 0, "a window that reaches over {} does not fit into {} with {} and {} around",
            found[a].reach(), extent, found[a].pad_begin, found[a].pad_end);
    return SlidingAxis{found[a], extent, places};
  };
  return {axis(0), axis(1)};
}

// The places of the window; -1 where they are not known.
int64_t places_of(const SlidingWindows& w) {
  const bool known = w.down.places >= 0 && w.right.places >= 0;
  return known ? checked_product(w.down.places, w.right.places) : -1;
}

// Columns from `channels` images.
template <typename T>
Step take_columns(PrepareContext& c, const SlidingWindows& w, int64_t channels, const char* images,
                  const char* columns) {
  if (on_gpu(c)) return gpu_columns<T>.take(c, w, channels, images, columns);
  return [w, channels, in = c.in<T>(images), out = c.out<T>(columns)] {
    parallel_for(channels * w.size(), w.places(), [&](int64_t row) {
      const T* x = in.data() + row / w.size() * w.pixels();
      T* y = out.data() + row * w.places();
      std::fill_n(y, w.places(), T{0});
      w.for_each(row % w.size(), [=](int64_t place, int64_t pixel) { y[place] = x[pixel]; });
    });
  };
}

// Images from their columns.
template <typename T>
Step add_columns(PrepareContext& c, const SlidingWindows& w, int64_t channels, const char* columns,
                 const char* images) {
  if (on_gpu(c)) return gpu_columns<T>.add(c, w, channels, columns, images);
  return [w, channels, in = c.in<T>(columns), out = c.out<T>(images)] {
    parallel_for(channels, w.size() * w.places(), [&](int64_t channel) {
      T* y = out.data() + channel * w.pixels();
      std::fill_n(y, w.pixels(), T{0});
      for (int64_t k = 0; k < w.size(); ++k) {
        const T* x = in.data() + (channel * w.size() + k) * w.places();
        w.for_each(k, [=](int64_t place, int64_t pixel) { y[pixel] += x[place]; });
      }
    });
  };
}

using Ints = std::vector<int32_t>;

std::vector<AttrSpec> attrs(std::vector<AttrSpec> more = {}) {
  return joined(std::move(more),
                {{"kernel_sizes", Ints{}, "height and width of the window"},
                 {"strides", Ints{1, 1}, "steps from place to place"},
                 {"paddings", Ints{0, 0, 0, 0}, "zeros above, left, below, right of the image"},
                 {"dilations", Ints{1, 1}, "steps from element to element of the window"}});
}

// ---- unfold -------------------------------------------------------------------------------------

void infer_unfold(InferContext& c) {
  const VarMeta& x = c.in("X");
  require(x.shape.rank() == 4, "X must be images, [N, C, H, W], but has shape {}", x.shape);
  const SlidingWindows w = windows_of(c, x.shape[2], x.shape[3]);
  const int64_t window = checked_product(w.down.window.size, w.right.window.size);
  c.out("Y") = like(x, {x.shape[0], checked_multiple(x.shape[1], window), places_of(w)});
}

template <bool kBack>
constexpr auto unfold_step = []<typename T>(PrepareContext& c) {
  const Shape& x = c.shape("X");
  const SlidingWindows w = windows_of(c, x[2], x[3]);
  return kBack ? add_columns<T>(c, w, x[0] * x[1], "Y@GRAD", "X@GRAD")
               : take_columns<T>(c, w, x[0] * x[1], "X", "Y");
};

const OpDef& unfold = define_op({
    .type = "unfold",
    .doc = "The elements of sliding windows of images, a column for each place of the window.",
    .inputs = {{.name = "X", .doc = "images, [N, C, H, W]"}},
    .outputs = {{.name = "Y", .doc = "[N, C times the elements of a window, places]"}},
    .attrs = attrs(),
    .infer = infer_unfold,
    .grad = float_grad({shape_of("X")}, unfold_step<true>),
    .kernels = kernels_for<float, double>(unfold_step<false>),
});

// ---- fold ---------------------------------------------------------------------------------------

template <typename Context>
SlidingWindows windows_of(const Context& c) {
  const auto size = c.template attr<std::vector<int64_t>>("output_sizes");
  require(size.size() == 2 && std::ranges::min(size) > 0,
          "output_sizes must be two positive numbers, but are {}", fmt::join(size, ", "));
  return windows_of(c, size[0], size[1]);
}

void infer_fold(InferContext& c) {
  const VarMeta& x = c.in("X");
  require(x.shape.rank() == 3, "X must be columns, [N, rows, places], but has shape {}", x.shape);
  const SlidingWindows w = windows_of(c);
  const int64_t window = checked_product(w.down.window.size, w.right.window.size);
  const int64_t rows = x.shape[1], places = x.shape[2];
  require(rows < 0 || rows % window == 0,
          "X of shape {} must hold {} rows, or a multiple, the elements of a window", x.shape,
          window);
  require(places < 0 || places == places_of(w),
          "X of shape {} must hold {} columns, one for each place of the window", x.shape,
          places_of(w));
  c.out("Y") = like(x, {x.shape[0], rows < 0 ? -1 : rows / window, w.down.extent, w.right.extent});
}

template <bool kBack>
constexpr auto fold_step = []<typename T>(PrepareContext& c) {
  const SlidingWindows w = windows_of(c);
  const int64_t channels = c.shape("X")[0] * (c.shape("X")[1] / w.size());
  return kBack ? take_columns<T>(c, w, channels, "Y@GRAD", "X@GRAD")
               : add_columns<T>(c, w, channels, "X", "Y");
};

const OpDef& fold = define_op({
    .type = "fold",
    .doc = "Images to which the columns of sliding windows are added up.",
    .inputs = {{.name = "X", .doc = "[N, C times the elements of a window, places]"}},
    .outputs = {{.name = "Y", .doc = "images, [N, C, H, W]"}},
    .attrs = attrs({{"output_sizes", Ints{}, "height and width of the images"}}),
    .infer = infer_fold,
    .grad = float_grad({shape_of("X")}, fold_step<true>),
    .kernels = kernels_for<float, double>(fold_step<false>),
});

}  // namespace
}  // namespace flotilla::ops
