// examples/cpp/digits.h
//
// Batches of handwritten digits: MNIST where it is on this machine, otherwise digits that Flotilla
// draws.

#pragma once

#include <algorithm>
#include <vector>

#include "example.h"

namespace example {

class Digits {
 public:
  explicit Digits(int64_t batch) : batch_(batch) {
    const flotilla::data::MnistFiles files = flotilla::data::find_mnist();
    set_ = flotilla::data::read_mnist(files.train_images, files.train_labels);
  }

  // Pixels from 0 to 1 and labels, in the order of the set.
  std::vector<Feed> feeds(int64_t step) const {
    Tensor x(flotilla::f32, {batch_, 1, 28, 28});
    Tensor y(flotilla::i64, {batch_, 1});
    for (int64_t i = 0; i < batch_; ++i) {
      const int64_t image = (step * batch_ + i) % set_.images.count;
      float* pixels = x.data<float>() + i * 784;
      for (const uint8_t pixel : set_.images.image(image)) *pixels++ = pixel * (1.0f / 255);
      y.data<int64_t>()[i] = set_.labels[static_cast<size_t>(image)];
    }
    return {{"x", x}, {"y", y}};
  }

 private:
  int64_t batch_;
  flotilla::data::LabeledImages set_;
};

// The same images and labels as columns of a loader; pixels become floats as they are gathered.
inline flotilla::data::Columns digit_columns() {
  const flotilla::data::MnistFiles files = flotilla::data::find_mnist();
  const auto set = flotilla::data::read_mnist(files.train_images, files.train_labels);
  const int64_t count = set.images.count;
  Tensor labels(flotilla::i64, {count, 1});
  std::copy(set.labels.begin(), set.labels.end(), labels.data<int64_t>());
  const Tensor pixels = Tensor::of<uint8_t>(set.images.pixels, {count, 1, 28, 28});
  return {flotilla::data::scaled_rows_of(pixels, 1.0f / 255, 0), flotilla::data::rows_of(labels)};
}

}  // namespace example
