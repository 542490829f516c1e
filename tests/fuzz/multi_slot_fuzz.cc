// tests/fuzz/multi_slot_fuzz.cc
//
// Any text is records or is refused, and records that are written out read back the same.

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

#include "records.h"

namespace flotilla::data {
namespace {

std::string print(const SlotBlock& block) {
  std::string text;
  for (int64_t r = 0; r < block.records(); ++r) {
    for (int64_t s = 0; s < block.slots(); ++s) {
      const SlotColumn& column = block.column(s);
      text += fmt::format("{}{}", s == 0 ? "" : " ", column.end(r) - column.begin(r));
      if (column.dtype() == f32) {
        for (const float x : column.of<float>(r)) text += fmt::format(" {}", x);
      } else {
        for (const int64_t x : column.of<int64_t>(r)) text += fmt::format(" {}", x);
      }
    }
    text += "\n";
  }
  return text;
}

}  // namespace
}  // namespace flotilla::data

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace flotilla;
  using namespace flotilla::data;
  static const auto parser = multi_slot_parser({
      {.name = "x", .dtype = f32, .shape = {2}},
      {.name = "ids", .dtype = i64, .lod_level = 1},
      {.name = "pairs", .dtype = f32, .shape = {2}, .lod_level = 1},
      {.name = "y", .dtype = i64},
  });
  const SlotBlock block = check_parser(*parser, {reinterpret_cast<const char*>(data), size});
  int64_t bad = 0;
  const SlotBlock again = parse_all(*parser, print(block), bad);
  // A nan may lose its sign and payload on the way, so those are only counted.
  if (bad != 0 || block.records() != again.records()) __builtin_trap();
  if (print(block) != print(again)) __builtin_trap();
  return 0;
}
