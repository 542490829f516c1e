// tests/fuzz/slot_bytes_fuzz.cc
//
// Parcels of records that another process claims to have made: taken or refused. What was taken
// gives the same bytes again, and a refusal leaves the block as it was.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include "flotilla/base/error.h"
#include "flotilla/data/slot_bytes.h"

namespace {

void check(bool ok) {
  if (!ok) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace flotilla;
  using namespace flotilla::data;
  const std::vector<SlotSpec> specs = {{"ids", i64, {1}, 1}, {"x", f32, {2}, 0}};
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  SlotBlock block(specs);
  try {
    append_bytes(bytes, block);
    std::vector<int64_t> all(static_cast<size_t>(block.records()));
    std::iota(all.begin(), all.end(), int64_t{0});
    check(to_bytes(block, all) == bytes);
  } catch (const Error&) {
    check(block.records() == 0 && block.column(0).size() == 0 && block.column(1).size() == 0);
  }
  return 0;
}
