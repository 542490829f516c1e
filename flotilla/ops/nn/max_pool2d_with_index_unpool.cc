// flotilla/ops/nn/max_pool2d_with_index_unpool.cc
//
// max_pool2d_with_index: the largest element of each window of an image, and where it lies in its
// channel. Windows are of one size and step, or `adaptive`: chosen so that ksize is the size of the
// result. Paddle writes adaptive pools of the largest as this op.
//
// unpool: the way back: elements at the places that Indices names, zeros elsewhere.

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/nn/pool_rules.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape& x = c.in("X").shape;
  require(x.rank() == 4, "X must have four axes, but has shape {}", x);
  const Shape out = {x[0], x[1], indexed_pool_rule(c, x, 0).places,
                     indexed_pool_rule(c, x, 1).places};
  c.out("Out") = VarMeta::tensor(c.dtype("X"), out);
  c.out("Mask") = VarMeta::tensor(i32, out);
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& shape = c.shape("X");
  return [down = PoolAxis(indexed_pool_rule(c, shape, 0)),
          right = PoolAxis(indexed_pool_rule(c, shape, 1)), channels = shape[0] * shape[1],
          in = c.in<T>("X"), out = c.out<T>("Out"), mask = c.out<int32_t>("Mask")] {
    parallel_for(channels, down.extent * right.extent, [&](int64_t channel) {
      const T* x = in.data() + channel * down.extent * right.extent;
      int64_t to = channel * down.places * right.places;
      for (const PoolAxis::Range& rows : down.ranges) {
        for (const PoolAxis::Range& columns : right.ranges) {
          int64_t best = rows.begin * right.extent + columns.begin;
          for (int64_t h = rows.begin; h < rows.end; ++h) {
            for (int64_t w = columns.begin; w < columns.end; ++w) {
              const T value = x[h * right.extent + w];
              // NaN is passed over, as in Paddle, where there is anything else.
              const bool first = x[best] != x[best] && value == value;
              if (value > x[best] || first) best = h * right.extent + w;
            }
          }
          out.data()[to] = x[best];
          mask.data()[to++] = static_cast<int32_t>(best);
        }
      }
    });
  };
};

// What is small, [channels][count], has a place for each element in what is large,
// [channels][places].
struct Places {
  int64_t channels = 0, count = 0, places = 0;
  std::string slot = {};
  In<int32_t> of = {};

  Places(PrepareContext& c, const char* name, const Shape& large, const Shape& small)
      : channels(large[0] * large[1]),
        count(small.numel(2, 4)),
        places(large.numel(2, 4)),
        slot(name),
        of(c.in<int32_t>(name)) {
    require(c.shape(name) == small, "{} must have the shape {}, but has {}", name, small,
            c.shape(name));
  }

  // Calls f(element of what is small, its place in what is large) for all of a channel.
  template <typename F>
  void for_each(int64_t channel, F f) const {
    for (int64_t i = channel * count; i < (channel + 1) * count; ++i) {
      const int64_t place = of.data()[i];
      require(0 <= place && place < places, "{} holds {}, but a channel has {} elements", slot,
              place, places);
      f(i, channel * places + place);
    }
  }
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return [at = Places(c, "Mask", c.shape("X"), c.shape("Out@GRAD")), dout = c.in<T>("Out@GRAD"),
          dx = c.out<T>("X@GRAD")] {
    parallel_for(at.channels, at.places, [&](int64_t channel) {
      std::fill_n(dx.data() + channel * at.places, at.places, T{0});
      at.for_each(channel, [&](int64_t i, int64_t to) { dx.data()[to] += dout.data()[i]; });
    });
  };
};

using Ints = std::vector<int32_t>;

