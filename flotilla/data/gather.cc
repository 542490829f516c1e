#include "flotilla/data/gather.h"

#include "flotilla/base/error.h"
#include "flotilla/base/thread.h"

namespace flotilla::data {

Gatherer::Gatherer(Columns columns, int64_t ahead)
    : columns_(std::move(columns)),
      size_(samples_of(columns_)),
      ahead_(ahead),
      work_(static_cast<size_t>(ahead)),
      batches_(static_cast<size_t>(ahead)),
      thread_(start_thread("gathers batches", [this] { run(); })) {}

Gatherer::~Gatherer() {
  work_.cancel();
  batches_.cancel();
}

void Gatherer::submit(std::vector<int64_t> indices, std::vector<std::vector<int32_t>> drawn) {
  invariant(under_way_ < ahead_, "{} batches are already in flight", under_way_);
  check_indices(indices, size_);
  for (size_t c = 0; c < columns_.size(); ++c) {
    const auto wanted = static_cast<size_t>(columns_[c]->params()) * indices.size();
    const size_t found = c < drawn.size() ? drawn[c].size() : 0;
    require(found == wanted, "field {} needs {} drawn numbers for {} samples, but got {}", c,
            wanted, indices.size(), found);
  }
  ++under_way_;
  work_.push({std::move(indices), std::move(drawn)});
}

Batch Gatherer::next() {
  invariant(under_way_ > 0, "no batch is in flight");
  --under_way_;
  std::optional<Batch> batch = batches_.pop();
  invariant(batch.has_value(), "the thread that gathers has ended");
  return *std::move(batch);
}

Batch Gatherer::gather(const Work& work) {
  Batch batch;
  for (size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = *columns_[c];
    std::vector<int64_t> extents = {static_cast<int64_t>(work.indices.size())};
    extents.insert(extents.end(), column.shape().begin(), column.shape().end());
    Tensor tensor = buffers_.make(column.dtype(), Shape(std::move(extents)));
    const std::span<const int32_t> drawn =
        c < work.drawn.size() ? std::span(work.drawn[c]) : std::span<const int32_t>();
    column.gather(work.indices, drawn, tensor.raw());
    batch.push_back(std::move(tensor));
  }
  return batch;
}

void Gatherer::run() {
  try {
    while (const std::optional<Work> work = work_.pop()) {
      if (!batches_.push(gather(*work))) return;
    }
    batches_.close();
  } catch (...) {
    batches_.fail(std::current_exception());
  }
}

}  // namespace flotilla::data
