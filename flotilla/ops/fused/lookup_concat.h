// flotilla/ops/fused/lookup_concat.h
//
// What the attributes of lookup_concat say.

#pragma once

#include <vector>

#include "flotilla/ops/common/move.h"

namespace flotilla::ops {

struct LookupPiece {
  size_t table = 0;
  int64_t offset = 0;   // column of Out
  int64_t columns = 0;  // of Out
  int64_t padding = -1;
};

// The pieces of Ids. REQUIRES: check_pieces has seen the attributes.
template <typename Context>
std::vector<LookupPiece> pieces_of(const Context& c) {
  const Ints tables = c.template attr<Ints>("tables"), offsets = c.template attr<Ints>("offsets"),
             columns = c.template attr<Ints>("columns"),
             paddings = c.template attr<Ints>("padding_idx");
  std::vector<LookupPiece> pieces;
  for (size_t k = 0; k < tables.size(); ++k) {
    pieces.push_back({static_cast<size_t>(tables[k]), offsets[k], columns[k], paddings[k]});
  }
  return pieces;
}

}  // namespace flotilla::ops
