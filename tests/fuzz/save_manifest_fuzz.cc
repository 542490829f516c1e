// tests/fuzz/save_manifest_fuzz.cc
//
// Manifests of saves: read or refused, and what was read is printed as a text that reads the same.
// No name in them leads out of a folder.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "flotilla/base/crc32c.h"
#include "flotilla/base/error.h"
#include "flotilla/base/save_manifest.h"

namespace {

using namespace flotilla;

void try_text(std::string_view text) {
  try {
    const SaveManifest manifest = parse_save_manifest(text);
    if (parse_save_manifest(print_manifest(manifest)) != manifest) std::abort();
    for (const auto& [name, entry] : manifest) check_file_name(name);
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try_text(text);
  // With the right checksum, so that what stands before it is read too.
  try_text(text + fmt::format("end {:x}\n", crc32c(0, text.data(), text.size())));
  return 0;
}
