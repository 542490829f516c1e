#include "flotilla/data/image/chain.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "flotilla/base/error.h"

namespace flotilla::data {
namespace {

struct Extents {
  int64_t height = 0;  // 0: not known
  int64_t width = 0;
};

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;  // clang 16 does not guess it

Extents after(const Step& step, Extents e) {
  return std::visit(Overloaded{[&](const ResizeStep& s) -> Extents {
                                 if (s.width > 0) return {s.height, s.width};
                                 if (e.height == 0) return {};
                                 const auto [h, w] = resized_extents(e.height, e.width, s.height);
                                 return {h, w};
                               },
                               [](const CropStep& s) -> Extents {
                                 return {s.height, s.width};
                               },
                               [](const RectangleStep&) -> Extents { return {}; },
                               [&](const FlipStep&) { return e; },
                               [&](const PadStep& s) -> Extents {
                                 if (e.height == 0) return {};
                                 return {e.height + s.margins.top + s.margins.bottom,
                                         e.width + s.margins.left + s.margins.right};
                               }},
                    step);
}

int64_t params_of(const Step& step) {
  if (const auto* crop = std::get_if<CropStep>(&step)) return crop->drawn ? 2 : 0;
  if (std::holds_alternative<RectangleStep>(step)) return 4;
  return std::holds_alternative<FlipStep>(step) ? 1 : 0;
}

// Half of what is left over, a half rounded to even as Python does.
int64_t middle(int64_t extent, int64_t part) {
  return static_cast<int64_t>(std::nearbyint(static_cast<double>(extent - part) / 2));
}

Window window_of(const CropStep& step, Extents e, std::span<const int32_t> drawn) {
  Window window = {.top = middle(e.height, step.height),
                   .left = middle(e.width, step.width),
                   .height = step.height,
                   .width = step.width};
  if (step.drawn) {
    window.top = drawn[0];
    window.left = drawn[1];
  }
  return window;
}

ImageView cut(const ImageView& image, const Window& w) {
  require(w.top >= 0 && w.left >= 0 && w.height > 0 && w.width > 0 &&
              w.top + w.height <= image.height && w.left + w.width <= image.width,
          "a crop of {} x {} at row {}, column {} does not lie inside an image of {} x {}",
          w.height, w.width, w.top, w.left, image.height, image.width);
  return image.crop(w.top, w.left, w.height, w.width);
}

// The state of one image on its way through the steps.
class Run {
 public:
  Run(const std::vector<Step>& steps, const ImageView& image, std::span<const int32_t> drawn)
      : steps_(steps), drawn_(drawn), image_(image) {}

  void all() {
    while (at_ < steps_.size()) {
      const Step& step = steps_[at_++];
      std::visit([this](const auto& s) { take(s); }, step);
    }
  }

  const ImageView& image() const { return image_; }
  bool mirrored() const { return mirrored_; }
  bool upside_down() const { return upside_down_; }

 private:
  std::span<const int32_t> draw(size_t count) {
    const std::span<const int32_t> taken = drawn_.first(count);
    drawn_ = drawn_.subspan(count);
    return taken;
  }

  void keep(Image made) {
    made_ = std::move(made);
    image_ = made_.view();
  }

  void take(const ResizeStep& step) {
    Extents to = {step.height, step.width};
    if (step.width == 0) {
      const auto [h, w] = resized_extents(image_.height, image_.width, step.height);
      to = {h, w};
    }
    const CropStep* crop = at_ < steps_.size() ? std::get_if<CropStep>(&steps_[at_]) : nullptr;
    if (crop == nullptr) {
      if (to.height != image_.height || to.width != image_.width) {
        keep(resize(image_, to.height, to.width, step.interpolation, step.style));
      }
      return;
    }
    ++at_;
    const Window window = window_of(*crop, to, draw(crop->drawn ? 2 : 0));
    cut({nullptr, to.height, to.width, 0, 0}, window);  // refuses what lies outside
    if (to.height == image_.height && to.width == image_.width) {
      image_ = cut(image_, window);
    } else {
      keep(resize(image_, to.height, to.width, step.interpolation, step.style, window));
    }
  }

  void take(const CropStep& step) {
    const Extents now = {image_.height, image_.width};
    image_ = cut(image_, window_of(step, now, draw(step.drawn ? 2 : 0)));
  }

  void take(const RectangleStep&) {
    const std::span<const int32_t> d = draw(4);
    image_ = cut(image_, {.top = d[0], .left = d[1], .height = d[2], .width = d[3]});
  }