const OpDef& max_pool2d_with_index = define_op({
    .type = "max_pool2d_with_index",
    .doc = "The largest elements of windows of images, and where they lie.",
    .inputs = {{.name = "X", .doc = "images, [N, C, H, W]"}},
    .outputs = {{.name = "Out", .doc = "[N, C, windows down, windows right]"},
                {.name = "Mask", .doc = "i32: places in the channel", .no_grad = true}},
    .attrs = {{"ksize", Ints{1, 1}, "height and width of a window; adaptive: of Out"},
              {"strides", Ints{1, 1}, "steps from window to window"},
              {"paddings", Ints{0, 0}, "elements around the image that never count"},
              {"global_pooling", false, "one window, the whole image"},
              {"adaptive", false, "windows are chosen so that Out has ksize"}},
    .infer = infer,
    .grad = float_grad({shape_of("X"), "Mask"}, backward),
    .kernels = kernels_for<float, double>(forward),
});

// ---- unpool -------------------------------------------------------------------------------------

void infer_unpool(InferContext& c) {
  const Shape &x = c.in("X").shape, &indices = c.in("Indices").shape;
  const auto size = c.attr<std::vector<int64_t>>("output_size");
  require(x.rank() == 4, "X must have four axes, but has shape {}", x);
  require(indices == x || !indices.known() || !x.known(),
          "Indices must have the shape {} of X, but has {}", x, indices);
  require(c.attr<std::string>("unpooling_type") == "max",
          "unpooling_type must be max, but is \"{}\"", c.attr<std::string>("unpooling_type"));
  require(size.empty() || size.size() == 2 || size.size() == 4,
          "output_size must hold two numbers, but holds {}", size.size());
  Shape out = x;
  for (size_t axis : {0, 1}) {
    int64_t& extent = out[static_cast<int64_t>(axis) + 2];
    if (size.empty() && extent < 0) continue;
    extent = !size.empty() ? size[size.size() - 2 + axis]
                           : (extent - 1) * of_axis(c, "strides", axis, 1) -
                                 2 * of_axis(c, "paddings", axis, 0) + of_axis(c, "ksize", axis, 1);
    require(extent > 0, "Out must have rows and columns, but would have {}", extent);
  }
  c.out("Out") = like(c.in("X"), out);
}

// 2.6 reads the size whether it is given or not.
void size_to_paddle(Block& block, size_t position) {
  Op& op = block.op(position);
  const Shape& out = block.var(op.output("Out")).shape;
  op.set_attr("output_size", Ints{static_cast<int32_t>(out[2]), static_cast<int32_t>(out[3])});
}

constexpr auto unpool_forward = []<typename T>(PrepareContext& c) -> Step {
  return [at = Places(c, "Indices", c.shape("Out"), c.shape("X")), x = c.in<T>("X"),
          out = c.out<T>("Out")] {
    parallel_for(at.channels, at.places, [&](int64_t channel) {
      std::fill_n(out.data() + channel * at.places, at.places, T{0});
      at.for_each(channel, [&](int64_t i, int64_t to) { out.data()[to] = x.data()[i]; });
    });
  };
};

constexpr auto unpool_backward = []<typename T>(PrepareContext& c) -> Step {
  return [at = Places(c, "Indices", c.shape("Out@GRAD"), c.shape("X")), dout = c.in<T>("Out@GRAD"),
          dx = c.out<T>("X@GRAD")] {
    parallel_for(at.channels, at.count, [&](int64_t channel) {
      at.for_each(channel, [&](int64_t i, int64_t from) { dx.data()[i] = dout.data()[from]; });
    });
  };
};

const OpDef& unpool = define_op({
    .type = "unpool",
    .doc = "Elements at the places where a pool has found them, zeros elsewhere.",
    .inputs = {{.name = "X", .doc = "images, [N, C, H, W]"},
               {.name = "Indices", .doc = "i32: places in a channel of Out", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "larger images"}},
    .attrs = {{"unpooling_type", "max", "max"},
              {"ksize", Ints{1, 1}, "height and width of the pool's window"},
              {"strides", Ints{1, 1}, "its steps"},
              {"paddings", Ints{0, 0}, "elements that were around Out"},
              {"output_size", Ints{}, "height and width of Out, where they do not follow"},
              {"data_format", "NCHW", "NCHW"}},
    .infer = infer_unpool,
    .grad = float_grad({shape_of("X"), "Indices", shape_of("Out")}, unpool_backward),
    .kernels = kernels_for<float, double>(unpool_forward),
    .to_paddle = size_to_paddle,
});

}  // namespace
}  // namespace flotilla::ops
