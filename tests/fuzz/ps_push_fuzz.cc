// tests/fuzz/ps_push_fuzz.cc
//
// Pushes that an attacker sends: taken or refused. What was taken gives the same bytes again, up to
// the zeros between its parts.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/ps/change.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace flotilla;
  const auto* first = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> bytes(first, first + size);
  try {
    const std::vector<std::byte> again = ps::encode(ps::decode_push(bytes));
    const std::vector<std::byte> twice = ps::encode(ps::decode_push(again));
    if (again.size() != bytes.size() || again != twice) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
