// flotilla/data/slot_bytes.h
//
// Records of slots as bytes, to travel between the processes of a job.
//
//   parcel := records:i64 slot*                  in the order of the specs; the machine's byte
//   order slot   := length:i64[records] value*         f32 or i64; the lengths add up to the values

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "flotilla/data/slots.h"

namespace flotilla::data {

std::string to_bytes(const SlotBlock& block, std::span<const int64_t> records);

// Appends the records of a parcel. Refuses one that was not made of the same slots; then `out` is
// as it was.
void append_bytes(std::string_view bytes, SlotBlock& out);

}  // namespace flotilla::data
