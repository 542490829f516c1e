// Convolutions and pools.

#include "flotilla/layers/conv.h"
#include "layers_convert.h"

namespace flotilla::python {
namespace {

using namespace nb::literals;

std::optional<layers::Extents> to_given_extents(nb::handle value) {
  if (value.is_none()) return std::nullopt;
  return to_extents(value);
}

void bind_convolutions(nb::module_& m) {
  m.def(
      "conv2d",
      [](Var& x, int64_t num_filters, nb::object filter_size, nb::object stride, nb::object padding,
         nb::object dilation, std::optional<int64_t> groups, nb::object weight, nb::object bias,
         Text act, Text name, const std::string& data_format, bool use_cudnn) {
        mark_user_line();
        const Padding sides = to_padding(padding, data_format);
        // Only groups that were given decide over the name.
        return wrap(layers::conv2d(x, num_filters, to_extents(filter_size),
                                   {.stride = to_extents(stride),
                                    .padding = sides.sides,
                                    .padding_algorithm = sides.algorithm,
                                    .dilation = to_extents(dilation),
                                    .groups = groups.value_or(1),
                                    .weight = to_needed_attr(weight, "the filter"),
                                    .bias = to_param_attr(bias),
                                    .act = text(act),
                                    .name = text(name),
                                    .data_format = data_format,
                                    .use_cudnn = use_cudnn || !groups}));
      },
      "x"_a, "num_filters"_a, "filter_size"_a, "stride"_a, "padding"_a, "dilation"_a,
      "groups"_a.none(), "weight"_a.none(), "bias"_a.none(), "act"_a.none(), "name"_a.none(),
      "data_format"_a, "use_cudnn"_a);
  m.def(
      "conv2d_transpose",
      [](Var& x, int64_t num_filters, nb::object output_size, nb::object filter_size,
         nb::object padding, nb::object stride, nb::object dilation, std::optional<int64_t> groups,
         nb::object weight, nb::object bias, Text act, Text name, const std::string& data_format) {
        mark_user_line();
        const Padding sides = to_padding(padding, data_format);
        return wrap(layers::conv2d_transpose(
            x, num_filters,
            {.filter_size = to_given_extents(filter_size),
             .output_size = to_given_extents(output_size),
             .stride = to_extents(stride),
             .padding = sides.sides,
             .padding_algorithm = sides.algorithm,
             .dilation = to_extents(dilation),
             .groups = groups.value_or(1),
             .weight = to_needed_attr(weight, "the filter of conv2d_transpose"),
             .bias = to_param_attr(bias),
             .act = text(act),
             .name = text(name),
             .data_format = data_format}));
      },
      "x"_a, "num_filters"_a, "output_size"_a.none(), "filter_size"_a.none(), "padding"_a,
      "stride"_a, "dilation"_a, "groups"_a.none(), "weight"_a.none(), "bias"_a.none(),
      "act"_a.none(), "name"_a.none(), "data_format"_a);
}

layers::ConvWithOptions to_options(nb::handle stride, nb::handle padding, nb::handle dilation,
                                   int64_t groups, const std::string& data_format, Text name) {
  const Padding sides = to_padding(padding, data_format);
  return {.stride = to_extents(stride),
          .padding = sides.sides,
          .padding_algorithm = sides.algorithm,
          .dilation = to_extents(dilation),
          .groups = groups,
          .name = text(name),
          .data_format = data_format};
}

// Convolutions with a filter and a bias that exist.
void bind_with(nb::module_& m) {
  const auto define = [&](const char* name, auto function) {
    m.def(
        name,
        [function](Var& x, Var& filter, nb::object bias, nb::object stride, nb::object padding,
                   nb::object dilation, int64_t groups, const std::string& data_format, Text name) {
          mark_user_line();
          return wrap(function(x, filter, to_variables(bias),
                               to_options(stride, padding, dilation, groups, data_format, name)));
        },
        "x"_a, "filter"_a, "bias"_a.none(), "stride"_a, "padding"_a, "dilation"_a, "groups"_a,
        "data_format"_a, "name"_a.none());
  };
  define("conv2d_with", &layers::conv2d_with);
  define("conv1d_with", &layers::conv1d_with);
  m.def(
      "conv2d_transpose_with",
      [](Var& x, Var& filter, nb::object bias, nb::object stride, nb::object padding,
         nb::object dilation, int64_t groups, nb::object output_padding, nb::object output_size,
         const std::string& data_format, Text name) {
        mark_user_line();
        layers::ConvWithOptions options =
            to_options(stride, padding, dilation, groups, data_format, name);
        options.output_size = to_given_extents(output_size);
        if (PyObject_IsTrue(output_padding.ptr()) == 1) {
          options.output_padding = to_extents(output_padding);
        }
        return wrap(layers::conv2d_transpose_with(x, filter, to_variables(bias), options));
      },
      "x"_a, "filter"_a, "bias"_a.none(), "stride"_a, "padding"_a, "dilation"_a, "groups"_a,
      "output_padding"_a.none(), "output_size"_a.none(), "data_format"_a, "name"_a.none());
}

void bind_pool(nb::module_& m) {
  m.def(
      "pool2d",
      [](Var& x, nb::object size, const std::string& type, nb::object stride, nb::object padding,
         bool global_pooling, bool ceil_mode, bool exclusive, bool adaptive, Text name,
         const std::string& data_format) {
        mark_user_line();
        const Padding sides = to_padding(padding, data_format);
        return wrap(layers::pool2d(x, {.size = to_extents(size),
                                       .type = type,
                                       .stride = to_extents(stride),
                                       .padding = sides.sides,
                                       .padding_algorithm = sides.algorithm,
                                       .global_pooling = global_pooling,
                                       .ceil_mode = ceil_mode,
                                       .exclusive = exclusive,
                                       .adaptive = adaptive,
                                       .name = text(name),
                                       .data_format = data_format}));
      },
      "x"_a, "size"_a = -1, "type"_a = "max", "stride"_a = 1, "padding"_a = 0,
      "global_pooling"_a = false, "ceil_mode"_a = false, "exclusive"_a = true, "adaptive"_a = false,
      "name"_a = nb::none(), "data_format"_a = "NCHW");
}

}  // namespace

void bind_conv(nb::module_& m) {
  bind_convolutions(m);
  bind_with(m);
  bind_pool(m);
}

}  // namespace flotilla::python
