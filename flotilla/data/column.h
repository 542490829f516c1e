// flotilla/data/column.h
//
// One value of every sample of a data set that lies in memory, and how a batch of it is gathered.
//
// Thread safety: columns are constant; any thread may gather.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "flotilla/tensor/tensor.h"

namespace flotilla::data {

class Column {
 public:
  virtual ~Column() = default;
  // Samples.
  virtual int64_t size() const = 0;
  // Of one sample, as it comes out.
  virtual DType dtype() const = 0;
  virtual const Shape& shape() const = 0;
  // How many numbers a sample needs beside its index, where something about it is drawn at random.
  virtual int64_t params() const { return 0; }
  // Writes the samples one behind the other to `out`.
  // REQUIRES: indices are in [0, size()); drawn.size() == indices.size() * params()
  virtual void gather(std::span<const int64_t> indices, std::span<const int32_t> drawn,
                      void* out) const = 0;
};

using Columns = std::vector<std::shared_ptr<const Column>>;

// Sample i is values[i]. REQUIRES: rank 1 or more, plain
std::shared_ptr<const Column> rows_of(Tensor values);

// Sample i is float32(bytes[i]) * scale + shift: images are kept as they lie in their file and
// converted as they are gathered. REQUIRES: u8, rank 1 or more, plain
std::shared_ptr<const Column> scaled_rows_of(Tensor bytes, float scale, float shift);

// The number of samples of columns that belong together. Refuses columns of different lengths.
int64_t samples_of(const Columns& columns);

// Refuses the first index that is not in [0, size).
void check_indices(std::span<const int64_t> indices, int64_t size);

}  // namespace flotilla::data
