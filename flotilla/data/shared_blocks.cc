#include "flotilla/data/shared_blocks.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/mutex.h"

namespace flotilla::data {
namespace {

struct Mapping {
  Mapping(void* data, int64_t bytes) : data(data), bytes(bytes) {}
  ~Mapping() { munmap(data, static_cast<size_t>(bytes)); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  void* const data;
  const int64_t bytes;
};

}  // namespace

struct SharedBlocks::State {
  Mutex mutex;
  std::map<int64_t, std::shared_ptr<Mapping>> blocks FLT_GUARDED_BY(mutex);
  std::vector<int64_t> returned FLT_GUARDED_BY(mutex);

  void give_back(int64_t block) {
    MutexLock lock(mutex);
    returned.push_back(block);
  }
};

SharedBlocks::SharedBlocks() : state_(std::make_shared<State>()) {}
SharedBlocks::~SharedBlocks() = default;

void SharedBlocks::map(int64_t block, int fd, int64_t bytes) {
  // Written by the worker and read here; a run may also use a feed's memory as its own.
  void* data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    throw Error(ErrorKind::kUnavailable, fmt::format("cannot map {} bytes of a worker's memory: {}",
                                                     bytes, std::strerror(errno)));
  }
  auto mapping = std::make_shared<Mapping>(data, bytes);
  MutexLock lock(state_->mutex);
  state_->blocks.insert_or_assign(block, std::move(mapping));
}

std::vector<Tensor> SharedBlocks::take(int64_t block, const std::vector<Array>& arrays) {
  std::shared_ptr<Mapping> mapping;
  {
    MutexLock lock(state_->mutex);
    const auto found = state_->blocks.find(block);
    require(found != state_->blocks.end(), "block {} of a worker's memory is not mapped", block);
    mapping = found->second;
  }
  const std::shared_ptr<void> lease(mapping->data, [state = state_, mapping, block](void*) mutable {
    mapping = nullptr;
    state->give_back(block);
  });
  std::vector<Tensor> tensors;
  for (const Array& array : arrays) {
    const int64_t bytes = array.shape.numel() * size_of(array.dtype);
    require(array.offset >= 0 && bytes >= 0 && array.offset <= mapping->bytes - bytes,
            "an array of {} bytes at {} goes beyond the {} bytes of a worker's block", bytes,
            array.offset, mapping->bytes);
    void* data = static_cast<char*>(mapping->data) + array.offset;
    tensors.emplace_back(array.dtype, array.shape, Layout{}, Buffer::borrow(data, bytes, lease));
  }
  return tensors;
}

std::vector<int64_t> SharedBlocks::returned() {
  MutexLock lock(state_->mutex);
  return std::exchange(state_->returned, {});
}

}  // namespace flotilla::data
