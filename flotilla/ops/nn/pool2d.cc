// flotilla/ops/nn/pool2d.cc
//
// pool2d: the largest element or the mean of each window of an image.
//
// The loops run over [batch][channel block][height][width][lane], which is how an image lies in all
// the layouts that convolutions leave; the innermost one runs over lanes. The gradient of a maximum
// goes to its first place in the window. NaN in a window of a maximum makes it start again behind,
// and -inf alone gives the lowest number, as in Paddle.

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/device/cpu/simd.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/nn/channels.h"
#include "flotilla/ops/nn/pool_rules.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const DataFormat format(c.attr<std::string>("data_format"));
  const Shape& given = c.in("X").shape;
  require(given.rank() == 4, "X must have rank 4, but has shape {}", given);
  const auto type = c.attr<std::string>("pooling_type");
  require(type == "max" || type == "avg", "pooling_type must be max or avg, but is \"{}\"", type);
  const Shape x = format.first(given);
  const auto [rows, columns] = pool2d_rules(c, x);
  require(rows.places != 0 && columns.places != 0,
          "a window of ksize {} does not fit into X of shape {}",
          fmt::join(c.attr<std::vector<int64_t>>("ksize"), "x"), given);
  c.out("Out") = c.in("X");
  c.out("Out").shape = format.program({x[0], x[1], rows.places, columns.places});
}

constexpr int64_t kMostLanes = 16;

struct Pool {
  PoolAxis rows, columns;
  bool max = false;
  int64_t tasks = 0;   // images of a few lanes
  int64_t lanes = 1;   // elements from one place to the next
  int64_t chunks = 1;  // tasks that share a place

  Pool(const PrepareContext& c, const Shape& x, const ChannelBlocks& blocks)
      : max(c.attr<std::string>("pooling_type") == "max"), lanes(blocks.lanes) {
    const auto [down, right] = pool2d_rules(c, x);
    rows = PoolAxis(down);
    columns = PoolAxis(right);
    chunks = (lanes + kMostLanes - 1) / kMostLanes;
    tasks = blocks.batch * blocks.blocks * chunks;
  }

  // Where a task's lanes begin in an image of `places`, and how many they are.
  int64_t base(int64_t task, int64_t places) const {
    return task / chunks * places * lanes + task % chunks * kMostLanes;
  }
  int64_t lanes_of(int64_t task) const {
    return std::min(kMostLanes, lanes - task % chunks * kMostLanes);
  }

  // What the sum over a window is divided by.
  int64_t divisor(size_t y, size_t x) const {
    return std::max<int64_t>(1, rows.ranges[y].counted * columns.ranges[x].counted);
  }

  // Calls f(place in Out, y, x) for each window.
  template <typename F>
  void for_windows(F f) const {
    for (size_t y = 0; y < rows.ranges.size(); ++y) {
      for (size_t x = 0; x < columns.ranges.size(); ++x) {
        f(static_cast<int64_t>(y * columns.ranges.size() + x), y, x);
      }
    }
  }
  // Calls f(place in X) for each place of the window.
  template <typename F>
  void for_places(size_t y, size_t x, F f) const {
    for (int64_t i = rows.ranges[y].begin; i < rows.ranges[y].end; ++i) {
      for (int64_t j = columns.ranges[x].begin; j < columns.ranges[x].end; ++j) {
        f(i * columns.extent + j);
      }
    }
  }
};

// Neighbouring lanes, which the compiler keeps in a register or two.
template <typename T, int64_t kLanes>
struct Lanes {
  typedef T Vector __attribute__((vector_size(sizeof(T) * kLanes)));
  Vector v = {};

  FLT_INLINE void load(const T* from) { std::memcpy(&v, from, sizeof(v)); }
  FLT_INLINE void store(T* to) const { std::memcpy(to, &v, sizeof(v)); }
};
template <typename T>
struct Lanes<T, 1> {
  T v = {};

  FLT_INLINE void load(const T* from) { v = *from; }
  FLT_INLINE void store(T* to) const { *to = v; }
};

template <int64_t kLanes, typename T>
FLT_INLINE void pool_lanes(const Pool& p, const T* x, T* out) {
  p.for_windows([&](int64_t to, size_t row, size_t column) {
    Lanes<T, kLanes> found, place;
    const bool empty = p.rows.ranges[row].size() <= 0 || p.columns.ranges[column].size() <= 0;
    if (p.max && !empty) {
      found.v += std::numeric_limits<T>::lowest();
      p.for_places(row, column, [&](int64_t from) {
        place.load(x + from * p.lanes);
        found.v = found.v > place.v ? found.v : place.v;
      });
    } else if (!empty) {
      p.for_places(row, column, [&](int64_t from) {
        place.load(x + from * p.lanes);
        found.v += place.v;
      });
      found.v *= 1 / static_cast<T>(p.divisor(row, column));
    }
    found.store(out + to * p.lanes);
  });
}

template <int64_t kLanes, typename T>
FLT_INLINE void mean_grad_lanes(const Pool& p, const T* dout, T* dx) {
  p.for_windows([&](int64_t to, size_t row, size_t column) {
    Lanes<T, kLanes> share, gradient;
    share.load(dout + to * p.lanes);
    share.v *= 1 / static_cast<T>(p.divisor(row, column));
    p.for_places(row, column, [&](int64_t from) {
      gradient.load(dx + from * p.lanes);
      gradient.v += share.v;
      gradient.store(dx + from * p.lanes);
    });
  });
}

