#include "flotilla/data/join.h"

#include <algorithm>
#include <cstring>

#include "flotilla/base/error.h"

namespace flotilla::data {
namespace {

bool same_rows(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape().rank() == b.shape().rank() && a.shape().rank() > 0 &&
         a.lod().size() == b.lod().size() &&
         std::equal(a.shape().begin() + 1, a.shape().end(), b.shape().begin() + 1);
}

// The offsets of `more` go on where those of `lod` end.
void append(LoD& lod, const LoD& more) {
  for (size_t level = 0; level < lod.size(); ++level) {
    const int64_t base = lod[level].back();
    for (size_t i = 1; i < more[level].size(); ++i) lod[level].push_back(base + more[level][i]);
  }
}

}  // namespace

Tensor join_rows(std::span<const Tensor> parts) {
  const Tensor& first = parts.front();
  Shape shape = first.shape();
  LoD lod = first.lod();
  for (size_t i = 1; i < parts.size(); ++i) {
    require(same_rows(first, parts[i]),
            "the batches of all places must be alike but for their number of rows, but one holds "
            "{}{} and another {}{}",
            first.dtype(), first.shape(), parts[i].dtype(), parts[i].shape());
    shape[0] += parts[i].shape()[0];
    append(lod, parts[i].lod());
  }
  Tensor joined(first.dtype(), std::move(shape));
  char* to = static_cast<char*>(joined.raw());
  for (const Tensor& part : parts) {
    const Tensor plain = part.plain();
    std::memcpy(to, plain.raw(), static_cast<size_t>(plain.bytes()));
    to += plain.bytes();
  }
  joined.set_lod(std::move(lod));
  return joined;
}

}  // namespace flotilla::data
