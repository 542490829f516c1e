// flotilla/ops/sequence/pieces.h
//
// Sequences that either a LoD names or a list of lengths: then they begin the rows of a padded
// matrix.

#pragma once

#include <string>
#include <vector>

#include "flotilla/ops/loss/labels.h"
#include "flotilla/ops/tensor/sequences.h"

namespace flotilla::ops {

struct Piece {
  int64_t begin = 0;
  int64_t length = 0;
};

class Pieces {
 public:
  Pieces(PrepareContext& c, const char* slot, const char* lengths) {
    if (c.has(lengths)) {
      rows_ = c.shape(slot)[0];
      width_ = c.shape(slot)[1];
      lengths_ = LabelsIn(c, lengths);
    } else {
      sequences_.emplace_back(c, slot);
    }
  }

  std::vector<Piece> all() const {
    std::vector<Piece> found;
    if (sequences_.empty()) {
      for (int64_t i = 0; i < rows_; ++i) {
        require(0 <= lengths_[i] && lengths_[i] <= width_,
                "sequence {} is said to have {} elements, but rows have {}", i, lengths_[i],
                width_);
        found.push_back({i * width_, lengths_[i]});
      }
      return found;
    }
    const std::span<const int64_t> offsets = sequences_.front().offsets();
    for (size_t s = 0; s + 1 < offsets.size(); ++s) {
      found.push_back({offsets[s], offsets[s + 1] - offsets[s]});
    }
    return found;
  }

 private:
  int64_t rows_ = 0;
  int64_t width_ = 0;
  LabelsIn lengths_;
  std::vector<Sequences> sequences_;  // one, or none where lengths are given
};

// How many there are; -1 where not known yet. Refuses what is neither.
inline int64_t check_pieces(const InferContext& c, const char* slot, const char* lengths) {
  const Shape& x = c.in(slot).shape;
  if (!c.has_in(lengths)) {
    check_sequences(c, slot);
    return c.in(slot).sequences;
  }
  check_labels(c, lengths);
  require(x.rank() >= 2, "{} must have padded rows, but has shape {}", slot, x);
  const int64_t count = c.in(lengths).shape.numel();
  require(count < 0 || x[0] < 0 || count == x[0],
          "{} of shape {} needs {} lengths, but {} has shape {}", slot, x, x[0], lengths,
          c.in(lengths).shape);
  return x[0];
}

}  // namespace flotilla::ops
