// flotilla/data/criteo.h
//
// Criteo's click log, read without a Python process.
//
//   record  := label (tab integer){13} (tab category){26} newline
//   integer := a whole number, or nothing           category := letters and digits, or nothing

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "flotilla/data/slots.h"

namespace flotilla::data {

inline constexpr int kCriteoIntegers = 13;
inline constexpr int kCriteoCategories = 26;

struct CriteoOptions {
  // Ids of categories lie in [0, hash_dim).
  int64_t hash_dim = 1000001;

  // Integer i becomes (x - minimum[i]) / range[i], and 0 where there is none: the numbers of
  // Paddle's Wide&Deep example.
  std::array<float, kCriteoIntegers> minimum = {0, -3};
  std::array<float, kCriteoIntegers> range = {20, 603, 100, 50, 64000, 500, 100,
                                              50, 500, 10,  10, 10,    50};
};

// dense_input [13] f32, C1 to C26 (sequences of one id, i64), label [1] i64: the order in which
// Paddle's Wide&Deep example feeds them.
std::vector<SlotSpec> criteo_slots();

// The id of what stands in category `field`, 1 to 26; also of the empty text. It mixes the field
// into the hash, so that equal texts in two fields differ, and is the same on every machine and in
// every run. (The example hashes with Python's hash(), which changes from process to process.)
int64_t criteo_id(int field, std::string_view text, int64_t hash_dim);

// Fills the slots that `specs` names, in that order: "label" or "click"; a dense f32 slot of 13
// values ("dense_input", "dense_feature", whatever its name); "I1" to "I13", one value each; "C1"
// to "C26", dense or sequences of one id. Refuses other slots.
std::unique_ptr<RecordParser> criteo_parser(std::vector<SlotSpec> specs = criteo_slots(),
                                            const CriteoOptions& options = {});

}  // namespace flotilla::data
