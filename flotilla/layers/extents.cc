#include "flotilla/layers/extents.h"

namespace flotilla::layers {

std::vector<int32_t> Extents::expand(size_t axes, std::string_view what) const {
  if (values.size() == 1) return std::vector<int32_t>(axes, values.front());
  require(values.size() == axes, "{} takes 1 or {} numbers, but {} were given", what, axes,
          values.size());
  return values;
}

int64_t channel_axis(const Shape& shape, const std::string& format) {
  require(format == "NCHW" || format == "NHWC", "the data format must be NCHW or NHWC, but is {}",
          format);
  require(shape.rank() >= 2, "a {} tensor has channels, but the input is {}", format, shape);
  return format == "NCHW" ? 1 : shape.rank() - 1;
}

int64_t channels_of(const Var& x, const std::string& format) {
  const int64_t channels = x.shape[channel_axis(x.shape, format)];
  require(channels > 0, "the channels of \"{}\" must be known, but its shape is {} ({})", x.name,
          x.shape, format);
  return channels;
}

}  // namespace flotilla::layers
