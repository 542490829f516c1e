// flotilla/ops/common/move.h
//
// What operators share that move elements and never look at them: one kernel for every dtype.
//
// pass_through(), take_box() and put_box() serve the CPU and GPUs alike: a kernel that says by them
// alone what goes where is prepared by one function for both (ops/common/move.cu).

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"

namespace flotilla::ops {

using Ints = std::vector<int64_t>;

// A row of the kernel table for each dtype there is, the 16-bit floats among them.
std::vector<Kernel> every_dtype(Step (*prepare)(PrepareContext&));

// Copies; large pieces on several threads. Does nothing where both are the same address.
void copy_bytes(void* to, const void* from, int64_t bytes);

// `out` holds the elements of `in` in the same order: a view where the plan can, else a copy. Both
// are the variables `i` of their slots.
Step pass_through(PrepareContext& c, std::string_view in, std::string_view out,
                  const Layout& layout = {}, size_t i = 0);

// Copies a box of elements between two tensors, each with a stride of its own along every axis:
// slices, transposes, repeats, flips. Decides the order of its loops when it is made.
class BoxCopy {
 public:
  // Strides are in elements and may be zero or negative; the start of the box is the caller's.
  BoxCopy(const Ints& extents, const Ints& to_strides, const Ints& from_strides, int64_t size);
  void run(char* to, const char* from) const;

 private:
  struct Axis {
    int64_t extent = 1;
    int64_t to = 0;  // bytes
    int64_t from = 0;
  };

  void copy_rows(char* to, const char* from, int64_t begin, int64_t end) const;
  template <typename Unit>
  void copy_tile(char* to, const char* from, int64_t rows, int64_t columns) const;

  std::vector<Axis> outer_;  // outermost first
  Axis row_, column_;        // the inner loops; a tile where `from` is dense along the rows
  int64_t unit_ = 1;         // bytes that lie together in both
  int64_t outer_count_ = 1;
  bool tiled_ = false;
};

// Row-major strides, in elements.
Ints dense_strides(const Shape& shape);
// Where element `i` of a walk over `extents` lies.
inline int64_t place_in(const Ints& extents, const Ints& strides, int64_t i) {
  int64_t place = 0;
  for (size_t a = extents.size(); a-- > 0; i /= extents[a]) place += i % extents[a] * strides[a];
  return place;
}
// The numbers of the axes in another order.
inline Ints permuted(const Ints& numbers, const Ints& order) {
  Ints made;
  for (const int64_t axis : order) made.push_back(numbers[static_cast<size_t>(axis)]);
  return made;
}

void zero_bytes(void* to, int64_t bytes);

// Elements of a tensor in the order of a walk through it, which has a stride, in elements, along
// each axis of its own: a slice, a diagonal, an axis in reverse.
struct Box {
  Ints extents = {};
  Ints strides = {};  // may be zero or negative
  int64_t first = 0;  // where it begins

  bool empty() const { return Shape(extents).numel() == 0; }
};

// `out` holds the elements of the box of `in`, in order.
Step take_box(PrepareContext& c, std::string_view in, std::string_view out, const Box& box,
              size_t i = 0);
// The box of `out` holds the elements of `in`, in order. Zeros lie elsewhere.
Step put_box(PrepareContext& c, std::string_view in, std::string_view out, const Box& box);

// An element of up to eight bytes.
using ElementBits = std::array<char, 8>;

template <typename T>
ElementBits bits_of(T element) {
  ElementBits bits = {};
  std::memcpy(bits.data(), &element, sizeof(T));
  return bits;
}

// The same functions on a GPU. A build with CUDA fills them in before main().
struct GpuMoves {
  Step (*pass_through)(PrepareContext& c, std::string_view in, std::string_view out,
                       const Layout& layout, size_t i) = nullptr;
  Step (*take_box)(PrepareContext& c, std::string_view in, std::string_view out, const Box& box,
                   size_t i) = nullptr;
  // `rest` lies elsewhere.
  Step (*put_box)(PrepareContext& c, std::string_view in, std::string_view out, const Box& box,
                  ElementBits rest) = nullptr;
};
inline GpuMoves gpu_moves = {};

// Whether a kernel is prepared for a GPU.
inline bool on_gpu(const PrepareContext& c) { return c.around().gpu != nullptr; }

// The same with `rest` elsewhere.
template <typename T>
Step put_box(PrepareContext& c, std::string_view in, std::string_view out, const Box& box, T rest) {
  if (on_gpu(c)) return gpu_moves.put_box(c, in, out, box, bits_of(rest));
  const BoxCopy copy(box.extents, box.strides, dense_strides(Shape(box.extents)), sizeof(T));
  return [copy, rest, empty = box.empty(), n = c.shape(out).numel(), first = box.first,
          from = c.in<T>(in), to = c.out<T>(out)] {
    std::fill_n(to.data(), n, rest);
    if (empty) return;
    copy.run(reinterpret_cast<char*>(to.data() + first),
             reinterpret_cast<const char*>(from.data()));
  };
}

}  // namespace flotilla::ops
