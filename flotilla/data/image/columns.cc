#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/thread.h"
#include "flotilla/data/image/chain.h"

namespace flotilla::data {
namespace {

class TransformedImages final : public Column {
 public:
  TransformedImages(Tensor bytes, ImageChain chain)
      : bytes_(bytes.plain()), chain_(std::move(chain)) {
    const Shape& shape = bytes_.shape();
    require(bytes_.dtype() == u8 && (shape.rank() == 3 || shape.rank() == 4),
            "images are bytes of shape [count, height, width] or [count, height, width, channels], "
            "but these are {} of shape {}",
            bytes_.dtype(), shape);
    image_.height = shape[1];
    image_.width = shape[2];
    image_.channels = shape.rank() == 4 ? shape[3] : 1;
    image_.stride = image_.width * image_.channels;
  }

  int64_t size() const override { return bytes_.shape()[0]; }
  DType dtype() const override { return chain_.dtype(); }
  const Shape& shape() const override { return chain_.shape(); }
  int64_t params() const override { return chain_.params(); }

  void gather(std::span<const int64_t> indices, std::span<const int32_t> drawn,
              void* out) const override {
    const auto params = static_cast<size_t>(chain_.params());
    ImageView image = image_;
    for (size_t i = 0; i < indices.size(); ++i) {
      image.data = bytes_.data<uint8_t>() + indices[i] * image_.size();
      chain_.run(image, drawn.subspan(i * params, params),
                 static_cast<char*>(out) + static_cast<int64_t>(i) * chain_.bytes());
    }
  }

 private:
  const Tensor bytes_;
  const ImageChain chain_;
  ImageView image_;  // the first one's extents
};

class ImageFiles final : public Column {
 public:
  ImageFiles(std::vector<std::filesystem::path> files, ImageChain chain, int threads)
      : files_(std::move(files)), chain_(std::move(chain)), threads_(threads) {
    require(threads > 0, "files are decoded by one thread or more, not {}", threads);
  }

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  DType dtype() const override { return chain_.dtype(); }
  const Shape& shape() const override { return chain_.shape(); }
  int64_t params() const override { return chain_.params(); }

  void gather(std::span<const int64_t> indices, std::span<const int32_t> drawn,
              void* out) const override {
    std::atomic<size_t> next = 0;
    Mutex mutex;
    std::exception_ptr failed;
    const auto work = [&] {
      for (size_t i = next++; i < indices.size(); i = next++) {
        try {
          one(indices, drawn, i, static_cast<char*>(out));
        } catch (...) {
          const MutexLock lock(mutex);
          if (failed == nullptr) failed = std::current_exception();
          next = indices.size();
        }
      }
    };
    {
      const auto extra = std::min<size_t>(threads_, std::max<size_t>(1, indices.size())) - 1;
      require_threads(static_cast<int>(extra), "decode images");
      std::vector<std::jthread> helpers;
      for (size_t i = 0; i < extra; ++i) helpers.emplace_back(work);
      work();
    }
    if (failed != nullptr) std::rethrow_exception(failed);
  }

 private:
  void one(std::span<const int64_t> indices, std::span<const int32_t> drawn, size_t i,
           char* out) const {
    const std::filesystem::path& file = files_[indices[i]];
    const auto params = static_cast<size_t>(chain_.params());
    const Image image = read_image(file, chain_.decode_options());
    try {
      chain_.run(image.view(), drawn.subspan(i * params, params),
                 out + static_cast<int64_t>(i) * chain_.bytes());
    } catch (Error& error) {
      error.note("file", file.string());
      throw;
    }
  }

  const std::vector<std::filesystem::path> files_;
  const ImageChain chain_;
  const int threads_;
};

}  // namespace

std::shared_ptr<const Column> transformed_images(Tensor bytes, ImageChain chain) {
  return std::make_shared<TransformedImages>(std::move(bytes), std::move(chain));
}

std::shared_ptr<const Column> image_files(std::vector<std::filesystem::path> files,
                                          ImageChain chain, int threads) {
  return std::make_shared<ImageFiles>(std::move(files), std::move(chain), threads);
}

}  // namespace flotilla::data
