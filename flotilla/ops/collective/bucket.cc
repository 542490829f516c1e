#include "flotilla/ops/collective/bucket.h"

#include "flotilla/ops/common/move.h"

namespace flotilla::ops {
namespace {

// As the plan spaces them.
int64_t with_gap(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

Bucket::Bucket(PrepareContext& c)
    : parts_(c.exchanged("X", "Out")), dtype_(c.dtype("X")), element_(dtype_) {
  for (size_t i = 0; i < parts_.size(); ++i) {
    offsets_.push_back(with_gap(bytes_));
    sizes_.push_back(parts_[i].count * size_of(c.dtype("X", i)));
    bytes_ = offsets_.back() + sizes_.back();
    if (c.dtype("X", i) != dtype_) element_ = comm::kBytes;
  }
}

bool Bucket::in_one_piece() const {
  const char* base = parts_.front().in.data();
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].in.data() != base + offsets_[i]) return false;
    if (parts_[i].out.data() != parts_[i].in.data()) return false;
  }
  return true;
}

template <typename F>
void Bucket::work_on(F f) {
  if (in_one_piece()) return f(parts_.front().out.data());
  if (buffer_ == nullptr) buffer_ = Buffer::make(bytes_);
  char* memory = static_cast<char*>(buffer_->data());
  for (size_t i = 0; i < parts_.size(); ++i) {
    copy_bytes(memory + offsets_[i], parts_[i].in.data(), sizes_[i]);
  }
  f(memory);
  for (size_t i = 0; i < parts_.size(); ++i) {
    copy_bytes(parts_[i].out.data(), memory + offsets_[i], sizes_[i]);
  }
}

void Bucket::all_reduce(comm::Group& group, comm::Reduce how) {
  const int64_t count = bytes_ / size_of(dtype_);
  if (parts_.size() == 1) {
    return group.all_reduce(parts_[0].in.data(), parts_[0].out.data(), count, dtype_, how);
  }
  work_on([&](char* memory) { group.all_reduce(memory, memory, count, dtype_, how); });
}

void Bucket::broadcast(comm::Group& group, int root) {
  work_on([&](char* memory) { group.broadcast(memory, bytes_ / element_.bytes, element_, root); });
}

void Bucket::keep() {
  for (size_t i = 0; i < parts_.size(); ++i) {
    copy_bytes(parts_[i].out.data(), parts_[i].in.data(), sizes_[i]);
  }
}

}  // namespace flotilla::ops
