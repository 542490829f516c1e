// flotilla/testing/fake_device.h
//
// A second device without hardware: it runs the CPU's kernels, for the operators it is told, in
// memory that nobody may touch but its own copies and steps. Whoever reads or writes it elsewhere
// ends with SIGSEGV.

#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "flotilla/device/cpu/backend.h"

namespace flotilla::testing {

class FakeDevice final : public Backend {
 public:
  explicit FakeDevice(std::set<std::string, std::less<>> op_types);
  ~FakeDevice() override;

  std::string_view name() const override { return "fake"; }
  Device kernels() const override { return kCpu; }
  bool runs(std::string_view op_type) const override { return op_types_.contains(op_type); }
  std::function<void()> around(std::function<void()> step) const override;
  std::shared_ptr<Buffer> allocate(int64_t bytes) override;
  void write(void* to, const void* from, int64_t bytes) override;
  void read(void* to, const void* from, int64_t bytes) override;
  // What it brings shows only after wait(), as with a queue.
  void read_later(void* to, const void* from, int64_t bytes) override;
  void wait() override;
  std::unique_ptr<Recording> make_recording() override;
  void copy(void* to, const void* from, int64_t bytes) override;
  void fill(void* to, uint8_t byte, int64_t bytes) override;
  Reorder reorder(const Shape& shape, DType dtype, const Layout& from, const Layout& to) override;

  // Steps of operators that it ran, and copies in and out.
  struct Counts {
    int64_t steps = 0;
    int64_t writes = 0;
    int64_t reads = 0;
    int64_t recorded = 0;  // steps
    int64_t replays = 0;
  };
  Counts counts() const;

 private:
  class Memory;
  class Recorded;
  struct Coming {
    void* to = nullptr;
    std::vector<char> bytes = {};
  };
  class Open;

  std::set<std::string, std::less<>> op_types_;
  CpuBackend cpu_;
  std::shared_ptr<Memory> memory_;
  std::vector<Coming> coming_;
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace flotilla::testing
