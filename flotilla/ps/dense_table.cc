#include "flotilla/ps/dense_table.h"

#include <algorithm>
#include <cstring>

#include "flotilla/base/error.h"
#include "flotilla/ps/floats.h"
#include "flotilla/ps/initial.h"

namespace flotilla::ps {

DenseTable::DenseTable(const TableSpec& table, const Share& share)
    : table_(table),
      rule_(table),
      slice_(slice_of(table, share)),
      values_(static_cast<size_t>(slice_.size())),
      state_(static_cast<size_t>(rule_.state_size(slice_.size()))) {
  fill_initial_dense(table, slice_, values_);
  rule_.start(state_, slice_.size());
}

void DenseTable::push(std::span<const float> values, const Effect& effect) {
  if (effect.lsn <= lsn_) return;
  std::span<const float> given = values;
  const bool gradient = effect.action == Action::kGradient;
  if ((effect.scale != 1 && effect.action != Action::kAssign) || (gradient && rule_.decays())) {
    grad_.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i) grad_[i] = values[i] * effect.scale;
    given = grad_;
  }
  if (!all_finite(given.data(), given.size())) {
    warn_of_refusal(table_, ++refused_, "a push");
    return;
  }
  switch (effect.action) {
    case Action::kGradient:
      if (rule_.decays()) rule_.decay(values_, grad_);
      rule_.apply(values_, given, state_, effect.round);
      break;
    case Action::kDelta:
      for (size_t i = 0; i < given.size(); ++i) values_[i] += given[i];
      break;
    case Action::kAssign:
      std::copy(given.begin(), given.end(), values_.begin());
      break;
  }
  ++pushed_;
}

std::vector<std::byte> DenseTable::save() const {
  const std::span<const std::byte> values = std::as_bytes(std::span(values_));
  const std::span<const std::byte> state = std::as_bytes(std::span(state_));
  std::vector<std::byte> bytes(values.begin(), values.end());
  bytes.insert(bytes.end(), state.begin(), state.end());
  return bytes;
}

void DenseTable::load(std::span<const std::byte> bytes, const Slice& slice, uint64_t lsn) {
  const auto arrays = static_cast<size_t>(1 + rule_.state_size(1));
  const auto n = static_cast<size_t>(slice.size());
  require(bytes.size() == arrays * n * sizeof(float),
          "{} floats of table {} with their state have {} bytes, but there are {}", n, table_.name,
          arrays * n * sizeof(float), bytes.size());
  const int64_t begin = std::max(slice.begin, slice_.begin);
  const int64_t end = std::min(slice.end, slice_.end);
  if (begin >= end) return;
  const auto count = static_cast<size_t>(end - begin);
  const auto own = static_cast<size_t>(slice_.size());
  for (size_t i = 0; i < arrays; ++i) {
    float* to = i == 0 ? values_.data() : state_.data() + (i - 1) * own;
    const std::byte* from =
        bytes.data() + (i * n + static_cast<size_t>(begin - slice.begin)) * sizeof(float);
    std::memcpy(to + (begin - slice_.begin), from, count * sizeof(float));
  }
  lsn_ = lsn;
}

void DenseTable::take(DenseTable& other) {
  values_.swap(other.values_);
  state_.swap(other.state_);
  lsn_ = other.lsn_;
}

}  // namespace flotilla::ps
