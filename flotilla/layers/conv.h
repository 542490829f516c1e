// flotilla/layers/conv.h
//
// What slides a window over images or sequences: convolutions, the same turned round, pools. Where
// nothing else is said, axes are those of NCHW: images, channels, height, width.

#pragma once

#include <optional>
#include <string>

#include "flotilla/layers/extents.h"
#include "flotilla/layers/op.h"

namespace flotilla::layers {

struct Conv2dOptions {
  Extents stride = 1;
  Extents padding = 0;                         // one number, height and width, or all four sides
  std::string padding_algorithm = "EXPLICIT";  // or SAME, VALID
  Extents dilation = 1;
  int64_t groups = 1;
  ParamAttr weight = {};
  std::optional<ParamAttr> bias = ParamAttr{};
  std::string act = {};
  std::string name = {};
  std::string data_format = "NCHW";
  // False: where each channel is a group of its own, the layer is called depthwise_conv2d_<n>.
  bool use_cudnn = true;
};
Variable conv2d(Variable x, int64_t filters, const Extents& filter_size,
                const Conv2dOptions& options = {});

struct Conv2dTransposeOptions {
  // One of them at least; the other follows from it.
  std::optional<Extents> filter_size = {};
  std::optional<Extents> output_size = {};
  Extents stride = 1;
  Extents padding = 0;
  std::string padding_algorithm = "EXPLICIT";
  Extents dilation = 1;
  int64_t groups = 1;
  ParamAttr weight = {};
  std::optional<ParamAttr> bias = ParamAttr{};
  std::string act = {};
  std::string name = {};
  std::string data_format = "NCHW";
};
// Makes images larger: each element of `x` adds its filter to the result.
Variable conv2d_transpose(Variable x, int64_t filters, const Conv2dTransposeOptions& options);

// ---- with filters and a bias, one or none, that exist

struct ConvWithOptions {
  Extents stride = 1;
  Extents padding = 0;  // of sequences: one number, or both ends
  std::string padding_algorithm = "EXPLICIT";
  Extents dilation = 1;
  int64_t groups = 1;
  std::string name = {};
  std::string data_format = "NCHW";
  // How large conv2d_transpose_with makes images: so large, or so much larger than it has to.
  std::optional<Extents> output_size = {};
  std::optional<Extents> output_padding = {};
};
// `filter` is [filters, channels / groups, height, width].
Variable conv2d_with(Variable x, Variable filter, const Variables& bias,
                     const ConvWithOptions& options = {});
// `filter` is [channels, filters / groups, height, width].
Variable conv2d_transpose_with(Variable x, Variable filter, const Variables& bias,
                               const ConvWithOptions& options = {});
// Over sequences, [sequences, channels, length], or channels last where `data_format` ends with C.
// `filter` is [filters, channels / groups, length].
Variable conv1d_with(Variable x, Variable filter, const Variables& bias,
                     const ConvWithOptions& options = {});

// ---- pools

struct Pool2dOptions {
  Extents size = -1;
  std::string type = "max";  // or avg
  Extents stride = 1;
  Extents padding = 0;
  std::string padding_algorithm = "EXPLICIT";
  bool global_pooling = false;
  bool ceil_mode = false;
  bool exclusive = true;  // averages leave padding out
  bool adaptive = false;  // `size` is that of the result
  std::string name = {};
  std::string data_format = "NCHW";
};
Variable pool2d(Variable x, const Pool2dOptions& options = {});

}  // namespace flotilla::layers
