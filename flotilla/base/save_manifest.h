// flotilla/base/save_manifest.h
//
// The list of the files that saves have written, which lies beside them. Paddle does not look at
// it.
//
//   <folder>/__manifest__        of the files of a folder
//   <folder>/<stem>.manifest     of <stem>.pdmodel, .pdiparams, .pdparams and .pdopt
//
//   manifest := "flotilla manifest 1" {file} "end" crc
//   file     := "save" n "bytes" n "crc" crc name
//
// one line each. Files with the same number were written by one save. A crc is a CRC-32C, in hex;
// the last one is that of all before it. A name has "/" between folders; its control characters
// and "%" are written as "%" and two hex digits.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace flotilla {

struct ManifestEntry {
  uint64_t save = 0;
  uint64_t bytes = 0;
  uint32_t crc = 0;

  bool operator==(const ManifestEntry&) const = default;
};

using SaveManifest = std::map<std::string, ManifestEntry, std::less<>>;  // by name

std::string print_manifest(const SaveManifest& manifest);
// Refuses a text that is not whole.
SaveManifest parse_save_manifest(std::string_view text);

// The manifest that lists a file, both relative to the folder of the save.
std::string manifest_of(std::string_view name);
bool is_manifest(std::string_view name);

// Names of variables become names of files. Refuses one that is not that of a file within the
// folder of a save ("", "/x", "../x", "a//b", one with a NUL), or that saves need themselves.
void check_file_name(std::string_view name);

}  // namespace flotilla
