// flotilla/data/batch.h
//
// What every loader and every file data set makes, whatever it reads.

#pragma once

#include <optional>
#include <vector>

#include "flotilla/tensor/tensor.h"

namespace flotilla::data {

// A tensor for each field, in the order of the feed list; the first extent counts samples, save
// where a tensor has a LoD.
using Batch = std::vector<Tensor>;

// Thread safety: none; one thread reads a source at a time.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // Nothing: the pass is over.
  virtual std::optional<Batch> next() = 0;
  // What next() would give, where that is known and costs no waiting.
  virtual std::optional<Batch> peek() { return std::nullopt; }
};

}  // namespace flotilla::data
