#include "flotilla/device/cpu/backend.h"

#include <gmock/gmock.h>

#include <cstring>
#include <numeric>
#include <vector>

namespace flotilla {
namespace {

using ::testing::Each;
using ::testing::ElementsAreArray;

TEST(CpuBackend, MovesBytesInOutAndWithin) {
  CpuBackend cpu;
  const std::vector<uint8_t> given = {3, 1, 4, 1, 5};
  const int64_t n = std::ssize(given);
  const auto a = cpu.allocate(n), b = cpu.allocate(n);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a->data()) % 64, 0u);
  cpu.write(a->data(), given.data(), n);
  cpu.copy(b->data(), a->data(), n);
  cpu.fill(a->data(), 7, n);
  std::vector<uint8_t> back(given.size());
  cpu.read(back.data(), b->data(), n);
  EXPECT_THAT(back, ElementsAreArray(given));
  cpu.read(back.data(), a->data(), n);
  EXPECT_THAT(back, Each(7));
  cpu.copy(nullptr, nullptr, 0);  // a tensor without elements has no memory
  cpu.fill(nullptr, 0, 0);
}

TEST(CpuBackend, ReordersThereAndBack) {
  CpuBackend cpu;
  const Shape shape = {2, 5, 3, 3};
  const Layout blocked = parse_layout("aBcd8b");
  for (const DType dtype : {f32, i64}) {  // oneDNN's code, and our own
    const int64_t bytes = shape.numel() * size_of(dtype);
    const int64_t padded = blocked.physical_numel(shape) * size_of(dtype);
    const auto plain = cpu.allocate(bytes), cut = cpu.allocate(padded), back = cpu.allocate(bytes);
    auto* first = static_cast<uint8_t*>(plain->data());
    std::iota(first, first + bytes, uint8_t{1});
    cpu.fill(cut->data(), 255, padded);
    const Reorder there = cpu.reorder(shape, dtype, {}, blocked);
    const Reorder home = cpu.reorder(shape, dtype, blocked, {});
    const auto scratch = cpu.allocate(std::max(there.scratch_bytes, home.scratch_bytes));
    there.run(plain->data(), cut->data(), there.scratch_bytes > 0 ? scratch->data() : nullptr);
    home.run(cut->data(), back->data(), home.scratch_bytes > 0 ? scratch->data() : nullptr);
    EXPECT_EQ(std::memcmp(plain->data(), back->data(), static_cast<size_t>(bytes)), 0);
    // Element (0, 1, 0, 0) lies behind (0, 0, 0, 0), and the padding is zero.
    const auto* elements = static_cast<const uint8_t*>(cut->data());
    EXPECT_EQ(elements[size_of(dtype)], first[9 * size_of(dtype)]);
    EXPECT_EQ(elements[5 * size_of(dtype)], 0);
  }
}

TEST(CpuBackend, RunsItsStepsAsTheyAre) {
  CpuBackend cpu;
  int runs = 0;
  cpu.around([&] { ++runs; })();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(cpu.kernels(), kCpu);
  EXPECT_TRUE(cpu.runs("softmax"));
  EXPECT_EQ(cpu.make_recording(), nullptr);
  EXPECT_EQ(cpu.stream().handle, nullptr);
}

}  // namespace
}  // namespace flotilla
