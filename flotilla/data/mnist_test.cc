#include "flotilla/data/mnist.h"

#include <gmock/gmock.h>

#include <chrono>
#include <optional>
#include <utility>

#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla::data {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::ThrowsMessage;

class Mnist : public testing::Test, protected TempDir {
 protected:
  MnistSearch search() const {
    return {.directories = {dir_ / "first", dir_ / "second"},
            .generate_into = dir_ / "drawn",
            .digits = {.train = 20, .test = 10, .seed = 4}};
  }

  // Two files of MNIST as it might lie on a machine.
  void put(const std::string& where, const std::string& half, const std::string& ending) const {
    fs::create_directories(dir_ / where);
    const LabeledImages set = make_digits(8, Split::kTrain, 3);
    write_idx_images(dir_ / where / (half + "-images-idx3-ubyte" + ending), set.images);
    write_idx_labels(dir_ / where / (half + "-labels-idx1-ubyte" + ending), set.labels);
  }
};

TEST_F(Mnist, TakesTheFirstDirectoryThatHoldsEverything) {
  put("first", "t10k", ".gz");
  put("second", "train", ".gz");
  put("second", "t10k", "");
  const MnistFiles files = find_mnist(search());
  EXPECT_EQ(files.train_images, dir_ / "second/train-images-idx3-ubyte.gz");
  EXPECT_EQ(files.train_labels, dir_ / "second/train-labels-idx1-ubyte.gz");
  EXPECT_EQ(files.test_images, dir_ / "second/t10k-images-idx3-ubyte");
  EXPECT_EQ(files.test_labels, dir_ / "second/t10k-labels-idx1-ubyte");
  EXPECT_FALSE(files.generated);
  EXPECT_EQ(files.description, "MNIST from " + (dir_ / "second").string());
  EXPECT_FALSE(fs::exists(dir_ / "drawn"));
}

TEST_F(Mnist, GeneratesDigitsWhereThereIsNone) {
  const MnistFiles files = find_mnist(search());
  EXPECT_TRUE(files.generated);
  EXPECT_EQ(files.description,
            fmt::format("digits that Flotilla generated itself, not MNIST, to train and to test "
                        "with, because MNIST was not found in {0}/first or {0}/second; they lie in "
                        "{0}/drawn",
                        dir_.string()));
  EXPECT_EQ(read_mnist(files.train_images, files.train_labels), make_digits(4, Split::kTrain, 20));
  EXPECT_EQ(read_mnist(files.test_images, files.test_labels), make_digits(4, Split::kTest, 10));
}

TEST_F(Mnist, TestImagesAloneAreNotEnough) {
  put("second", "t10k", ".gz");
  const MnistFiles files = find_mnist(search());
  EXPECT_TRUE(files.generated);
  EXPECT_EQ(files.test_images, dir_ / "drawn/t10k-images-idx3-ubyte.gz");
  EXPECT_EQ(files.description,
            fmt::format("digits that Flotilla generated itself, not MNIST, to train and to test "
                        "with, because {0}/second holds MNIST's test images, but not its training "
                        "images; they lie in {0}/drawn",
                        dir_.string()));
}

TEST_F(Mnist, GeneratesOnlyOnce) {
  const fs::path images = find_mnist(search()).train_images;
  const fs::file_time_type written = fs::last_write_time(images) - std::chrono::hours(1);
  fs::last_write_time(images, written);
  find_mnist(search());
  EXPECT_EQ(fs::last_write_time(images), written);
}

TEST_F(Mnist, GeneratesAnewWhatIsIncompleteOrOfAnotherKind) {
  const fs::path images = find_mnist(search()).train_images;
  fs::remove(images);
  EXPECT_EQ(read_idx_images(find_mnist(search()).train_images).count, 20);
  MnistSearch other = search();
  other.digits.train = 30;
  EXPECT_EQ(read_idx_images(find_mnist(other).train_images).count, 30);
  fs::remove(dir_ / "drawn/about.txt");
  EXPECT_EQ(read_idx_images(find_mnist(search()).train_images).count, 20);
}

TEST_F(Mnist, RefusesToGenerateNowhere) {
  EXPECT_THAT([] { find_mnist({}); },
              ThrowsMessage<Error>("there was no directory to look for MNIST in, and without HOME "
                                   "there is no place to keep generated digits in"));
}

// Sets a variable of the environment, or unsets it with nullptr, until the end of the test.
class Variable {
 public:
  Variable(std::string name, const char* value) : name_(std::move(name)), old_(env::text(name_)) {
    set(value);
  }
  ~Variable() { set(old_ ? old_->c_str() : nullptr); }

  void set(const char* value) {
    value == nullptr ? ::unsetenv(name_.c_str()) : ::setenv(name_.c_str(), value, 1);
  }

 private:
  const std::string name_;
  const std::optional<std::string> old_;
};

TEST_F(Mnist, LooksWhereTheEnvironmentSays) {
  Variable data("FLT_TEST_DATA", "/data"), home("HOME", "/home/u");
  Variable data_home("PADDLE_DATA_HOME", nullptr);
  const MnistSearch search = default_mnist_search();
  EXPECT_THAT(search.directories,
              ElementsAre("/data/mnist", "/home/u/.cache/paddle/dataset/mnist"));
  EXPECT_EQ(search.generate_into, "/home/u/.cache/flotilla/digits");
  data_home.set("/sets");
  EXPECT_THAT(default_mnist_search().directories,
              ElementsAre("/sets/mnist", "/data/mnist", "/home/u/.cache/paddle/dataset/mnist"));
  data_home.set(nullptr);
  data.set(nullptr);
  home.set(nullptr);
  EXPECT_THAT(default_mnist_search().directories, testing::IsEmpty());
  EXPECT_EQ(default_mnist_search().generate_into, "");
}

TEST_F(Mnist, RefusesImagesAndLabelsThatAreNotMnists) {
  const fs::path images = dir_ / "images", labels = dir_ / "labels";
  write_idx_images(images, {.count = 2, .rows = 1, .cols = 28, .pixels = std::vector<uint8_t>(56)});
  write_idx_labels(labels, std::vector<uint8_t>{9, 10});
  EXPECT_THAT(
      [&] { read_mnist(images, labels); },
      ThrowsMessage<Error>(images.string() + ": byte 8: expected images of 28 x 28, found 1 x 28"));
  write_idx_images(images, make_digits(1, Split::kTest, 2).images);
  EXPECT_THAT(
      [&] { read_mnist(images, labels); },
      ThrowsMessage<Error>(labels.string() + ": byte 9: expected a digit from 0 to 9, found 10"));
}

}  // namespace
}  // namespace flotilla::data
