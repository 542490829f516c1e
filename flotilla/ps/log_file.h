// flotilla/ps/log_file.h
//
// One file of the write-ahead log, as bytes. Little endian; everything starts at a multiple of 8.
//
//   file   := "FLTLOG01" first:u64 record*
//   record := length:u32 crc:u32 number:u64 kind:u32 zero:u32 body[length] zeros, up to 8
//
// Records are numbered from 1 over all files, without gaps; the file's name is log.<first>. The
// checksum (CRC-32C) is that of the body followed by length, number and kind.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace flotilla::ps {

enum class RecordKind : uint32_t {
  kTable = 1,   // a table is created; the body is its text
  kPush = 2,    // change.h
  kShrink = 3,  // store.cc
  kValues = 4,  // the tables have their first values; store.cc
};

struct Record {
  uint64_t number = 0;
  RecordKind kind = RecordKind::kPush;
  std::span<const std::byte> body = {};
};

inline constexpr size_t kLogHeader = 16;
inline constexpr size_t kRecordHeader = 24;
inline constexpr size_t kMostBody = size_t{1} << 30;

std::string log_name(uint64_t first);
// The number in a log's name; 0 for other files.
uint64_t first_of_log(std::string_view name);

inline size_t padded(size_t bytes) { return (bytes + 7) / 8 * 8; }
void write_log_header(std::span<std::byte, kLogHeader> to, uint64_t first);
// `body_crc` is the checksum of the body alone.
void write_record_header(std::span<std::byte, kRecordHeader> to, const Record& record,
                         uint32_t body_crc);

// Calls f for every record, in order, and returns where the last good one ends. In the `last` file
// of a log a write may have been cut short: bytes behind the last good record are left over where
// no good record follows them. Everything else that is not as it should be is refused, with file
// and byte.
// REQUIRES: bytes start at a multiple of 8
size_t scan_log(std::span<const std::byte> bytes, const std::string& file, uint64_t first,
                bool last, const std::function<void(const Record&)>& f);

}  // namespace flotilla::ps
