// flotilla/ops/nn/shuffle.cc
//
// Operators that exchange channels and places of images, or the order of channels:
//
//   pixel_shuffle    [N, C r r, H, W] becomes [N, C, H r, W r]
//   pixel_unshuffle  [N, C, H r, W r] becomes [N, C r r, H, W]
//   channel_shuffle, shuffle_channel (of 1.8)
//                    channels [g, C / g] become [C / g, g]: one of each group in turn
//   space_to_depth (of 1.8)
//                    [N, r r C, H, W] becomes [N, C, H r, W r], and these elements are then called
//                    [N, C r^4, H / r, W / r]
//
// Each is a transpose of X with some axes cut in two, and its gradient is the way back.

#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/nn/channels.h"

namespace flotilla::ops {
namespace {

// Out, which is X seen with the extents `cut`, whose axes then stand in another order.
struct Turn {
  Shape out = {};
  Ints cut = {}, order = {};
};

// The extents of images, whichever way they lie; -1: not known.
struct Image {
  int64_t n = 0, c = 0, h = 0, w = 0;
  bool last = false;  // channels lie behind places

  Image(const Shape& x, bool channels_last) : last(channels_last) {
    require(x.rank() == 4, "images must have four axes, but have shape {}", x);
    n = x[0], c = x[last ? 3 : 1], h = x[last ? 1 : 2], w = x[last ? 2 : 3];
  }
  Shape shape() const { return last ? Shape{n, h, w, c} : Shape{n, c, h, w}; }
};

int64_t part(int64_t extent, int64_t of, std::string_view what, const Image& image) {
  require(extent < 0 || extent % of == 0,
          "{} {} of images, which have shape {}, cannot be divided by {}", extent, what,
          image.shape(), of);
  return extent < 0 ? extent : extent / of;
}

Turn to_places(const Image& x, int64_t r) {
  Image out = x;
  out.c = part(x.c, r * r, "channels", x);
  out.h = checked_multiple(x.h, r);
  out.w = checked_multiple(x.w, r);
  const Ints cut = x.last ? Ints{x.n, x.h, x.w, out.c, r, r} : Ints{x.n, out.c, r, r, x.h, x.w};
  return {out.shape(), cut, {0, 1, 4, 2, 5, 3}};
}

Turn to_channels(const Image& x, int64_t r) {
  Image out = x;
  out.c = checked_multiple(x.c, r * r);
  out.h = part(x.h, r, "rows", x);
  out.w = part(x.w, r, "columns", x);
  const Ints cut = x.last ? Ints{x.n, out.h, r, out.w, r, x.c} : Ints{x.n, x.c, out.h, r, out.w, r};
  return {out.shape(), cut, {0, 1, 3, 5, 2, 4}};
}

Turn in_turn(const Image& x, int64_t groups) {
  const int64_t members = part(x.c, groups, "channels", x);
  if (x.last) return {x.shape(), {x.n, x.h, x.w, groups, members}, {0, 1, 2, 4, 3}};
  return {x.shape(), {x.n, groups, members, x.h, x.w}, {0, 2, 1, 3, 4}};
}

Turn in_groups(const Image& x, int64_t groups) {
  return in_turn(x, x.c < 0 ? 1 : std::max<int64_t>(1, part(x.c, groups, "channels", x)));
}

Turn to_depth(const Image& x, int64_t r) {
  const int64_t channels = part(x.c, r * r, "channels", x);
  const Shape out = {x.n, checked_multiple(x.c, r * r), part(x.h, r, "rows", x),
                     part(x.w, r, "columns", x)};
  return {out, {x.n, r, r, channels, x.h, x.w}, {0, 3, 4, 1, 5, 2}};
}

Turn from_depth(const Image& x, int64_t r) {
  const int64_t channels = part(x.c, r * r, "channels", x);
  const int64_t height = checked_multiple(x.h, r), width = checked_multiple(x.w, r);
  const Ints cut = {x.n, part(channels, r * r, "channels", x), height, r, width, r};
  return {{x.n, channels, height, width}, cut, {0, 3, 5, 1, 2, 4}};
}

struct Row {
  const char* type;
  const char* doc;
  const char* factor;  // the attribute that says how many
  Turn (*there)(const Image&, int64_t);
  Turn (*back)(const Image&, int64_t);
  bool has_format = true;
  bool wide = false;  // the attribute is a long
};

constexpr Row kPixelShuffle = {"pixel_shuffle", "Channels become places.", "upscale_factor",
                               to_places, to_channels};
constexpr Row kPixelUnshuffle = {"pixel_unshuffle", "Places become channels.", "downscale_factor",
                                 to_channels, to_places};
constexpr Row kChannelShuffle = {"channel_shuffle", "The channels of groups, one of each in turn.",
                                 "groups", in_turn, in_groups};
constexpr Row kShuffleChannel = {"shuffle_channel", "The channels of groups, one of each in turn.",
                                 "group",           in_turn,
                                 in_groups,         false};
constexpr Row kSpaceToDepth = {
    "space_to_depth", "Places become channels.", "blocksize", to_depth, from_depth, false, true};

constexpr int64_t kMostFactor = 1 << 16;  // squares of factors are numbers of channels

template <typename Context>
Turn turn_of(const Context& c, const Row& row, const Shape& x, bool back) {
  const std::string format = row.has_format ? c.template attr<std::string>("data_format") : "NCHW";
  const int64_t factor = c.template attr<int64_t>(row.factor);
  require(0 < factor && factor < kMostFactor, "{} must lie in [1, {}), but is {}", row.factor,
          kMostFactor, factor);
  return (back ? row.back : row.there)(Image(x, DataFormat(format).channels_last()), factor);
}

template <const Row& kRow, bool kBack>
void infer(InferContext& c) {
  const VarMeta& x = c.in(kBack ? "Out@GRAD" : "X");
  c.out(kBack ? "X@GRAD" : "Out") = like(x, turn_of(c, kRow, x.shape, kBack).out);
}

template <const Row& kRow, bool kBack>
Step turned(PrepareContext& c) {
  const std::string_view in = kBack ? "Out@GRAD" : "X", out = kBack ? "X@GRAD" : "Out";
  const Turn turn = turn_of(c, kRow, c.shape(in), kBack);
  return take_box(
      c, in, out,
      {permuted(turn.cut, turn.order), permuted(dense_strides(Shape(turn.cut)), turn.order)});
}

template <const Row& kRow>
const OpDef& define() {
  std::vector<AttrSpec> attrs = {{kRow.factor, 1, "how many"}};
  if (kRow.wide) attrs[0].initial = int64_t{1};
  if (kRow.has_format) attrs.push_back({"data_format", std::string("NCHW"), "NCHW or NHWC"});
  return define_op({.type = kRow.type,
                    .doc = kRow.doc,
                    .inputs = {{.name = "X", .doc = "images"}},
                    .outputs = {{.name = "Out", .doc = "the elements of X"}},
                    .attrs = std::move(attrs),
                    .infer = infer<kRow, false>,
                    .grad = grad_op({}, {.kernels = every_dtype(turned<kRow, true>),
                                         .infer = infer<kRow, true>}),
                    .kernels = every_dtype(turned<kRow, false>)});
}

const OpDef& pixel_shuffle = define<kPixelShuffle>();
const OpDef& pixel_unshuffle = define<kPixelUnshuffle>();
const OpDef& channel_shuffle = define<kChannelShuffle>();
const OpDef& shuffle_channel = define<kShuffleChannel>();
const OpDef& space_to_depth = define<kSpaceToDepth>();

}  // namespace
}  // namespace flotilla::ops
