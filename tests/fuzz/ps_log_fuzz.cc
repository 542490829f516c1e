// tests/fuzz/ps_log_fuzz.cc
//
// Logs of parameter servers. Any bytes are read or refused. A log that is cut anywhere gives the
// records before the cut; one with a changed byte gives a part of its records from the front, or is
// refused: never anything else.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "flotilla/base/crc32c.h"
#include "flotilla/base/error.h"
#include "flotilla/ps/change.h"
#include "flotilla/ps/log_file.h"

namespace {

using namespace flotilla;
using namespace flotilla::ps;

using Bytes = std::vector<std::byte>;

void check(bool ok) {
  if (!ok) std::abort();
}

void read_anything(const Bytes& bytes) {
  for (const bool last : {true, false}) {
    try {
      scan_log(bytes, "f", 1, last, [](const Record& record) {
        if (record.kind == RecordKind::kPush) decode_push(record.body);
      });
    } catch (const Error&) {
    }
  }
}

void append_record(Bytes& log, uint64_t number, std::span<const std::byte> body) {
  std::byte header[kRecordHeader];
  write_record_header(header, {number, RecordKind::kPush, body},
                      crc32c(0, body.data(), body.size()));
  log.insert(log.end(), header, header + sizeof header);
  log.insert(log.end(), body.begin(), body.end());
  log.resize(padded(log.size()));
}

// The bodies that a log gives; they must be the first of `bodies`.
size_t count_records(const Bytes& log, const std::vector<Bytes>& bodies) {
  size_t count = 0;
  scan_log(log, "f", 1, true, [&](const Record& record) {
    check(count < bodies.size());
    const Bytes& body = bodies[count++];
    check(record.body.size() == body.size() &&
          (body.empty() || std::memcmp(record.body.data(), body.data(), body.size()) == 0));
  });
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  read_anything(Bytes(bytes, bytes + size));
  if (size < 5) return 0;
  // Four bytes say where the log is cut and changed, the rest are bodies of up to 61 bytes.
  const size_t where = data[0] | static_cast<size_t>(data[1]) << 8;
  const size_t cut = data[2] | static_cast<size_t>(data[3]) << 8;
  std::vector<Bytes> bodies;
  for (size_t at = 4; at < size;) {
    const size_t length = std::min<size_t>(data[at] % 62, size - at);
    bodies.emplace_back(bytes + at, bytes + at + length);
    at += length + 1;
  }
  Bytes log(kLogHeader);
  write_log_header(std::span<std::byte, kLogHeader>(log.data(), kLogHeader), 1);
  std::vector<size_t> ends;
  for (size_t i = 0; i < bodies.size(); ++i) {
    append_record(log, i + 1, bodies[i]);
    ends.push_back(log.size());
  }
  check(count_records(log, bodies) == bodies.size());
  const Bytes shorter(log.begin(), log.begin() + static_cast<long>(cut % (log.size() + 1)));
  size_t whole = 0;
  while (whole < ends.size() && ends[whole] <= shorter.size()) ++whole;
  check(count_records(shorter, bodies) == whole);
  log[where % log.size()] ^= std::byte{data[4]};
  try {
    count_records(log, bodies);
  } catch (const Error&) {
  }
  return 0;
}
