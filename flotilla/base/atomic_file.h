// flotilla/base/atomic_file.h
//
// A file that others see as it was or as it will be, never half written, even after a power cut.

#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace flotilla {

// Call order: write* commit. What is written goes to a temporary file in the same directory, which
// commit() syncs and renames; without commit() it is removed again. Every failure is an Error that
// names the file.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path file);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const uint8_t> bytes);
  void write(std::string_view text);

  void commit();

 private:
  [[noreturn]] void fail() const;  // with errno

  const std::filesystem::path file_;
  std::filesystem::path temporary_;  // empty once it is renamed
  int fd_ = -1;
};

}  // namespace flotilla
