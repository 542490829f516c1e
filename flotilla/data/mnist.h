// flotilla/data/mnist.h
//
// Where MNIST is on this machine, and what stands in for it where it is not.

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "flotilla/data/digits.h"
#include "flotilla/data/idx.h"

namespace flotilla::data {

struct MnistSearch {
  // Looked through in this order for MNIST's four files, with or without ".gz".
  std::vector<std::filesystem::path> directories = {};

  // Where generated digits are kept from one run to the next.
  std::filesystem::path generate_into = {};

  DigitsOptions digits = {};
};

struct MnistFiles {
  std::filesystem::path train_images = {};
  std::filesystem::path train_labels = {};
  std::filesystem::path test_images = {};
  std::filesystem::path test_labels = {};

  // The files hold digits that Flotilla drew, not MNIST.
  bool generated = false;

  // For the user: which data this is, where it lies, and why it is not MNIST if it is not.
  std::string description = {};
};

// $PADDLE_DATA_HOME/mnist, $FLT_TEST_DATA/mnist and $HOME/.cache/paddle/dataset/mnist; generates
// into $HOME/.cache/flotilla/digits.
MnistSearch default_mnist_search();

// The first directory that holds all four files. Otherwise generates digits (digits.h; some
// seconds, only if it has not been done before) both to train and to test with, also where only the
// test half of MNIST was found: what is learnt from drawn digits does not carry over to written
// ones.
MnistFiles find_mnist(const MnistSearch& search = default_mnist_search());

// Reads a pair of files as read_idx() does, and refuses images that are not 28 x 28 and labels that
// are not digits.
LabeledImages read_mnist(const std::filesystem::path& images, const std::filesystem::path& labels);

}  // namespace flotilla::data
