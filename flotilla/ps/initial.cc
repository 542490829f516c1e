#include "flotilla/ps/initial.h"

#include <algorithm>
#include <array>

#include "flotilla/base/random_stream.h"

namespace flotilla::ps {
namespace {

// The four numbers that come from one block of the stream.
std::array<float, 4> four_of(const Initial& initial, const std::array<uint32_t, 4>& words) {
  std::array<float, 4> four = {};
  if (initial.kind == Initial::kNormal) {
    const auto [a, b] = normal_pair<float>(words[0], words[1]);
    const auto [c, d] = normal_pair<float>(words[2], words[3]);
    four = {a, b, c, d};
    for (float& value : four) value = initial.a + initial.b * value;
    return four;
  }
  for (size_t i = 0; i < 4; ++i) {
    const float u = unit_number<float>(words[i]);
    four[i] = initial.kind == Initial::kUniform ? initial.a + (initial.b - initial.a) * u
                                                : initial.a + initial.b * truncated_normal(u);
  }
  return four;
}

// Elements [first, first + values.size()) of the stream, modulo 2^64; `first` need not be a
// multiple of four.
void fill(const TableSpec& table, uint64_t first, std::span<float> values) {
  const Initial& initial = table.initial;
  if (initial.kind == Initial::kConstant) {
    std::fill(values.begin(), values.end(), initial.a);
    return;
  }
  const RandomStream stream = {table.seed, table.stream};
  for (size_t done = 0; done < values.size();) {
    const uint64_t element = first + done;
    const std::array<float, 4> four = four_of(initial, stream.at(element / 4));
    for (size_t i = element % 4; i < 4 && done < values.size(); ++i) values[done++] = four[i];
  }
}

// Blocks of four elements end at 2^62: this is apart from what rows draw.
constexpr uint64_t kAdmissionIndex = uint64_t{1} << 63;

}  // namespace

void fill_initial(const TableSpec& table, int64_t key, std::span<float> row) {
  fill(table, static_cast<uint64_t>(key) * static_cast<uint64_t>(table.width), row);
}

void fill_initial_dense(const TableSpec& table, const Slice& slice, std::span<float> values) {
  fill(table, static_cast<uint64_t>(slice.begin), values);
}

bool admits(const TableSpec& table, int64_t key, uint32_t appearance) {
  switch (table.admission.kind) {
    case Admission::kAll:
      return true;
    case Admission::kCount:
      return appearance >= table.admission.value;
    case Admission::kProbability: {
      const RandomStream stream = {table.seed, static_cast<uint64_t>(key)};
      return unit_number<double>(stream.at(kAdmissionIndex + appearance)[0]) <
             table.admission.value;
    }
  }
  return true;
}

}  // namespace flotilla::ps
