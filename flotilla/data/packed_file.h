// flotilla/data/packed_file.h
//
// A file that is plain or packed with gzip, read from front to back. Whether it is packed is seen
// from its first bytes, not from its name.

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace flotilla::data {

// Thread safety: none.
class PackedFile {
 public:
  // Refuses what is missing, is not a regular file or cannot be read.
  explicit PackedFile(const std::filesystem::path& file);
  ~PackedFile();
  PackedFile(const PackedFile&) = delete;
  PackedFile& operator=(const PackedFile&) = delete;

  const std::string& name() const { return name_; }
  bool packed() const { return packed_; }
  // Bytes as they lie on disk.
  uint64_t size() const { return size_; }
  // Unpacked bytes read so far.
  uint64_t position() const { return position_; }

  // Reads until `into` is full or the file ends, and returns the number of bytes. Refuses packed
  // bytes that are corrupt or cut short.
  size_t read(std::span<uint8_t> into);

 private:
  void check() const;

  struct Stream;
  const std::string name_;
  uint64_t size_ = 0;
  std::unique_ptr<Stream> stream_;
  bool packed_ = false;
  uint64_t position_ = 0;
};

}  // namespace flotilla::data
