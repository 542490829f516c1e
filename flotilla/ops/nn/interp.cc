// flotilla/ops/nn/interp.cc
//
// <method>_interp (1.x) and <method>_interp_v2 (2.x): images of another size, axis after axis.
// Element k of an axis of n elements comes from the source position
//
//   k * (n - 1) / (out - 1)   with align_corners
//   (k + 1/2) * ratio - 1/2   otherwise, if cubic, or linear with align_mode 0
//   k * ratio                 otherwise
//
// where ratio is n / out, or in 2.x the inverse of `scale` where that is given. `nearest` takes the
// element there, `linear` mixes two, and `cubic` four, by the kernel of Keys (1981).

#include "flotilla/ops/nn/interp.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "flotilla/device/allocator.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/nn/channels.h"

namespace flotilla::ops {
namespace {

struct Method {
  const char* name;
  Mixing mixing;
  int64_t axes;  // of an image, beside batch and channels
};

constexpr Method kMethods[] = {{"nearest", Mixing::kNearest, 2},
                               {"linear", Mixing::kLinear, 1},
                               {"bilinear", Mixing::kLinear, 2},
                               {"trilinear", Mixing::kLinear, 3},
                               {"bicubic", Mixing::kCubic, 2}};

const Method& method_of(const Op& op) {
  return *std::ranges::find_if(kMethods,
                               [&](const Method& m) { return op.type().starts_with(m.name); });
}

bool is_v2(const Op& op) { return op.type().find("_v2") != std::string::npos; }

// The first axis of an image in X.
template <typename Context>
int64_t first_axis(const Context& c) {
  return DataFormat(c.template attr<std::string>("data_layout")).channels_last() ? 1 : 2;
}

// The factor of each axis; zeros where none were given.
template <typename Context>
std::vector<double> scales_of(const Context& c) {
  const auto axes = static_cast<size_t>(method_of(c.op()).axes);
  std::vector<double> scales;
  if (is_v2(c.op())) {
    scales = c.template attr<std::vector<double>>("scale");
  } else if (const double same = c.template attr<float>("scale"); same > 0) {
    scales = {same};
  }
  if (scales.empty()) return std::vector<double>(axes, 0);
  require((scales.size() == 1 || scales.size() == axes) && std::ranges::min(scales) > 0,
          "scale must hold a positive number for each of {} axes, or one for all, but holds {}",
          axes, fmt::join(scales, ", "));
  scales.resize(axes, scales.front());
  return scales;
}

// The size of Out, -1 where it is not known yet. `from`: that of X.
Ints size_of_out(const InferContext& c, const Ints& from, bool from_tensors) {
  if (from_tensors) {
    const Ints size = extents_of(c, {.tensor = "OutSize", .list = "SizeTensor"});
    require(size.size() == from.size(), "the size of Out must be {} numbers, but {} were given",
            from.size(), size.size());
    return size;
  }
  const std::vector<double> scales = scales_of(c);
  const Ints given = {c.attr<int64_t>("out_d"), c.attr<int64_t>("out_h"), c.attr<int64_t>("out_w")};
  Ints size(given.end() - static_cast<int64_t>(from.size()), given.end());
  for (size_t a = 0; a < from.size() && scales[a] > 0; ++a) {
    size[a] = from[a] < 0 ? -1 : checked_extent(static_cast<double>(from[a]) * scales[a]);
  }
  return size;
}

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  const int64_t axes = method_of(c.op()).axes, first = first_axis(c);
  require(x.shape.rank() == axes + 2, "X must have rank {}, but has shape {}", axes + 2, x.shape);
  require(!c.has_in("Scale"),
          "a scale that is a tensor is not known when a plan is made; give the attribute scale");
  const Ints from(x.shape.begin() + first, x.shape.begin() + first + axes);
  const bool from_tensors = c.has_in("OutSize") || c.has_in("SizeTensor");
  const Ints size = size_of_out(c, from, from_tensors);
  const bool open = !c.running() && (from_tensors || std::ranges::min(from) < 0);
  require(std::ranges::min(size) > 0 || open, "the size of Out must be positive, but is {}",
          fmt::join(size, " x "));
  c.out("Out") = x;
  c.out("Out").value = {};
  for (int64_t a = 0; a < axes; ++a) c.out("Out").shape[first + a] = size[static_cast<size_t>(a)];
}

Mixer mixer_of(const PrepareContext& c, int64_t from, int64_t to, double scale) {
  require(from > 0, "images must have rows and columns, but one of these numbers is {}", from);
  const Mixing mixing = method_of(c.op()).mixing;
  const bool corners = c.attr<bool>("align_corners"), is_cubic = mixing == Mixing::kCubic;
  const bool centers =
      !corners && (is_cubic || (mixing == Mixing::kLinear && c.attr<int64_t>("align_mode") == 0));
  double ratio =
      is_v2(c.op()) && scale > 0 ? 1 / scale : static_cast<double>(from) / static_cast<double>(to);
  if (corners) ratio = to > 1 ? static_cast<double>(from - 1) / static_cast<double>(to - 1) : 0.0;
  // A scale may ask for places far outside, where all is as at the border.
  return {.mixing = mixing,
          .from = from,
          .to = to,
          .step = static_cast<float>(ratio),
          .least = is_cubic ? -2.0f : 0.0f,
          .most = static_cast<float>(is_cubic ? from + 1 : from - 1),
          .centers = centers,
          .rounds = mixing == Mixing::kNearest && corners};
}

// An axis, and what each of its elements is mixed from.
struct Pass {
  ResizedAxis axis = {};
  std::vector<Mix> mixes = {};

