// flotilla/ops/nn/conv_problem.h
//
// The geometry of convolutions, for the kernels of every device: from images `src` to images `dst`,
// which are Input and Output of conv2d, and Output and Input of conv2d_transpose.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/device/cpu/onednn.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/nn/channels.h"
#include "flotilla/ops/nn/window.h"

namespace flotilla::ops {

// An index of the program's image is
// n * strides[0] + c * strides[1] + y * strides[2] + x * strides[3].
struct Image {
  Shape extents;  // channels first
  int64_t strides[4];

  Image(const Shape& program, const DataFormat& format) : extents(format.first(program)) {
    const int64_t channels = extents[1], height = extents[2], width = extents[3];
    const bool last = format.channels_last();
    strides[0] = channels * height * width;
    strides[1] = last ? 1 : height * width;
    strides[2] = last ? width * channels : width;
    strides[3] = last ? channels : 1;
  }
  int64_t at(int64_t n, int64_t c, int64_t y, int64_t x) const {
    return n * strides[0] + c * strides[1] + y * strides[2] + x * strides[3];
  }
};

template <typename Context>
WindowAttrs window_attrs(const Context& c) {
  using Ints = std::vector<int64_t>;
  return {.strides = c.template attr<Ints>("strides"),
          .paddings = c.template attr<Ints>("paddings"),
          .dilations = c.template attr<Ints>("dilations"),
          .algorithm = c.template attr<std::string>("padding_algorithm")};
}

// `input` has channels first.
template <typename Context>
std::vector<Window> windows_of(const Context& c, const Shape& input, const Shape& filter) {
  return windows({input[2], input[3]}, {filter[2], filter[3]}, window_attrs(c));
}

inline onednn::ConvProblem conv_problem(const PrepareContext& c, const char* output) {
  const DataFormat format(c.attr<std::string>("data_format"));
  onednn::ConvProblem p = {.src = format.first(c.shape("Input")),
                           .weights = c.shape("Filter"),
                           .dst = format.first(c.shape(output)),
                           .groups = c.attr<int64_t>("groups")};
  for (const Window& w : windows_of(c, p.src, p.weights)) {
    p.strides.push_back(w.stride);
    p.pads_begin.push_back(w.pad_begin);
    p.pads_end.push_back(w.pad_end);
    p.dilations.push_back(w.dilation);
  }
  return p;
}

// ---- Turned round -------------------------------------------------------------------------------

// One axis of Output of a transposed convolution.
struct Spread {
  int64_t extent = 0;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
};

template <typename Context>
Spread spread(const Context& c, size_t axis, int64_t input, int64_t filter) {
  using Ints = std::vector<int64_t>;
  const int64_t stride = of_axis(c, "strides", axis, 1);
  const int64_t dilation = of_axis(c, "dilations", axis, 1);
  const bool sized = !c.template attr<Ints>("output_size").empty();
  const bool padded = !sized && !c.template attr<Ints>("output_padding").empty();
  const int64_t wanted = sized ? of_axis(c, "output_size", axis, 1) : -1;
  const Ints paddings = c.template attr<Ints>("paddings");
  const std::string algorithm = c.template attr<std::string>("padding_algorithm");
  require(algorithm == "EXPLICIT" || algorithm == "VALID",
          "padding_algorithm must be EXPLICIT or VALID, but is \"{}\"", algorithm);
  require(paddings.size() == 2 || paddings.size() == 4,
          "paddings must be two or four numbers, but are {}", fmt::join(paddings, ", "));
  const bool each = paddings.size() == 4;
  const size_t first = static_cast<size_t>(each ? 2 * axis : axis);
  Spread found = {.pad_begin = paddings[first], .pad_end = paddings[each ? first + 1 : first]};
  if (algorithm == "VALID") found.pad_begin = found.pad_end = 0;
  if (input < 0) return {.extent = wanted};
  const int64_t all = (input - 1) * stride + dilation * (filter - 1) + 1;
  found.extent = all - found.pad_begin - found.pad_end;
  const int64_t more = sized    ? wanted - found.extent
                       : padded ? of_axis(c, "output_padding", axis, 0)
                                : 0;
  require(0 <= more && (more == 0 || more < stride),
          "Output may have {} to {} elements along axis {}, but {} are wanted", found.extent,
          found.extent + stride - 1, axis + 2, found.extent + more);
  found.pad_end -= more;
  found.extent += more;
  require(found.extent > 0, "paddings {} and {} leave nothing of {} rows", found.pad_begin,
          found.pad_end, all);
  return found;
}

// The convolution from Output to Input.
inline onednn::ConvProblem turned_conv_problem(const PrepareContext& c, const char* output) {
  const DataFormat format(c.attr<std::string>("data_format"));
  onednn::ConvProblem p = {.src = format.first(c.shape(output)),
                           .weights = c.shape("Filter"),
                           .dst = format.first(c.shape("Input")),
                           .groups = c.attr<int64_t>("groups")};
  p.strides = c.attr<std::vector<int64_t>>("strides");
  p.dilations = c.attr<std::vector<int64_t>>("dilations");
  for (const int axis : {0, 1}) {
    const Spread s = spread(c, axis, p.dst[axis + 2], p.weights[axis + 2]);
    p.pads_begin.push_back(s.pad_begin);
    p.pads_end.push_back(s.pad_end);
  }
  return p;
}

}  // namespace flotilla::ops
