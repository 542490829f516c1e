#include "flotilla/data/loader.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>

#include "flotilla/base/error.h"
#include "flotilla/base/thread.h"
#include "flotilla/data/shard.h"

namespace flotilla::data {
namespace {

class Prefetched final : public BatchSource {
 public:
  Prefetched(std::unique_ptr<BatchSource> source, int64_t capacity)
      : source_(std::move(source)),
        batches_(static_cast<size_t>(capacity)),
        thread_(start_thread("loads batches ahead", [this] { run(); })) {}
  ~Prefetched() override { batches_.cancel(); }

  std::optional<Batch> next() override { return batches_.pop(); }

 private:
  void run() {
    try {
      while (std::optional<Batch> batch = source_->next()) {
        if (!batches_.push(*std::move(batch))) return;
      }
      batches_.close();
    } catch (...) {
      batches_.fail(std::current_exception());
    }
  }

  std::unique_ptr<BatchSource> source_;
  Channel<Batch> batches_;
  std::jthread thread_;  // last: it uses all of the above
};

class Batched final : public BatchSource {
 public:
  Batched(SampleGenerator samples, int64_t batch_size, bool drop_last)
      : samples_(std::move(samples)), batch_size_(batch_size), drop_last_(drop_last) {
    require(batch_size > 0, "batch_size must be at least 1, but is {}", batch_size);
  }

  std::optional<Batch> next() override {
    std::vector<std::vector<Tensor>> samples;
    while (!ended_ && static_cast<int64_t>(samples.size()) < batch_size_) {
      std::optional<std::vector<Tensor>> sample = samples_();
      ended_ = !sample.has_value();
      if (sample) samples.push_back(check(*std::move(sample)));
    }
    const bool full = static_cast<int64_t>(samples.size()) == batch_size_;
    if (samples.empty() || (drop_last_ && !full)) return std::nullopt;
    count_ += static_cast<int64_t>(samples.size());
    return stack(samples);
  }

 private:
  // The first sample says what the others must look like.
  std::vector<Tensor> check(std::vector<Tensor> sample) {
    for (Tensor& field : sample) field = field.plain();
    if (first_.empty()) first_ = sample;
    require(sample.size() == first_.size(), "sample {} has {} fields, but the first sample has {}",
            count_, sample.size(), first_.size());
    for (size_t f = 0; f < sample.size(); ++f) {
      require(sample[f].shape() == first_[f].shape() && sample[f].dtype() == first_[f].dtype(),
              "field {} of the samples from {} on is {}{}, but that of the first sample is {}{}", f,
              count_, sample[f].dtype(), sample[f].shape(), first_[f].dtype(), first_[f].shape());
    }
    return sample;
  }

  Batch stack(const std::vector<std::vector<Tensor>>& samples) {
    Batch batch;
    for (size_t f = 0; f < first_.size(); ++f) {
      std::vector<int64_t> extents = {static_cast<int64_t>(samples.size())};
      extents.insert(extents.end(), first_[f].shape().begin(), first_[f].shape().end());
      Tensor tensor = buffers_.make(first_[f].dtype(), Shape(std::move(extents)));
      const auto bytes = static_cast<size_t>(first_[f].bytes());
      char* to = static_cast<char*>(tensor.raw());
      for (const std::vector<Tensor>& sample : samples) {
        std::memcpy(to, sample[f].raw(), bytes);
        to += bytes;
      }
      batch.push_back(std::move(tensor));
    }
    return batch;
  }

  const SampleGenerator samples_;
  const int64_t batch_size_;
  const bool drop_last_;
  bool ended_ = false;
  int64_t count_ = 0;
  std::vector<Tensor> first_;
  BatchBuffers buffers_;
};

}  // namespace

Loader::Loader(Columns columns, LoaderOptions options)
    : columns_(std::move(columns)), options_(options), size_(samples_of(columns_)) {
  require(options_.batch_size > 0, "batch_size must be at least 1, but is {}", options_.batch_size);
  require(options_.prefetch > 0, "prefetch must be at least 1, but is {}", options_.prefetch);
  for (const auto& column : columns_) {
    require(column->params() == 0, "a Loader does not support fields with random transforms");
  }
}

int64_t Loader::batches() const {
  const int64_t spare = options_.drop_last ? 0 : options_.batch_size - 1;
  return (size_ + spare) / options_.batch_size;
}

void Loader::begin() {
  if (options_.shuffle) {
    order_ = global_order(size_, options_.seed, pass_);
  } else {
    order_.resize(static_cast<size_t>(size_));
    std::iota(order_.begin(), order_.end(), 0);
  }
  if (options_.drop_last) {
    order_.resize(static_cast<size_t>(batches() * options_.batch_size));
  }
  position_ = 0;
  // The batch that is in use does not count.
  gatherer_ = std::make_unique<Gatherer>(columns_, options_.prefetch);
}

void Loader::fill() {
  while (position_ < order_.size() && gatherer_->under_way() < options_.prefetch) {
    const size_t end =
        std::min(order_.size(), position_ + static_cast<size_t>(options_.batch_size));
    gatherer_->submit({order_.begin() + static_cast<std::ptrdiff_t>(position_),
                       order_.begin() + static_cast<std::ptrdiff_t>(end)});
    position_ = end;
  }
}

std::optional<Batch> Loader::next() {
  if (gatherer_ == nullptr) begin();
  fill();
  if (gatherer_->under_way() == 0) {
    reset();
    return std::nullopt;
  }
  Batch batch = gatherer_->next();
  fill();
  return batch;
}

void Loader::reset() {
  if (gatherer_ == nullptr) return;
  gatherer_ = nullptr;
  ++pass_;
}

std::unique_ptr<BatchSource> prefetched(std::unique_ptr<BatchSource> source, int64_t capacity) {
  require(capacity > 0, "capacity must be at least 1 batch, but is {}", capacity);
  return std::make_unique<Prefetched>(std::move(source), capacity);
}

std::unique_ptr<BatchSource> batched(SampleGenerator samples, int64_t batch_size, bool drop_last) {
  return std::make_unique<Batched>(std::move(samples), batch_size, drop_last);
}

}  // namespace flotilla::data
