// flotilla/ops/common/pieces.h
//
// Sequences that either a LoD names, or that begin the rows of a padded matrix: then a list of
// lengths says how far they go, or they fill the rows.

#pragma once

#include <vector>

#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/sequences.h"

namespace flotilla::ops {

struct Piece {
  int64_t begin = 0;
  int64_t length = 0;
};

class Pieces {
 public:
  // Padded where `lengths` is given, a slot that may hold no variable, or where `filled` says so.
  Pieces(PrepareContext& c, const char* slot, const char* lengths, bool filled = false)
      : padded_(filled || c.has(lengths)),
        rows_(c.shape(slot)[0]),
        width_(padded_ ? c.shape(slot)[1] : 0),
        lengths_(c.has(lengths) ? LabelsIn(c, lengths) : LabelsIn()),
        filled_(filled),
        sequences_(c, slot) {}

  std::vector<Piece> all() const {
    std::vector<Piece> found;
    if (!padded_) {
      sequences_.for_each([&](int64_t, int64_t begin, int64_t end) {
        found.push_back({begin, end - begin});
      });
    }
    for (int64_t i = 0; padded_ && i < rows_; ++i) {
      const int64_t length = filled_ ? width_ : lengths_[i];
      require(0 <= length && length <= width_,
              "the length of sequence {} is {}, but rows have {} elements", i, length, width_);
      found.push_back({i * width_, length});
    }
    return found;
  }

 private:
  bool padded_;
  int64_t rows_;
  int64_t width_;
  LabelsIn lengths_;
  bool filled_;
  Sequences sequences_;
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
  require(fits(count, x[0]), "{} of shape {} needs {} lengths, but {} has shape {}", slot, x, x[0],
          lengths, c.in(lengths).shape);
  return x[0];
}

}  // namespace flotilla::ops
