// flotilla/data/loader.h
//
// Batches of a data set that lies in memory: shuffled, gathered ahead by a thread, in buffers that
// are used again. What paddle.io.DataLoader is to Python.
//
//   Loader loader({rows_of(images), rows_of(labels)}, {.batch_size = 64, .shuffle = true});
//   while (std::optional<Batch> batch = loader.next()) { ... }   // one pass

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "flotilla/data/batch.h"
#include "flotilla/data/column.h"
#include "flotilla/data/gather.h"

namespace flotilla::data {

struct LoaderOptions {
  int64_t batch_size = 1;

  // The order differs from pass to pass and repeats for a seed.
  bool shuffle = false;
  uint64_t seed = 0;

  // Leaves out a last batch that is not full.
  bool drop_last = false;

  // Batches that are gathered ahead of the one that is in use.
  int64_t prefetch = 2;
};

// Thread safety: none; one thread reads it.
class Loader final : public BatchSource {
 public:
  Loader(Columns columns, LoaderOptions options = {});

  // Nothing: the pass is over, and the next call begins another.
  std::optional<Batch> next() override;
  // Begins a pass anew: what is left of this one is dropped.
  void reset();
  // Of one pass.
  int64_t batches() const;

 private:
  void begin();
  void fill();

  const Columns columns_;
  const LoaderOptions options_;
  const int64_t size_;
  int64_t pass_ = 0;
  std::vector<int64_t> order_;
  size_t position_ = 0;  // in order_, of the next sample that is not under way
  std::unique_ptr<Gatherer> gatherer_;
};

// A source that is read ahead by a thread of its own, up to `capacity` batches. What it throws is
// thrown by next(). Destroying it ends the thread once the source returns.
std::unique_ptr<BatchSource> prefetched(std::unique_ptr<BatchSource> source, int64_t capacity);

// Batches from single samples, the way a generator gives them: a tensor for each field, nothing at
// the end. The samples of a batch must agree in number, shapes and dtypes of fields.
using SampleGenerator = std::function<std::optional<std::vector<Tensor>>()>;
std::unique_ptr<BatchSource> batched(SampleGenerator samples, int64_t batch_size,
                                     bool drop_last = true);

}  // namespace flotilla::data
