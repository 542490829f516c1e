// flotilla/ir/structure.h
//
// What any program must satisfy before it is walked, wherever it came from. Programs are read from
// files and sockets, so every walk must end, and every product of extents must fit.

#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/ir/program.h"

namespace flotilla {

// Control flow nested deeper is refused, so that recursion over blocks is safe.
inline constexpr int32_t kMaxBlockDepth = 256;
// Blocks are refused where running each from each op that names it takes more visits than this.
inline constexpr int64_t kMaxBlockVisits = 100000;
inline constexpr int32_t kMaxLodLevel = 64;

// The blocks that `op` runs: its attributes of the kinds block and blocks, in order of name.
std::vector<int32_t> sub_blocks(const Op& op);
// The one that its attribute sub_block names. REQUIRES: the op stands in a program
Block& sub_block(const Op& op);

// The variables that the ops of a block, and of the blocks that those run, read and write.
struct NamesInside {
  std::set<std::string, std::less<>> read = {};
  std::set<std::string, std::less<>> written = {};
};
NamesInside names_inside(const Block& block);
// Of all blocks that `op` runs. REQUIRES: the op stands in a program
NamesInside names_inside(const Op& op);

// Refuses forward blocks and sub-blocks that are not there, a block that runs itself, and blocks
// nested too deep, naming the place.
void check_blocks(const Program& program);

// Refuses extents below -1, and extents whose product, zeros left out, is more than kMaxElements.
// `what` opens the sentence.
void check_extents(const Shape& shape, std::string_view what);

// "block 0, op #3 (softmax)"
std::string place_of(const Block& block, size_t position);

}  // namespace flotilla
