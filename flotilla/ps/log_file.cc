#include "flotilla/ps/log_file.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "flotilla/base/crc32c.h"
#include "flotilla/base/error.h"
#include "flotilla/ps/bytes.h"

namespace flotilla::ps {
namespace {

constexpr std::string_view kMagic = "FLTLOG01";
constexpr std::string_view kPrefix = "log.";

struct Header {
  uint32_t length = 0;
  uint32_t crc = 0;
  uint64_t number = 0;
  uint32_t kind = 0;
  uint32_t zero = 0;
};

Header header_at(std::span<const std::byte> bytes) {
  ByteReader from(bytes);
  Header header;
  header.length = from.get<uint32_t>();
  header.crc = from.get<uint32_t>();
  header.number = from.get<uint64_t>();
  header.kind = from.get<uint32_t>();
  header.zero = from.get<uint32_t>();
  return header;
}

uint32_t whole_crc(uint32_t body_crc, uint32_t length, uint64_t number, uint32_t kind) {
  std::byte rest[16];
  ByteWriter to(rest);
  to.put(length);
  to.put(number);
  to.put(kind);
  return crc32c(body_crc, rest, sizeof rest);
}

// The record at `at`, if there is a good one.
std::optional<Record> record_at(std::span<const std::byte> bytes, size_t at) {
  if (bytes.size() - at < kRecordHeader) return std::nullopt;
  const Header header = header_at(bytes.subspan(at));
  if (header.zero != 0 || bytes.size() - at - kRecordHeader < padded(header.length)) {
    return std::nullopt;
  }
  const std::span<const std::byte> body = bytes.subspan(at + kRecordHeader, header.length);
  const uint32_t crc =
      whole_crc(crc32c(0, body.data(), body.size()), header.length, header.number, header.kind);
  if (crc != header.crc) return std::nullopt;
  return Record{header.number, static_cast<RecordKind>(header.kind), body};
}

// Where a good record stands behind `at`; its number must be plausible, which spares most places
// the checksum.
std::optional<size_t> next_good(std::span<const std::byte> bytes, size_t at, uint64_t expected) {
  for (size_t next = at + 8; next + kRecordHeader <= bytes.size(); next += 8) {
    const uint64_t number = header_at(bytes.subspan(next)).number;
    if (number < expected || number - expected > bytes.size() / kRecordHeader) continue;
    if (record_at(bytes, next)) return next;
  }
  return std::nullopt;
}

}  // namespace

std::string log_name(uint64_t first) { return fmt::format("{}{:020}", kPrefix, first); }

uint64_t first_of_log(std::string_view name) {
  if (!name.starts_with(kPrefix)) return 0;
  name.remove_prefix(kPrefix.size());
  uint64_t first = 0;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), first);
  return error == std::errc() && stop == name.data() + name.size() && name.size() == 20 ? first : 0;
}

void write_log_header(std::span<std::byte, kLogHeader> to, uint64_t first) {
  ByteWriter writer(to);
  writer.put_bytes(std::as_bytes(std::span(kMagic)));
  writer.put(first);
}

void write_record_header(std::span<std::byte, kRecordHeader> to, const Record& record,
                         uint32_t body_crc) {
  const auto length = static_cast<uint32_t>(record.body.size());
  const auto kind = static_cast<uint32_t>(record.kind);
  ByteWriter writer(to);
  writer.put(length);
  writer.put(whole_crc(body_crc, length, record.number, kind));
  writer.put(record.number);
  writer.put(kind);
  writer.put<uint32_t>(0);
}

size_t scan_log(std::span<const std::byte> bytes, const std::string& file, uint64_t first,
                bool last, const std::function<void(const Record&)>& f) {
  // One that was begun just before a power cut may be all zeros.
  const bool blank =
      std::all_of(bytes.begin(), bytes.end(), [](std::byte one) { return one == std::byte{0}; });
  if (last && (blank || bytes.size() < kLogHeader)) return 0;
  std::byte header[kLogHeader];
  write_log_header(header, first);
  require(bytes.size() >= kLogHeader && std::memcmp(bytes.data(), header, kLogHeader) == 0,
          "{} does not begin like the log of record {}", file, first);
  uint64_t expected = first;
  for (size_t at = kLogHeader; at < bytes.size(); ++expected) {
    const std::optional<Record> record = record_at(bytes, at);
    if (!record) {
      const std::optional<size_t> next = next_good(bytes, at, expected);
      require(last && !next,
              "{} is damaged at byte {}, where record {} is expected; it is intact again from byte "
              "{} on",
              file, at, expected, next.value_or(bytes.size()));
      return at;
    }
    require(record->number == expected, "{} has record {} at byte {}, where {} is expected", file,
            record->number, at, expected);
    f(*record);
    at += kRecordHeader + padded(record->body.size());
  }
  return bytes.size();
}

}  // namespace flotilla::ps
