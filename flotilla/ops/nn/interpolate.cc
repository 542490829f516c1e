// flotilla/ops/nn/interpolate.cc
//
// nearest_interp and bilinear_interp (1.x), nearest_interp_v2 and bilinear_interp_v2 (2.x): an
// image of another size. Element k of an axis of n elements comes from the source position
//
//   k * (n - 1) / (out - 1)   with align_corners
//   (k + 1/2) * ratio - 1/2   bilinear, with align_mode 0
//   k * ratio                 otherwise
//
// where ratio is n / out, or in 2.x the inverse of `scale` where that is given.

#include <algorithm>
#include <cmath>
#include <memory>

#include "flotilla/base/element_count.h"
#include "flotilla/device/allocator.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/nn/channels.h"
#include "flotilla/ops/tensor/known_value.h"

namespace flotilla::ops {
namespace {

bool is_v2(const Op& op) { return op.type().find("_v2") != std::string::npos; }
bool is_bilinear(const Op& op) { return op.type().starts_with("bilinear"); }

// The factors of height and width; zeros where none were given.
template <typename Context>
std::pair<double, double> scales_of(const Context& c) {
  std::vector<float> scale;
  if (is_v2(c.op())) {
    scale = c.template attr<std::vector<float>>("scale");
  } else if (const float same = c.template attr<float>("scale"); same > 0) {
    scale = {same, same};
  }
  if (scale.empty()) return {0, 0};
  require(scale.size() <= 2 && scale.front() > 0 && scale.back() > 0,
          "scale must hold one or two positive numbers, but holds {}", fmt::join(scale, ", "));
  return {scale.front(), scale.back()};
}

// Height and width of Out, -1 where they are not known yet.
template <typename Context>
std::pair<int64_t, int64_t> sizes_of(const Context& c, const Shape& x, bool from_tensors) {
  if (from_tensors) {
    const auto sizes = ints_of(c, {.tensor = "OutSize", .list = "SizeTensor"});
    require(sizes.size() == 2, "the size of Out must be 2 numbers, but {} were given",
            sizes.size());
    return {sizes[0].value_or(-1), sizes[1].value_or(-1)};
  }
  const auto [high, wide] = scales_of(c);
  const auto scaled = [](int64_t extent, double scale) {
    return extent < 0 ? -1 : checked_extent(static_cast<double>(extent) * scale);
  };
  if (high > 0) return {scaled(x[2], high), scaled(x[3], wide)};
  return {c.template attr<int64_t>("out_h"), c.template attr<int64_t>("out_w")};
}

void infer(InferContext& c) {
  const DataFormat format(c.attr<std::string>("data_layout"));
  const Shape& given = c.in("X").shape;
  require(given.rank() == 4, "X must have rank 4, but has shape {}", given);
  require(!c.has_in("Scale"),
          "a scale that is a tensor is not known when a plan is made; give the attribute scale");
  const Shape x = format.first(given);
  const bool from_tensors = c.has_in("OutSize") || c.has_in("SizeTensor");
  const auto [height, width] = sizes_of(c, x, from_tensors);
  const bool open = !c.running() && (from_tensors || x[2] < 0 || x[3] < 0);
  require((height > 0 && width > 0) || open, "the size of Out must be positive, but is {} x {}",
          height, width);
  c.out("Out") = c.in("X");
  c.out("Out").value = {};
  c.out("Out").shape = format.program({x[0], x[1], height, width});
}

// Element k of an axis is (1 - share) * source[low] + share * source[high].
struct Source {
  int64_t low = 0, high = 0;
  double share = 0;
};

std::vector<Source> sources(const PrepareContext& c, int64_t from, int64_t to, double scale) {
  const bool corners = c.attr<bool>("align_corners"), bilinear = is_bilinear(c.op());
  const bool centers = bilinear && !corners && c.attr<int64_t>("align_mode") == 0;
  double ratio =
      is_v2(c.op()) && scale > 0 ? 1 / scale : static_cast<double>(from) / static_cast<double>(to);
  if (corners) {
    ratio = to > 1 ? static_cast<double>(from - 1) / static_cast<double>(to - 1) : 0.0;
  }
  require(from > 0, "images must have rows and columns, but one of these numbers is {}", from);
  // As in Paddle, in single precision: where a position is whole, the digits decide.
  const float step = static_cast<float>(ratio);
  std::vector<Source> found;
  for (int64_t k = 0; k < to; ++k) {
    const auto at = static_cast<float>(k);
    float position = centers ? std::max(step * (at + 0.5f) - 0.5f, 0.0f) : step * at;
    if (!bilinear && corners) position += 0.5f;
    // A scale may ask for places far outside.
    const bool inside = 0 <= position && position < static_cast<float>(from);
    const int64_t whole = inside ? static_cast<int64_t>(position) : from - 1;
    Source s = {.low = std::min(whole, from - 1), .high = std::min(whole + 1, from - 1)};
    if (bilinear) s.share = static_cast<double>(position - static_cast<float>(whole));
    found.push_back(s);
  }
  return found;
}

// Images as [outer][height][width][inner], and where each row and column of Out comes from.
struct Map {
  int64_t outer, height, width, inner;
  std::vector<Source> rows, columns;

