#include "flotilla/base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace flotilla {
namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = make_table();

[[maybe_unused]] uint32_t by_table(uint32_t crc, const uint8_t* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) crc = (crc >> 8) ^ kTable[(crc ^ bytes[i]) & 0xff];
  return crc;
}

#if defined(__x86_64__)
// The instruction gives a result three cycles after its operands, and one can begin in each: three
// checksums of pieces behind each other are made at the same time.
constexpr size_t kPiece = 4096;

// What kPiece zeros behind it do to a checksum, for each of its bytes: a linear map, so that it is
// enough to know what it does to every bit.
using Shift = std::array<std::array<uint32_t, 256>, 4>;

constexpr uint32_t product(const std::array<uint32_t, 32>& map, uint32_t crc) {
  uint32_t sum = 0;
  for (size_t bit = 0; bit < 32; ++bit) sum ^= ((crc >> bit) & 1) != 0 ? map[bit] : 0;
  return sum;
}

constexpr Shift make_shift() {
  std::array<uint32_t, 32> map = {0x82f63b78u};  // of one zero bit
  for (size_t bit = 1; bit < 32; ++bit) map[bit] = uint32_t{1} << (bit - 1);
  for (size_t bits = 1; bits < kPiece * 8; bits *= 2) {
    std::array<uint32_t, 32> twice = {};
    for (size_t bit = 0; bit < 32; ++bit) twice[bit] = product(map, map[bit]);
    map = twice;
  }
  Shift shift = {};
  for (uint32_t place = 0; place < 4; ++place) {
    for (uint32_t byte = 0; byte < 256; ++byte)
      shift[place][byte] = product(map, byte << 8 * place);
  }
  return shift;
}

uint32_t shifted(uint64_t crc) {
  static constexpr Shift kShift = make_shift();
  return kShift[0][crc & 0xff] ^ kShift[1][crc >> 8 & 0xff] ^ kShift[2][crc >> 16 & 0xff] ^
         kShift[3][crc >> 24 & 0xff];
}

uint64_t word_at(const uint8_t* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, 8);
  return word;
}

__attribute__((target("sse4.2"))) uint32_t by_instruction(uint32_t crc, const uint8_t* bytes,
                                                          size_t size) {
  for (; size >= 3 * kPiece; size -= 3 * kPiece, bytes += 3 * kPiece) {
    uint64_t first = crc, second = 0, third = 0;
    for (size_t i = 0; i < kPiece; i += 8) {
      first = _mm_crc32_u64(first, word_at(bytes + i));
      second = _mm_crc32_u64(second, word_at(bytes + kPiece + i));
      third = _mm_crc32_u64(third, word_at(bytes + 2 * kPiece + i));
    }
    crc = shifted(shifted(first) ^ second) ^ static_cast<uint32_t>(third);
  }
  uint64_t wide = crc;
  for (; size >= 8; size -= 8, bytes += 8) wide = _mm_crc32_u64(wide, word_at(bytes));
  crc = static_cast<uint32_t>(wide);
  for (; size > 0; --size, ++bytes) crc = _mm_crc32_u8(crc, *bytes);
  return crc;
}
#endif

}  // namespace

uint32_t crc32c(uint32_t crc, const void* bytes, size_t size) {
  const auto* first = static_cast<const uint8_t*>(bytes);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return ~by_instruction(~crc, first, size);
#endif
  return ~by_table(~crc, first, size);
}

}  // namespace flotilla
