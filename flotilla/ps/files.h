// flotilla/ps/files.h
//
// Files of the log and of snapshots: whole, forced to the disk, and with errors that name them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "flotilla/base/fd.h"

namespace flotilla::ps {

// Throws kUnavailable, with errno: a full disk may have room again.
[[noreturn]] void fail_to(std::string_view verb, const std::filesystem::path& path);

std::vector<std::byte> read_file(const std::filesystem::path& path);
// `size` bytes from `offset`; refuses a file that does not have them.
std::vector<std::byte> read_piece(const std::filesystem::path& path, uint64_t offset, size_t size);

// Forces the names in a directory to the disk.
void sync_directory(const std::filesystem::path& directory);

// `from` takes the place of the directory `to`, which may be there already and then goes: others
// see the one or the other.
void replace_directory(const std::filesystem::path& from, const std::filesystem::path& to);

// A new file, written from front to back.
class FileWriter {
 public:
  explicit FileWriter(std::filesystem::path path);

  void write(std::span<const std::byte> bytes);
  uint64_t size() const { return size_; }
  // Forces it to the disk; nothing may be written after that.
  void finish();

 private:
  const std::filesystem::path path_;
  Fd file_;
  uint64_t size_ = 0;
};

}  // namespace flotilla::ps
