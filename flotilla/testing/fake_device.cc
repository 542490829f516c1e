#include "flotilla/testing/fake_device.h"

#include <sys/mman.h>

#include <map>
#include <utility>

#include "flotilla/base/error.h"

namespace flotilla::testing {

// All that is allocated, closed unless somebody has opened it.
class FakeDevice::Memory {
 public:
  void* take(int64_t bytes) {
    void* data =
        mmap(nullptr, static_cast<size_t>(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    invariant(data != MAP_FAILED, "no {} bytes could be mapped", bytes);
    regions_[data] = bytes;
    return data;
  }
  void give_back(void* data) {
    const auto found = regions_.find(data);
    munmap(data, static_cast<size_t>(found->second));
    regions_.erase(found);
  }
  // Takes hold of all regions: a step says nothing of those that it will touch.
  void protect(int access) const {
    for (const auto& [data, bytes] : regions_) {
      invariant(mprotect(data, static_cast<size_t>(bytes), access) == 0,
                "the access to {} bytes could not be changed", bytes);
    }
  }

 private:
  std::map<void*, int64_t> regions_;
};

// While it lives, the memory can be touched.
class FakeDevice::Open {
 public:
  explicit Open(const Memory& memory) : memory_(memory) { memory_.protect(PROT_READ | PROT_WRITE); }
  ~Open() { memory_.protect(PROT_NONE); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;

 private:
  const Memory& memory_;
};

FakeDevice::FakeDevice(std::set<std::string, std::less<>> op_types)
    : op_types_(std::move(op_types)), memory_(std::make_shared<Memory>()) {}

FakeDevice::~FakeDevice() = default;

std::function<void()> FakeDevice::around(std::function<void()> step) const {
  return [memory = memory_, counts = counts_, step = std::move(step)] {
    const Open open(*memory);
    ++counts->steps;
    step();
  };
}

std::shared_ptr<Buffer> FakeDevice::allocate(int64_t bytes) {
  const int64_t mapped = std::max<int64_t>(bytes, 1);
  const std::shared_ptr<void> owner(memory_->take(mapped),
                                    [memory = memory_](void* data) { memory->give_back(data); });
  return Buffer::borrow(owner.get(), bytes, owner);
}

void FakeDevice::write(void* to, const void* from, int64_t bytes) {
  ++counts_->writes;
  copy(to, from, bytes);
}

void FakeDevice::read(void* to, const void* from, int64_t bytes) {
  ++counts_->reads;
  copy(to, from, bytes);
}

void FakeDevice::read_later(void* to, const void* from, int64_t bytes) {
  Coming& one = coming_.emplace_back(Coming{to, std::vector<char>(static_cast<size_t>(bytes))});
  read(one.bytes.data(), from, bytes);
}

void FakeDevice::wait() {
  for (const Coming& one : coming_) {
    cpu_.copy(one.to, one.bytes.data(), static_cast<int64_t>(one.bytes.size()));
  }
  coming_.clear();
}

// Nothing that a recorded step does shows before the replay.
class FakeDevice::Recorded final : public Recording {
 public:
  explicit Recorded(std::shared_ptr<Counts> counts) : counts_(std::move(counts)) {}
  void record(std::span<const std::function<void()>> steps) override {
    steps_.assign(steps.begin(), steps.end());
    counts_->recorded += std::ssize(steps);
  }
  void replay() override {
    for (const auto& step : steps_) step();
    ++counts_->replays;
  }

 private:
  const std::shared_ptr<Counts> counts_;
  std::vector<std::function<void()>> steps_;
};

std::unique_ptr<Recording> FakeDevice::make_recording() {
  return std::make_unique<Recorded>(counts_);
}

void FakeDevice::copy(void* to, const void* from, int64_t bytes) {
  const Open open(*memory_);
  cpu_.copy(to, from, bytes);
}

void FakeDevice::fill(void* to, uint8_t byte, int64_t bytes) {
  const Open open(*memory_);
  cpu_.fill(to, byte, bytes);
}

Reorder FakeDevice::reorder(const Shape& shape, DType dtype, const Layout& from, const Layout& to) {
  Reorder made = cpu_.reorder(shape, dtype, from, to);
  made.run = [memory = memory_, run = std::move(made.run)](const void* source, void* target,
                                                           void* scratch) {
    const Open open(*memory);
    run(source, target, scratch);
  };
  return made;
}

FakeDevice::Counts FakeDevice::counts() const { return *counts_; }

}  // namespace flotilla::testing