  Map(const PrepareContext& c, const Shape& out_shape) {
    const DataFormat format(c.attr<std::string>("data_layout"));
    const Shape x = format.first(c.shape("X")), out = format.first(out_shape);
    const bool last = format.channels_last();
    outer = last ? x[0] : x[0] * x[1];
    inner = last ? x[1] : 1;
    height = x[2];
    width = x[3];
    const auto [high, wide] = scales_of(c);
    if (out.numel() == 0) return;  // its extents may be as large as they like
    require_room(out.numel() * size_of(c.dtype("X")));
    rows = sources(c, height, out[2], high);
    columns = sources(c, width, out[3], wide);
  }

  int64_t image() const { return height * width * inner; }
  int64_t out_image() const { return static_cast<int64_t>(rows.size() * columns.size()) * inner; }
  int64_t at(int64_t row, int64_t column) const { return (row * width + column) * inner; }

  // Calls f(index in Out, index in X, share) for each element of Out and each of its sources.
  template <typename F>
  void for_each(F f) const {
    int64_t to = 0;
    for (const Source& row : rows) {
      for (const Source& column : columns) {
        for (int64_t i = 0; i < inner; ++i, ++to) {
          f(to, at(row.low, column.low) + i, (1 - row.share) * (1 - column.share));
          if (column.share != 0) {
            f(to, at(row.low, column.high) + i, (1 - row.share) * column.share);
          }
          if (row.share == 0) continue;
          f(to, at(row.high, column.low) + i, row.share * (1 - column.share));
          if (column.share != 0) f(to, at(row.high, column.high) + i, row.share * column.share);
        }
      }
    }
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const auto map = std::make_shared<Map>(c, c.shape("Out"));
  return [map, in = c.in<T>("X"), out = c.out<T>("Out")] {
    parallel_for(map->outer, map->out_image() * 16, [&](int64_t image) {
      const T* x = in.data() + image * map->image();
      T* y = out.data() + image * map->out_image();
      std::fill_n(y, map->out_image(), T{0});
      map->for_each([=](int64_t to, int64_t from, double share) {
        y[to] += x[from] * static_cast<T>(share);
      });
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const auto map = std::make_shared<Map>(c, c.shape("Out@GRAD"));
  return [map, dout = c.in<T>("Out@GRAD"), din = c.out<T>("X@GRAD")] {
    parallel_for(map->outer, map->out_image() * 16, [&](int64_t image) {
      const T* dy = dout.data() + image * map->out_image();
      T* dx = din.data() + image * map->image();
      std::fill_n(dx, map->image(), T{0});
      map->for_each([=](int64_t to, int64_t from, double share) {
        dx[from] += dy[to] * static_cast<T>(share);
      });
    });
  };
};

OpDef definition(std::string type, AttrSpec scale) {
  return {
      .type = std::move(type),
      .doc = "Images of another size.",
      .inputs = {{"X", "images, [N, C, H, W] or [N, H, W, C]"},
                 {.name = "OutSize", .doc = "height and width", .optional = true, .no_grad = true},
                 {.name = "SizeTensor",
                  .doc = "height and width, one tensor each",
                  .optional = true,
                  .list = true,
                  .no_grad = true},
                 {.name = "Scale", .doc = "not there yet", .optional = true, .no_grad = true}},
      .outputs = {{"Out", "images of the new size"}},
      .attrs = {{"data_layout", "NCHW", "NCHW or NHWC"},
                {"out_d", 0, "of no effect: images are flat"},
                {"out_h", 0, "height of Out"},
                {"out_w", 0, "width of Out"},
                std::move(scale),
                {"interp_method", "bilinear", "of no effect: the op says it"},
                {"align_corners", true, "whether corners come from corners"},
                {"align_mode", 1, "0: positions count from the middle of an element"}},
      .infer = infer,
      .grad = grad_op({shape_of("X"), "OutSize", "SizeTensor", "Scale"},
                      {.kernels = kernels_for<float, double>(backward)}),
      .kernels = kernels_for<float, double>(forward)};
}

const AttrSpec kScale = {"scale", 0.0f, "factor of height and width, before out_h"};
const AttrSpec kScales = {"scale", std::vector<float>{},
                          "factors of height and width, before out_h"};

const OpDef& nearest = define_op(definition("nearest_interp", kScale));
const OpDef& bilinear = define_op(definition("bilinear_interp", kScale));
const OpDef& nearest_v2 = define_op(definition("nearest_interp_v2", kScales));
const OpDef& bilinear_v2 = define_op(definition("bilinear_interp_v2", kScales));

}  // namespace
}  // namespace flotilla::ops
