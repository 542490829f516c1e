#include "flotilla/data/mnist.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>

#include "flotilla/base/atomic_file.h"
#include "flotilla/base/env.h"
#include "flotilla/base/error.h"

namespace flotilla::data {
namespace {

namespace fs = std::filesystem;

struct Pair {
  fs::path images;
  fs::path labels;
};

std::optional<fs::path> find_file(const fs::path& directory, const std::string& name) {
  for (const char* ending : {".gz", ""}) {
    const fs::path file = directory / (name + ending);
    std::error_code error;  // a directory that may not be entered holds nothing for us
    if (fs::is_regular_file(file, error)) return file;
  }
  return std::nullopt;
}

// The files of "train" or "t10k".
std::optional<Pair> find_pair(const fs::path& directory, const std::string& half) {
  const std::optional<fs::path> images = find_file(directory, half + "-images-idx3-ubyte");
  const std::optional<fs::path> labels = find_file(directory, half + "-labels-idx1-ubyte");
  if (!images || !labels) return std::nullopt;
  return Pair{*images, *labels};
}

std::optional<MnistFiles> find_all(const fs::path& directory) {
  const std::optional<Pair> train = find_pair(directory, "train");
  const std::optional<Pair> test = find_pair(directory, "t10k");
  if (!train || !test) return std::nullopt;
  return MnistFiles{.train_images = train->images,
                    .train_labels = train->labels,
                    .test_images = test->images,
                    .test_labels = test->labels};
}

// What lies in a directory of generated digits: the text of its file about.txt, which is written
// last and removed first, so that it vouches for the four files beside it.
std::string about(const DigitsOptions& digits) {
  return fmt::format(
      "Digits that Flotilla drew, in the files and the format of MNIST, but not MNIST.\n"
      "version {}, seed {}, {} training and {} test images\n",
      kDigitsVersion, digits.seed, digits.train, digits.test);
}

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

MnistFiles generate(const fs::path& directory, const DigitsOptions& digits) {
  const fs::path vouch = directory / "about.txt";
  if (read_text(vouch) != about(digits) || !find_all(directory)) {
    std::error_code error;
    fs::remove(vouch, error);
    write_digits(directory, digits);
    AtomicFile file(vouch);
    file.write(about(digits));
    file.commit();
  }
  std::optional<MnistFiles> files = find_all(directory);
  require(files.has_value(), "{}: files vanished while they were looked up", directory.string());
  files->generated = true;
  return *files;
}

// Why generated digits are used.
std::string reason(const MnistSearch& search) {
  for (const fs::path& directory : search.directories) {
    if (find_pair(directory, "t10k")) {
      return fmt::format("{} holds MNIST's test images, but not its training images",
                         directory.string());
    }
  }
  std::vector<std::string> names;
  names.reserve(search.directories.size());
  for (const fs::path& directory : search.directories) names.push_back(directory.string());
  return names.empty() ? std::string("there was no directory to look for MNIST in")
                       : fmt::format("MNIST was not found in {}", fmt::join(names, " or "));
}

}  // namespace

MnistSearch default_mnist_search() {
  MnistSearch search;
  if (const auto data_home = env::text("PADDLE_DATA_HOME")) {
    search.directories.push_back(fs::path(*data_home) / "mnist");
  }
  if (const auto data = env::text("FLT_TEST_DATA")) {
    search.directories.push_back(fs::path(*data) / "mnist");
  }
  if (const auto home = env::text("HOME")) {
    const fs::path cache = fs::path(*home) / ".cache";
    search.directories.push_back(cache / "paddle/dataset/mnist");
    search.generate_into = cache / "flotilla/digits";
  }
  return search;
}

MnistFiles find_mnist(const MnistSearch& search) {
  for (const fs::path& directory : search.directories) {
    if (std::optional<MnistFiles> files = find_all(directory)) {
      files->description = fmt::format("MNIST from {}", directory.string());
      return *files;
    }
  }
  const std::string why = reason(search);
  require(!search.generate_into.empty(),
          "{}, and without HOME there is no place to keep generated digits in", why);
  MnistFiles files = generate(search.generate_into, search.digits);
  files.description = fmt::format(
      "digits that Flotilla generated itself, not MNIST, to train and to test with, because {}; "
      "they lie in {}",
      why, search.generate_into.string());
  return files;
}

LabeledImages read_mnist(const fs::path& images, const fs::path& labels) {
  LabeledImages set = read_idx(images, labels);
  require(set.images.rows == kDigitSide && set.images.cols == kDigitSide,
          "{}: byte 8: expected images of {} x {}, found {} x {}", images.string(), kDigitSide,
          kDigitSide, set.images.rows, set.images.cols);
  const auto wrong = std::ranges::find_if(set.labels, [](uint8_t label) { return label > 9; });
  require(wrong == set.labels.end(), "{}: byte {}: expected a digit from 0 to 9, found {}",
          labels.string(), 8 + (wrong - set.labels.begin()),
          wrong == set.labels.end() ? 0 : *wrong);
  return set;
}

}  // namespace flotilla::data
