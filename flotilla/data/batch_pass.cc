#include "flotilla/data/batch_pass.h"

#include "flotilla/base/thread.h"

namespace flotilla::data {

BatchPass::BatchPass(std::vector<Producer> producers, size_t ahead)
    : batches_(ahead), at_work_(producers.size()) {
  if (producers.empty()) batches_.close();
  require_threads(static_cast<int>(producers.size()), "read batches");
  try {
    for (Producer& producer : producers) {
      threads_.emplace_back([this, producer = std::move(producer)] { run(producer); });
    }
  } catch (...) {
    cancel();
    throw;
  }
}

BatchPass::~BatchPass() {
  cancel();
  threads_.clear();
}

void BatchPass::cancel() {
  stopped_ = true;
  batches_.cancel();
}

void BatchPass::run(const Producer& producer) noexcept {
  std::exception_ptr error;  // handed over whole: this thread keeps no part of it
  try {
    producer(*this);
  } catch (...) {
    error = std::current_exception();
  }
  if (error != nullptr) {
    // One that comes because everything is being ended interests nobody.
    if (!stopped_) batches_.fail(std::move(error));
    stopped_ = true;
  }
  if (--at_work_ == 0) batches_.close();
}

}  // namespace flotilla::data
