// tests/fuzz/ps_text_fuzz.cc
//
// Descriptions of tables and manifests of snapshots: read or refused, and what was read is printed
// as a text that reads the same.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "flotilla/base/crc32c.h"
#include "flotilla/base/error.h"
#include "flotilla/ps/snapshot.h"
#include "flotilla/ps/table.h"

namespace {

using namespace flotilla;
using namespace flotilla::ps;

template <typename Parse>
void try_text(std::string_view text, Parse parse) {
  try {
    const std::string printed = print(parse(text));
    if (print(parse(printed)) != printed) std::abort();
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try_text(text, parse_table);
  try_text(text, parse_manifest);
  // With the right checksum, so that what stands before it is read too.
  try_text(text + fmt::format("end {:x}\n", crc32c(0, text.data(), text.size())), parse_manifest);
  return 0;
}