  void take(const FlipStep& step) {
    if (draw(1)[0] == 0) return;
    const bool last = std::all_of(steps_.begin() + at_, steps_.end(), [](const Step& s) {
      return std::holds_alternative<FlipStep>(s);
    });
    if (!last) return keep(flip(image_, step.axis));
    bool& flag = step.axis == Axis::kHorizontal ? mirrored_ : upside_down_;
    flag = !flag;
  }

  void take(const PadStep& step) { keep(pad(image_, step.margins, step.border, step.fill)); }

  const std::vector<Step>& steps_;
  std::span<const int32_t> drawn_;
  size_t at_ = 0;
  ImageView image_;
  Image made_;
  bool mirrored_ = false;
  bool upside_down_ = false;
};

// into[x * gap] = table[in[x * step]]
void look_up_row(const uint8_t* in, int64_t step, int64_t width, const float* table, float* into,
                 int64_t gap) {
  for (int64_t x = 0; x < width; ++x) into[x * gap] = table[in[x * step]];
}

void copy_row(const uint8_t* in, int64_t step, int64_t width, const float*, uint8_t* into,
              int64_t gap) {
  for (int64_t x = 0; x < width; ++x) into[x * gap] = in[x * step];
}

}  // namespace

ImageChain::ImageChain(ChainOptions options) : options_(std::move(options)) {
  const ChainOptions& o = options_;
  require(1 <= o.channels && o.channels <= 4, "an image has 1 to 4 channels, not {}", o.channels);
  require(o.table.empty() || static_cast<int64_t>(o.table.size()) == o.channels * 256,
          "a table for {} channels has {} numbers, but this one has {}", o.channels,
          o.channels * 256, o.table.size());
  Extents e = {o.height, o.width};
  for (const Step& step : o.steps) {
    e = after(step, e);
    params_ += params_of(step);
  }
  require(e.height > 0 && e.width > 0,
          "the images of a batch must have one size; end the transforms with a crop, or with a "
          "resize to a height and a width");
  if (o.planes) {
    shape_ = Shape({o.channels, e.height, e.width});
  } else if (o.flat && o.channels == 1) {
    shape_ = Shape({e.height, e.width});
  } else {
    shape_ = Shape({e.height, e.width, o.channels});
  }
}

DecodeOptions ImageChain::decode_options() const {
  DecodeOptions decode = {.channels = options_.channels == 1 ? Channels::kGrey : Channels::kRgb,
                          .upright = options_.upright};
  if (!options_.scaled_decode || options_.steps.empty()) return decode;
  if (const auto* step = std::get_if<ResizeStep>(&options_.steps.front())) {
    decode.at_least_height = step->height;
    decode.at_least_width = step->width > 0 ? step->width : step->height;
  }
  return decode;
}

void ImageChain::run(const ImageView& image, std::span<const int32_t> drawn, void* out) const {
  require(image.channels == options_.channels, "expected an image of {} channels, found {}",
          options_.channels, image.channels);
  invariant(static_cast<int64_t>(drawn.size()) == params_, "{} numbers were drawn, not {}",
            drawn.size(), params_);
  Run run(options_.steps, image, drawn);
  run.all();
  const ImageView& last = run.image();
  const int64_t high = shape_[options_.planes ? 1 : 0], wide = shape_[options_.planes ? 2 : 1];
  require(last.height == high && last.width == wide,
          "expected {} x {} pixels after the transforms, found {} x {}", high, wide, last.height,
          last.width);
  write(last, run.mirrored(), run.upside_down(), out);
}

void ImageChain::write(const ImageView& image, bool mirrored, bool upside_down, void* out) const {
  const int64_t channels = image.channels, width = image.width;
  const int64_t gap = options_.planes ? 1 : channels;
  const int64_t step = mirrored ? -channels : channels;
  const auto rows = [&](auto* into, auto row) {
    for (int64_t y = 0; y < image.height; ++y) {
      const uint8_t* in = image.row(upside_down ? image.height - 1 - y : y);
      if (mirrored) in += (width - 1) * channels;
      for (int64_t c = 0; c < channels; ++c) {
        const float* table = options_.table.empty() ? nullptr : options_.table.data() + c * 256;
        auto* at = options_.planes ? into + (c * image.height + y) * width
                                   : into + y * width * channels + c;
        row(in + c, step, width, table, at, gap);
      }
    }
  };
  if (options_.table.empty()) {
    rows(static_cast<uint8_t*>(out), copy_row);
  } else {
    rows(static_cast<float*>(out), look_up_row);
  }
}

}  // namespace flotilla::data
