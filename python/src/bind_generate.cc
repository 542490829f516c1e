#include <span>

#include "bind.h"
#include "flotilla/base/error.h"
#include "flotilla/data/generate_clicks.h"
#include "flotilla/data/generate_garments.h"
#include "flotilla/data/generate_housing.h"
#include "flotilla/data/generate_images.h"
#include "flotilla/data/generate_ratings.h"
#include "flotilla/data/generate_text.h"
#include "flotilla/data/image/codec.h"
#include "flotilla/data/mnist.h"
#include "gil.h"
#include "owned_array.h"

namespace flotilla::python {
namespace {

data::Split split_of(const std::string& name) {
  require(name == "train" || name == "test", "a split is \"train\" or \"test\", but is \"{}\"",
          name);
  return name == "train" ? data::Split::kTrain : data::Split::kTest;
}

nb::bytes flower_jpeg(uint64_t seed, int64_t index, int label) {
  std::vector<uint8_t> file;
  {
    const GilReleased released;
    data::Image image(data::kFlowerSide, data::kFlowerSide, 3);
    data::draw_flower(
        seed, index, label,
        std::span<uint8_t, data::kFlowerBytes>(image.pixels.data(), size_t{data::kFlowerBytes}));
    file = data::encode_jpeg(image.view(), 90);
  }
  return nb::bytes(file.data(), file.size());
}

nb::tuple shapes(uint64_t seed, const std::string& split, int64_t count) {
  require(count >= 0, "the number of images must not be negative, but is {}", count);
  const data::Split of = split_of(split);
  std::vector<uint8_t> pixels(count * data::kShapeBytes), labels(count);
  {
    const GilReleased released;
    for (int64_t i = 0; i < count; ++i) {
      const std::span<uint8_t, data::kShapeBytes> planes(&pixels[i * data::kShapeBytes],
                                                         size_t{data::kShapeBytes});
      labels[i] = static_cast<uint8_t>(data::draw_shape(seed, of, i, planes));
    }
  }
  const auto rows = static_cast<size_t>(count);
  return nb::make_tuple(owned_array(std::move(pixels), {rows, data::kShapeBytes}),
                        owned_array(std::move(labels), {rows}));
}

std::vector<std::string> write_clicks(const std::string& directory, int64_t train, int64_t test,
                                      int train_files, uint64_t seed) {
  std::vector<std::string> paths;
  for (const auto& path : data::write_clicks(
           directory, {.train = train, .test = test, .train_files = train_files, .seed = seed})) {
    paths.push_back(path.string());
  }
  return paths;
}

void write_garments(const std::string& directory, int64_t train, int64_t test, uint64_t seed) {
  data::write_garments(directory, {.train = train, .test = test, .seed = seed});
}

void keep_digits(const std::string& directory) { data::find_mnist({.generate_into = directory}); }

}  // namespace

void bind_generate(nb::module_& m) {
  const nb::call_guard<GilReleased> released;
  const data::ClicksOptions clicks;
  const data::DrawnSetOptions drawn;
  m.def("keep_digits", &keep_digits, nb::arg("directory"), released,
        "Draws MNIST's four files and an about.txt into a folder, unless they are there.");
  m.def("write_garments", &write_garments, nb::arg("directory"), nb::arg("train") = drawn.train,
        nb::arg("test") = drawn.test, nb::arg("seed") = drawn.seed, released,
        "Draws clothes into four files as Fashion-MNIST has them.");
  m.def("make_housing", &data::make_housing, nb::arg("seed") = 1,
        nb::arg("rows") = data::kHousingRows, released, "The text of a housing.data.");
  m.def("write_clicks", &write_clicks, nb::arg("directory"), nb::arg("train") = clicks.train,
        nb::arg("test") = clicks.test, nb::arg("train_files") = clicks.train_files,
        nb::arg("seed") = clicks.seed, released,
        "Writes a click log in Criteo's format; returns its files.");
  m.def("flower_jpeg", &flower_jpeg, nb::arg("seed"), nb::arg("index"), nb::arg("label"),
        "A JPEG of a painted flower of one of 102 classes.");
  m.def("make_shapes", &shapes, nb::arg("seed"), nb::arg("split"), nb::arg("count"),
        "Painted images uint8 [count, 3072] as in CIFAR, and labels uint8 [count] from 0 to 99.");
  m.def(
      "make_review",
      [](uint64_t seed, const std::string& split, int64_t index, bool positive) {
        return data::make_review(seed, split_of(split), index, positive);
      },
      nb::arg("seed"), nb::arg("split"), nb::arg("index"), nb::arg("positive"),
      "A made-up review of a film.");
  m.def(
      "make_news",
      [](uint64_t seed, const std::string& split, int64_t first, int64_t count) {
        return data::make_news(seed, split_of(split), first, count);
      },
      nb::arg("seed"), nb::arg("split"), nb::arg("first"), nb::arg("count"),
      "Made-up lines as in the Penn Treebank.");
  m.def(
      "make_ratings",
      [] {
        const data::Ratings made = data::make_ratings();
        return nb::make_tuple(made.users, made.movies, made.ratings);
      },
      "Made-up users.dat, movies.dat and ratings.dat as in MovieLens.");
}

}  // namespace flotilla::python