template <int64_t kLanes, typename T>
FLT_INLINE void max_grad_lanes(const Pool& p, const T* x, const T* out, const T* dout, T* dx) {
  const Lanes<T, kLanes> none;
  p.for_windows([&](int64_t to, size_t row, size_t column) {
    // What is still to be given away; the first place that holds the maximum takes it.
    Lanes<T, kLanes> rest, most, place, gradient;
    rest.load(dout + to * p.lanes);
    most.load(out + to * p.lanes);
    p.for_places(row, column, [&](int64_t from) {
      place.load(x + from * p.lanes);
      gradient.load(dx + from * p.lanes);
      gradient.v += place.v == most.v ? rest.v : none.v;
      rest.v = place.v == most.v ? none.v : rest.v;
      gradient.store(dx + from * p.lanes);
    });
  });
}

// Calls f(constant, task, lane) so that the lanes [lane, lane + constant) cover those of the task.
template <typename F>
void for_tasks(const Pool& p, F f) {
  const int64_t cost = p.rows.places * p.columns.places * 9 * p.lanes_of(0);
  parallel_for(p.tasks, cost, [&](int64_t task) {
    const int64_t n = p.lanes_of(task);
    simd([&] {
      int64_t lane = 0;
      if (n == kMostLanes) return f(std::integral_constant<int64_t, kMostLanes>{}, task, lane);
      for (; lane + 8 <= n; lane += 8) f(std::integral_constant<int64_t, 8>{}, task, lane);
      for (; lane < n; ++lane) f(std::integral_constant<int64_t, 1>{}, task, lane);
    });
  });
}

// Zeroes the lanes of a task, shortly before they are added to.
template <typename T>
FLT_INLINE void clear(T* lanes, int64_t places, int64_t stride, int64_t n) {
  if (n == stride) {
    std::fill_n(lanes, places * stride, T{0});
    return;
  }
  for (int64_t place = 0; place < places; ++place) std::fill_n(lanes + place * stride, n, T{0});
}

// How X lies, and how Out does: the same way, or plainly where that is the same.
struct Layouts {
  Layout x, out;
  ChannelBlocks blocks;

  Layouts(const PrepareContext& c, const DataFormat& format, const Shape& out_shape) {
    const Shape shape = format.first(c.shape("X"));
    const Layout given = format.first(c.layout("X"), 4);
    const Layout plain = format.first(Layout(), 4);
    const std::optional<ChannelBlocks> found = channel_blocks(shape, given);
    blocks = found ? *found : *channel_blocks(shape, plain);
    x = format.program(found ? given : plain, 4);
    const Shape out_first = format.first(out_shape);
    const bool one_place = out_first[2] * out_first[3] == 1;
    out = one_place && shape[1] % blocks.lanes == 0 ? Layout() : x;
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const DataFormat format(c.attr<std::string>("data_format"));
  const Layouts layouts(c, format, c.shape("Out"));
  const auto pool = std::make_shared<Pool>(c, format.first(c.shape("X")), layouts.blocks);
  return [pool, in = c.in<T>("X", 0, layouts.x), out = c.out<T>("Out", 0, layouts.out)] {
    const int64_t places = pool->rows.extent * pool->columns.extent;
    const int64_t out_places = pool->rows.places * pool->columns.places;
    for_tasks(*pool, [&](auto lanes, int64_t task, int64_t lane) {
      pool_lanes<decltype(lanes)::value>(*pool, in.data() + pool->base(task, places) + lane,
                                         out.data() + pool->base(task, out_places) + lane);
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const DataFormat format(c.attr<std::string>("data_format"));
  const Layouts layouts(c, format, c.shape("Out@GRAD"));
  const auto pool = std::make_shared<Pool>(c, format.first(c.shape("X")), layouts.blocks);
  const int64_t places = pool->rows.extent * pool->columns.extent;
  const int64_t out_places = pool->rows.places * pool->columns.places;
  return [=, x = pool->max ? c.in<T>("X", 0, layouts.x) : In<T>(),
          out = pool->max ? c.in<T>("Out", 0, layouts.out) : In<T>(),
          dout = c.in<T>("Out@GRAD", 0, layouts.out), dx = c.out<T>("X@GRAD", 0, layouts.x)] {
    for_tasks(*pool, [&](auto lanes, int64_t task, int64_t lane) {
      constexpr int64_t kLanes = decltype(lanes)::value;
      const int64_t at = pool->base(task, places) + lane;
      const int64_t to = pool->base(task, out_places) + lane;
      clear(dx.data() + at, places, pool->lanes, kLanes);
      if (pool->max) {
        max_grad_lanes<kLanes>(*pool, x.data() + at, out.data() + to, dout.data() + to,
                               dx.data() + at);
      } else {
        mean_grad_lanes<kLanes>(*pool, dout.data() + to, dx.data() + at);
      }
    });
  };
};

using Ints = std::vector<int32_t>;

const OpDef& pool2d = define_op({
    .type = "pool2d",
    .doc = "The largest element or the mean of each window of an image.",
    .inputs = {{"X", "images, [N, C, H, W] or [N, H, W, C]"}},
    .outputs = {{"Out", "images with an element for each window"}},
    .attrs = {{"pooling_type", "", "max or avg"},
              {"ksize", Ints{}, "height and width of a window; of Out where adaptive"},
              {"global_pooling", false, "whether one window covers the whole image"},
              {"strides", Ints{1, 1}, "steps of the window, down and right"},
              {"paddings", Ints{0, 0}, "around X: two numbers, or top, bottom, left, right"},
              {"exclusive", true, "whether a mean leaves padding out"},
              {"adaptive", false, "whether windows of about the same size cover the image"},
              {"ceil_mode", false, "whether a window may reach beyond the image to cover its rest"},
              {"padding_algorithm", "EXPLICIT",
               "EXPLICIT, or SAME or VALID to work the paddings out"},
              {"data_format", "NCHW", "NCHW or NHWC"}},
    .infer = infer,
    .grad = grad_op({"X", "Out"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