  explicit Pass(const ResizedAxis& resized) : axis(resized) {
    for (int64_t k = 0; k < axis.mixer.to; ++k) mixes.push_back(axis.mixer.at(k));
  }

  template <bool kBack, typename T>
  void run(const T* in, T* out) const {
    const int64_t inner = axis.inner, to = axis.mixer.to, from = axis.mixer.from;
    const int64_t read = (kBack ? to : from) * inner, written = (kBack ? from : to) * inner;
    parallel_for(axis.outer, to * inner * 8, [&](int64_t o) {
      const T* x = in + o * read;
      T* y = out + o * written;
      std::fill_n(y, written, T{0});
      for (int64_t k = 0; k < to; ++k) {
        const Mix& mix = mixes[static_cast<size_t>(k)];
        for (int64_t m = 0; m < mix.count; ++m) {
          const T* source = x + (kBack ? k : mix.at[m]) * inner;
          T* target = y + (kBack ? mix.at[m] : k) * inner;
          const auto share = static_cast<T>(mix.share[m]);
          for (int64_t i = 0; i < inner; ++i) target[i] += source[i] * share;
        }
      }
    });
  }
};

// From X to Out. The last axis comes first where Out is larger, and last where it is smaller.
std::vector<ResizedAxis> axes_of(const PrepareContext& c, const Shape& out) {
  const int64_t first = first_axis(c);
  const std::vector<double> scales = scales_of(c);
  std::vector<ResizedAxis> axes;
  if (out.numel() == 0) return axes;  // its extents may be as large as they like
  require_room(out.numel() * size_of(c.dtype("X")));
  Shape now = c.shape("X");
  const auto check = [&](bool fits) {
    require(fits, "the images of shape {} cannot be resized to {}", c.shape("X"), out);
  };
  check(out.rank() == now.rank());
  const bool grows = out.numel() >= now.numel();
  for (size_t i = 0; i < scales.size(); ++i) {
    const size_t a = grows ? scales.size() - 1 - i : i;
    const int64_t axis = first + static_cast<int64_t>(a);
    axes.push_back({now.numel(0, axis), now.numel(axis + 1, now.rank()),
                    mixer_of(c, now[axis], out[axis], scales[a])});
    now[axis] = out[axis];
  }
  check(now == out);
  return axes;
}

template <bool kBack>
constexpr auto resize = []<typename T>(PrepareContext& c) -> Step {
  auto axes = axes_of(c, c.shape(kBack ? "Out@GRAD" : "Out"));
  if (kBack) std::ranges::reverse(axes);
  if (on_gpu(c)) return gpu_resize<T>(c, axes, kBack);
  std::vector<Pass> passes(axes.begin(), axes.end());
  std::vector<Out<T>> to;
  for (size_t i = 0; i + 1 < axes.size(); ++i) {
    to.push_back(c.workspace<T>(kBack ? axes[i].before() : axes[i].after()));
  }
  to.push_back(c.out<T>(kBack ? "X@GRAD" : "Out"));
  return
      [passes = std::make_shared<std::vector<Pass>>(std::move(passes)), to = std::move(to),
       count = c.shape(kBack ? "X@GRAD" : "Out").numel(), in = c.in<T>(kBack ? "Out@GRAD" : "X")] {
        if (passes->empty()) std::fill_n(to.back().data(), count, T{0});
        const T* from = in.data();
        for (size_t i = 0; i < passes->size(); ++i) {
          (*passes)[i].template run<kBack>(from, to[i].data());
          from = to[i].data();
        }
      };
};

OpDef definition(std::string type, AttrSpec scale) {
  return {.type = std::move(type),
          .doc = "Images of another size.",
          .inputs = {{"X", "images, with channels as second or last axis"},
                     optional_constant("OutSize", "the size of Out"),
                     several(optional_constant("SizeTensor", "the same, a tensor for each axis")),
                     optional_constant("Scale", "not implemented")},
          .outputs = {{"Out", "images of the new size"}},
          .attrs = {{"data_layout", "NCHW", "NCHW or NHWC"},
                    {"out_d", 0, "depth of Out"},
                    {"out_h", 0, "height of Out"},
                    {"out_w", 0, "width of Out"},
                    std::move(scale),
                    {"interp_method", "bilinear", "ignored: the type of the op decides"},
                    {"align_corners", true, "whether corners come from corners"},
                    {"align_mode", 1, "0: positions count from the middle of an element"}},
          .infer = infer,
          .grad = float_grad({shape_of("X"), "OutSize", "SizeTensor", "Scale"}, resize<true>),
          .kernels = kernels_for<float, double>(resize<false>)};
}

const bool kDefined = [] {
  const std::string doc = "factors of the size, before out_d, out_h and out_w";
  for (const Method& method : kMethods) {
    const std::string type = std::string(method.name) + "_interp";
    define_op(definition(type, {"scale", 0.0f, doc}));
    define_op(definition(type + "_v2", {"scale", std::vector<float>{}, doc}));
  }
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
