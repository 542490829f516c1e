#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/tuple.h>

#include <array>
#include <map>

#include "bind.h"
#include "flotilla/base/error.h"
#include "flotilla/data/image/chain.h"
#include "flotilla/data/image/codec.h"
#include "flotilla/data/image/color.h"
#include "flotilla/data/image/geometry.h"
#include "gil.h"
#include "owned_array.h"

namespace flotilla::python {
namespace {

using namespace data;

using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

template <typename E>
E word(const std::map<std::string_view, E>& words, std::string_view what,
       const std::string& given) {
  const auto found = words.find(given);
  if (found != words.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [name, value] : words) known.emplace_back(name);
  refuse("{} must be one of {}, but is \"{}\"", what, fmt::join(known, ", "), given);
}

Interpolation interpolation_of(const std::string& name) {
  static const std::map<std::string_view, Interpolation> words = {
      {"nearest", Interpolation::kNearest}, {"bilinear", Interpolation::kBilinear},
      {"bicubic", Interpolation::kBicubic}, {"area", Interpolation::kArea},
      {"box", Interpolation::kArea},        {"lanczos", Interpolation::kLanczos},
      {"hamming", Interpolation::kHamming}};
  return word(words, "interpolation", name);
}

Style style_of(const std::string& name) {
  static const std::map<std::string_view, Style> words = {{"pil", Style::kPil},
                                                          {"cv2", Style::kCv2}};
  return word(words, "style", name);
}

Border border_of(const std::string& name) {
  static const std::map<std::string_view, Border> words = {{"constant", Border::kConstant},
                                                           {"edge", Border::kEdge},
                                                           {"reflect", Border::kReflect},
                                                           {"symmetric", Border::kSymmetric}};
  return word(words, "padding_mode", name);
}

Axis axis_of(const std::string& name) {
  static const std::map<std::string_view, Axis> words = {{"horizontal", Axis::kHorizontal},
                                                         {"vertical", Axis::kVertical}};
  return word(words, "axis", name);
}

Channels channels_of(const std::string& name) {
  static const std::map<std::string_view, Channels> words = {
      {"stored", Channels::kAsStored}, {"grey", Channels::kGrey}, {"rgb", Channels::kRgb}};
  return word(words, "channels", name);
}

template <typename T>
View<T> view_of(const Array& array) {
  require(array.ndim() == 2 || array.ndim() == 3,
          "an image is an array [height, width] or [height, width, channels], but this one has {} "
          "axes",
          array.ndim());
  const auto height = static_cast<int64_t>(array.shape(0));
  const auto width = static_cast<int64_t>(array.shape(1));
  const int64_t channels = array.ndim() == 3 ? static_cast<int64_t>(array.shape(2)) : 1;
  require(channels > 0, "an image has one channel or more, but this one has none");
  return {static_cast<const T*>(array.data()), height, width, channels, width * channels};
}

ImageView bytes_of(const Array& array) {
  require(array.dtype() == nb::dtype<uint8_t>(), "expected an image of uint8");
  return view_of<uint8_t>(array);
}

template <typename T>
nb::object to_array(Pixels<T> image, bool flat) {
  const std::array<size_t, 3> shape = {static_cast<size_t>(image.height),
                                       static_cast<size_t>(image.width),
                                       static_cast<size_t>(image.channels)};
  const size_t rank = flat && image.channels == 1 ? 2 : 3;
  return owned_array(std::move(image.pixels), std::span(shape).first(rank));
}

// Runs `make` without the lock of the interpreter.
template <typename Make>
auto unlocked(const Make& make) {
  const GilReleased released;
  return make();
}

// Calls make(View<T>) with the array's own type.
template <typename Make>
nb::object for_type(const Array& array, const Make& make) {
  const bool flat = array.ndim() == 2;
  if (array.dtype() == nb::dtype<uint8_t>()) {
    return to_array(unlocked([&] { return make(view_of<uint8_t>(array)); }), flat);
  }
  if (array.dtype() == nb::dtype<float>()) {
    return to_array(unlocked([&] { return make(view_of<float>(array)); }), flat);
  }
  require(array.dtype() == nb::dtype<double>(),
          "an image is an array of uint8, float32 or float64");
  return to_array(unlocked([&] { return make(view_of<double>(array)); }), flat);
}

DecodeOptions decode_options(const std::string& channels, bool upright,
                             std::pair<int64_t, int64_t> at_least) {
  return {.channels = channels_of(channels),
          .upright = upright,
          .at_least_height = at_least.first,
          .at_least_width = at_least.second};
}

std::span<const uint8_t> span_of(const nb::bytes& bytes) {
  return {static_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

nb::bytes to_bytes(const std::vector<uint8_t>& bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

void bind_codec(nb::module_& m) {
  const std::pair<int64_t, int64_t> full = {0, 0};
  m.def(
      "decode_image",
      [](const nb::bytes& bytes, const std::string& name, const std::string& channels, bool upright,
         std::pair<int64_t, int64_t> at_least) {
        const DecodeOptions options = decode_options(channels, upright, at_least);
        return to_array(unlocked([&] { return decode_image(span_of(bytes), name, options); }),
                        false);
      },
      nb::arg("bytes"), nb::arg("name"), nb::arg("channels") = "stored", nb::arg("upright") = false,
      nb::arg("at_least") = full, "The pixels of a JPEG or PNG, uint8 [height, width, channels].");
  m.def(
      "read_image",
      [](const std::string& path, const std::string& channels, bool upright,
         std::pair<int64_t, int64_t> at_least) {
        const DecodeOptions options = decode_options(channels, upright, at_least);
        return to_array(unlocked([&] { return read_image(path, options); }), false);
      },
      nb::arg("path"), nb::arg("channels") = "stored", nb::arg("upright") = false,
      nb::arg("at_least") = full, "The pixels of a JPEG or PNG file.");
  m.def(
      "image_info",
      [](const nb::bytes& bytes, const std::string& name) {
        const ImageInfo info = image_info(span_of(bytes), name);
        return nb::make_tuple(nb::str(info.format.data()), info.height, info.width, info.channels);
      },
      nb::arg("bytes"), nb::arg("name"), "(format, height, width, channels) of a header.");
  m.def(
      "image_sizes",
      [](const std::vector<std::string>& files, bool upright) {
        return unlocked([&] {
          std::vector<std::pair<int64_t, int64_t>> sizes;
          for (const std::string& file : files) {
            const ImageInfo info = read_image_info(file);
            sizes.emplace_back(info.height, info.width);
            if (upright && info.orientation >= 5)
              std::swap(sizes.back().first, sizes.back().second);
          }
          return sizes;
        });
      },
      nb::arg("files"), nb::arg("upright") = false,
      "(height, width) of each file, from its header.");
  m.def(
      "encode_jpeg",
      [](const Array& image, int quality) {
        return to_bytes(unlocked([&] { return encode_jpeg(bytes_of(image), quality); }));
      },
      nb::arg("image"), nb::arg("quality") = 75);
  m.def(
      "encode_png",
      [](const Array& image, int level) {
        return to_bytes(unlocked([&] { return encode_png(bytes_of(image), level); }));
      },
      nb::arg("image"), nb::arg("level") = 6);
}

void bind_geometry(nb::module_& m) {
  m.def(
      "resize_image",
      [](const Array& image, int64_t height, int64_t width, const std::string& interpolation,
         const std::string& style) {
        const Interpolation how = interpolation_of(interpolation);
        const Style as = style_of(style);
        return for_type(image, [&](const auto& v) { return resize(v, height, width, how, as); });
      },
      nb::arg("image"), nb::arg("height"), nb::arg("width"), nb::arg("interpolation"),
      nb::arg("style"));
  m.def(
      "flip_image",
      [](const Array& image, const std::string& axis) {
        const Axis along = axis_of(axis);
        return for_type(image, [&](const auto& v) { return flip(v, along); });
      },
      nb::arg("image"), nb::arg("axis"));
  m.def(
      "pad_image",
      [](const Array& image, std::array<int64_t, 4> sides, const std::string& mode,
         const std::vector<double>& fill) {
        const Margins margins = {sides[0], sides[1], sides[2], sides[3]};
        const Border border = border_of(mode);
        return for_type(image, [&](const auto& v) { return pad(v, margins, border, fill); });
      },
      nb::arg("image"), nb::arg("left_top_right_bottom"), nb::arg("mode"), nb::arg("fill"));
  m.def(
      "warp_image",
      [](const Array& image, int64_t height, int64_t width, const PlaneMap& map,
         const std::string& interpolation, const std::string& style,
         const std::vector<double>& fill) {
        const Interpolation how = interpolation_of(interpolation);
        const Style as = style_of(style);
        return for_type(image, [&](const auto& v) {
          return warp(v, height, width, map, how, as, std::span<const double>(fill));
        });
      },
      nb::arg("image"), nb::arg("height"), nb::arg("width"), nb::arg("map"),
      nb::arg("interpolation"), nb::arg("style"), nb::arg("fill"));
}

void bind_color(nb::module_& m) {
  m.def("grey_image", [](const Array& image, const std::string& style) {
    const Style as = style_of(style);
    return to_array(unlocked([&] { return to_grey(bytes_of(image), as); }), true);
  });
  m.def("look_up_image", [](const Array& image, const Array& table) {
    require(table.dtype() == nb::dtype<uint8_t>() && table.size() == 256,
            "a table of colours has 256 bytes");
    const std::span<const uint8_t, 256> values(static_cast<const uint8_t*>(table.data()), 256);
    return to_array(unlocked([&] { return look_up(bytes_of(image), values); }), image.ndim() == 2);
  });
  m.def("blend_image", [](const Array& image, int other, double factor) {
    const auto value = static_cast<uint8_t>(other);
    return to_array(unlocked([&] { return blend(bytes_of(image), value, factor); }),
                    image.ndim() == 2);
  });
  m.def("contrast_mean", [](const Array& image) {
    const ImageView view = bytes_of(image);
    return unlocked([&] { return grey_mean(view.channels == 1 ? view : to_grey(view).view()); });
  });
  m.def("saturate_pil", [](const Array& image, double factor) {
    const ImageView view = bytes_of(image);
    return to_array(unlocked([&] { return blend(view, to_grey(view).view(), factor); }), false);
  });
  m.def("saturate_cv2", [](const Array& image, float factor) {
    return to_array(unlocked([&] { return saturate(bytes_of(image), factor); }), false);
  });
  m.def("shift_hue", [](const Array& image, int shift, const std::string& style) {
    const Style as = style_of(style);
    return to_array(unlocked([&] { return shift_hue(bytes_of(image), shift, as); }), false);
  });
}

// ("resize", height, width, interpolation, style), ("crop", height, width, drawn), ("rectangle",),
// ("flip", axis), ("pad", left, top, right, bottom, mode, fill)
Step to_step(const nb::tuple& t) {
  const auto name = nb::cast<std::string>(t[0]);
  const auto number = [&](size_t i) { return nb::cast<int64_t>(t[i]); };
  const auto text = [&](size_t i) { return nb::cast<std::string>(t[i]); };
  if (name == "resize") {
    return ResizeStep{number(1), number(2), interpolation_of(text(3)), style_of(text(4))};
  }
  if (name == "crop") return CropStep{number(1), number(2), nb::cast<bool>(t[3])};
  if (name == "rectangle") return RectangleStep{};
  if (name == "flip") return FlipStep{axis_of(text(1))};
  require(name == "pad", "unknown step \"{}\"", name);
  return PadStep{{number(1), number(2), number(3), number(4)},
                 border_of(text(5)),
                 nb::cast<std::vector<double>>(t[6])};
}

ImageChain make_chain(const nb::list& steps, int64_t height, int64_t width, int64_t channels,
                      std::vector<float> table, bool planes, bool flat, bool upright,
                      bool scaled_decode) {
  ChainOptions options = {.steps = {},
                          .channels = channels,
                          .height = height,
                          .width = width,
                          .table = std::move(table),
                          .planes = planes,
                          .flat = flat,
                          .upright = upright,
                          .scaled_decode = scaled_decode};
  for (const nb::handle step : steps) {
    options.steps.push_back(to_step(nb::cast<nb::tuple>(step)));
  }
  return ImageChain(std::move(options));
}

nb::object gather(const Column& column, const std::vector<int64_t>& indices,
                  const std::vector<int32_t>& drawn) {
  require(drawn.size() == indices.size() * static_cast<size_t>(column.params()),
          "{} samples need {} drawn numbers each, but there are {} in all", indices.size(),
          column.params(), drawn.size());
  check_indices(indices, column.size());
  std::vector<size_t> extents = {indices.size()};
  for (const int64_t extent : column.shape()) extents.push_back(static_cast<size_t>(extent));
  const auto make = [&]<typename T>(T) {
    const int64_t size = static_cast<int64_t>(indices.size()) * column.shape().numel();
    auto* batch = new T[size];  // written whole
    const nb::capsule owner(batch, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    unlocked([&] { column.gather(indices, drawn, batch); });
    return nb::cast(nb::ndarray<nb::numpy, T>(batch, extents.size(), extents.data(), owner));
  };
  if (column.dtype() == u8) return make(uint8_t{});
  require(column.dtype() == f32, "only bytes and float32 are gathered here, not {}",
          column.dtype());
  return make(float{});
}

void bind_chain(nb::module_& m) {
  nb::class_<ImageChain>(m, "ImageChain", "Known transforms of bytes, done in one pass.")
      .def(
          "__init__",
          [](ImageChain* self, const nb::list& steps, int64_t height, int64_t width,
             int64_t channels, std::vector<float> table, bool planes, bool flat, bool upright,
             bool scaled_decode) {
            new (self) ImageChain(make_chain(steps, height, width, channels, std::move(table),
                                             planes, flat, upright, scaled_decode));
          },
          nb::arg("steps"), nb::arg("height"), nb::arg("width"), nb::arg("channels"),
          nb::arg("table"), nb::arg("planes"), nb::arg("flat") = false, nb::arg("upright") = false,
          nb::arg("scaled_decode") = false)
      .def_prop_ro("shape", [](const ImageChain& c) { return from_shape(c.shape()); })
      .def_prop_ro("dtype",
                   [](const ImageChain& c) { return std::string(long_name_of(c.dtype())); })
      .def_prop_ro("params", &ImageChain::params);
  m.def(
      "image_rows",
      [](nb::handle array, const ImageChain& chain) {
        return transformed_images(from_numpy(array), chain);
      },
      nb::arg("array"), nb::arg("chain"), "A Column of images in memory.");
  m.def(
      "image_files",
      [](const std::vector<std::string>& files, const ImageChain& chain, int threads) {
        return image_files({files.begin(), files.end()}, chain, threads);
      },
      nb::arg("files"), nb::arg("chain"), nb::arg("threads") = 1, "A Column of image files.");
  m.def("gather_column", &gather, nb::arg("column"), nb::arg("indices"), nb::arg("drawn"),
        "The samples at `indices`, stacked; `drawn` has column.params() numbers for each.");
}

}  // namespace

void bind_image(nb::module_& m) {
  bind_codec(m);
  bind_geometry(m);
  bind_color(m);
  bind_chain(m);
}

}  // namespace flotilla::python
