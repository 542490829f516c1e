// flotilla/ops/sequence/crf.h
//
// A chain of tags with a score for each tag at each step (Emission) and for each tag behind another
// (Transition, [tags + 2, tags]: row 0 for the first tag, row 1 for the last, row 2 + i for what
// stands behind tag i). The steps of a chain are a sequence, or the first Length[i] of padded row
// i.

#pragma once

#include "flotilla/ops/common/pieces.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {

struct Chains {
  int64_t tags = 0;
  Pieces pieces;  // the rows of Emission, one for each step, that a chain consists of

  explicit Chains(PrepareContext& c)
      : tags(c.shape("Transition")[1]), pieces(c, "Emission", "Length") {}
};

// How many chains there are; -1 where not known yet. Refuses shapes that do not fit.
inline int64_t check_chains(const InferContext& c) {
  const Shape &emission = c.in("Emission").shape, &transition = c.in("Transition").shape;
  const int64_t chains = check_pieces(c, "Emission", "Length");
  const int64_t rank = c.has_in("Length") ? 3 : 2;
  require(emission.rank() == rank, "Emission must have {} axes, but has shape {}", rank, emission);
  const int64_t tags = emission[rank - 1];
  require(transition.rank() == 2 && transition[0] == transition[1] + 2 && transition[1] != 0 &&
              fits(tags, transition[1]),
          "Transition must have shape [{}, {}], but has {}", tags + 2, tags, transition);
  if (c.has_in("Label")) {
    check_labels(c, "Label");
    check_count(c, "Label", emission.numel(0, rank - 1));
  }
  return chains;
}

inline Slot chain_lengths() {
  return optional_constant("Length", "steps of each chain, where rows are padded");
}

}  // namespace flotilla::ops
