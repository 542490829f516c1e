#include "flotilla/base/save_manifest.h"

#include <array>
#include <charconv>

#include "flotilla/base/crc32c.h"
#include "flotilla/base/error.h"
#include "flotilla/base/save_folder.h"

namespace flotilla {
namespace {

constexpr std::string_view kHead = "flotilla manifest 1\n";
constexpr std::string_view kOfFolder = "__manifest__";
constexpr std::string_view kOfStem = ".manifest";
constexpr std::array<std::string_view, 4> kWithStem = {".pdmodel", ".pdiparams", ".pdparams",
                                                       ".pdopt"};

std::string escaped(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '%') {
      text += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      text += c;
    }
  }
  return text;
}

template <typename Number>
Number number(std::string_view text, int base) {
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  require(error == std::errc() && stop == end, "\"{}\" is not a number", text);
  return value;
}

std::string unescaped(std::string_view text) {
  std::string name;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      name += text[i];
      continue;
    }
    name += static_cast<char>(number<uint8_t>(text.substr(i + 1, 2), 16));
    i += 2;
  }
  return name;
}

// The part of a line up to the next space.
std::string_view take_word(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

template <typename Number>
Number take(std::string_view& line, std::string_view label, int base = 10) {
  require(take_word(line) == label, "\"{}\" is missing", label);
  return number<Number>(take_word(line), base);
}

}  // namespace

std::string print_manifest(const SaveManifest& manifest) {
  std::string text(kHead);
  for (const auto& [name, entry] : manifest) {
    text += fmt::format("save {} bytes {} crc {:x} {}\n", entry.save, entry.bytes, entry.crc,
                        escaped(name));
  }
  text += fmt::format("end {:x}\n", crc32c(0, text.data(), text.size()));
  return text;
}

SaveManifest parse_save_manifest(std::string_view text) {
  const size_t end = text.rfind("end ");
  require(text.starts_with(kHead) && end != text.npos && text.ends_with('\n'),
          "the manifest is incomplete");
  const std::string_view last = text.substr(end + 4);
  require(number<uint32_t>(last.substr(0, last.size() - 1), 16) == crc32c(0, text.data(), end),
          "the manifest is damaged: its checksum does not match");
  SaveManifest manifest;
  std::string_view rest = text.substr(kHead.size(), end - kHead.size());
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    ManifestEntry entry;
    entry.save = take<uint64_t>(line, "save");
    entry.bytes = take<uint64_t>(line, "bytes");
    entry.crc = take<uint32_t>(line, "crc", 16);
    const std::string name = unescaped(line);
    check_file_name(name);
    manifest[name] = entry;
  }
  return manifest;
}

std::string manifest_of(std::string_view name) {
  for (const std::string_view ending : kWithStem) {
    if (!name.ends_with(ending)) continue;
    return std::string(name.substr(0, name.size() - ending.size())) + std::string(kOfStem);
  }
  return std::string(kOfFolder);
}

bool is_manifest(std::string_view name) { return name == kOfFolder || name.ends_with(kOfStem); }

void check_file_name(std::string_view name) {
  require(name.find('\0') == name.npos,
          "\"{}\" cannot be the name of a saved file: it contains a NUL character", escaped(name));
  for (std::string_view rest = name;;) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    require(!part.empty() && part != "." && part != "..",
            "\"{}\" cannot be the name of a saved file: it must be a relative path inside the "
            "folder of the save, without empty parts, \".\" or \"..\"; rename the variable, or "
            "save all variables to one file",
            escaped(name));
    if (part.size() == rest.size()) break;
    rest.remove_prefix(part.size() + 1);
  }
  const std::string_view first = name.substr(0, name.find('/'));
  require(!is_manifest(name) && first != kCommitted && !is_staging(first),
          "\"{}\" cannot be the name of a saved file: it is reserved", escaped(name));
}

}  // namespace flotilla
