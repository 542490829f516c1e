// flotilla/data/image/chain.h
//
// A known chain of transforms over bytes, in one pass from the image to its place in a batch:
//
//     decoded bytes -> (crop | pad | resize | flip)* -> table -> float32 or bytes, HWC or CHW
//
// A resize computes only what the crop behind it keeps, flips at the end are done while the result
// is written, and everything that changes values alone (ToTensor, Normalize) is one table of 256
// numbers for each channel, so that the result is what the single steps give, bit for bit.
//
// What is random is not drawn here: the caller hands over the numbers of each sample, in the order
// of the steps.

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "flotilla/data/column.h"
#include "flotilla/data/image/codec.h"
#include "flotilla/data/image/geometry.h"

namespace flotilla::data {

// To height x width; width 0: the shorter side becomes `height`.
struct ResizeStep {
  int64_t height = 0;
  int64_t width = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  Style style = Style::kPil;
};

// height x width from the middle, or from a drawn (top, left).
struct CropStep {
  int64_t height = 0;
  int64_t width = 0;
  bool drawn = false;
};

// A drawn (top, left, height, width).
struct RectangleStep {};

// Where a drawn number is not 0.
struct FlipStep {
  Axis axis = Axis::kHorizontal;
};

struct PadStep {
  Margins margins = {};
  Border border = Border::kConstant;
  std::vector<double> fill = {0};
};

using Step = std::variant<ResizeStep, CropStep, RectangleStep, FlipStep, PadStep>;

struct ChainOptions {
  std::vector<Step> steps = {};

  int64_t channels = 3;

  // Of the images that come; 0: they differ, and a step must make them equal.
  int64_t height = 0;
  int64_t width = 0;

  // channels x 256; empty: bytes come out.
  std::vector<float> table = {};

  // The channels one behind the other (CHW), not side by side (HWC).
  bool planes = false;

  // Without a last axis for a single channel (HWC only).
  bool flat = false;

  // Files are turned as their EXIF notes say.
  bool upright = false;

  // JPEG files may be decoded at a fraction of their size; see DecodeOptions. Only where the first
  // step is a resize to a given size.
  bool scaled_decode = false;
};

// Thread safety: constant.
class ImageChain {
 public:
  // Refuses steps that do not give all images one size.
  explicit ImageChain(ChainOptions options);

  const ChainOptions& options() const { return options_; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return options_.table.empty() ? u8 : f32; }
  // Numbers that one sample needs.
  int64_t params() const { return params_; }
  int64_t bytes() const { return shape_.numel() * size_of(dtype()); }

  // Writes bytes() bytes. REQUIRES: drawn.size() == params()
  void run(const ImageView& image, std::span<const int32_t> drawn, void* out) const;

  // How a file is decoded for this chain.
  DecodeOptions decode_options() const;

 private:
  void write(const ImageView& image, bool mirrored, bool upside_down, void* out) const;

  ChainOptions options_;
  int64_t params_ = 0;
  Shape shape_;
};

// Sample i is the image bytes[i], [height, width] or [height, width, channels], after the chain.
std::shared_ptr<const Column> transformed_images(Tensor bytes, ImageChain chain);

// Sample i is the file files[i], decoded and after the chain; `threads` decode at once.
std::shared_ptr<const Column> image_files(std::vector<std::filesystem::path> files,
                                          ImageChain chain, int threads = 1);

}  // namespace flotilla::data
