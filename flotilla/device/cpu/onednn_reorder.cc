#include <cstring>

#include "flotilla/device/cpu/onednn_internal.h"
#include "flotilla/device/cpu/parallel.h"

namespace flotilla::onednn {
namespace {

// What index i of `axis` adds to an element's offset, for each i. Axes add up independently.
std::vector<int64_t> offsets_along(const Shape& shape, const Layout& layout, int64_t axis) {
  std::vector<int64_t> offsets;
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()), 0);
  for (int64_t& i = index[static_cast<size_t>(axis)]; i < shape[axis]; ++i) {
    offsets.push_back(layout.offset(shape, index));
  }
  return offsets;
}

// The loop for element sizes that oneDNN does not know: checks in f64, indices in i64.
struct Copy {
  Copy(const Shape& shape, int64_t item, const Layout& from, const Layout& to)
      : shape(shape), item(item), padded_bytes(to.physical_numel(shape) * item) {
    for (int64_t a = 0; a < shape.rank(); ++a) {
      from_along.push_back(offsets_along(shape, from, a));
      to_along.push_back(offsets_along(shape, to, a));
    }
  }

  void run(const void* source, void* target) const {
    const char* x = static_cast<const char*>(source);
    char* y = static_cast<char*>(target);
    if (padded_bytes > shape.numel() * item) {
      std::memset(target, 0, static_cast<size_t>(padded_bytes));
    }
    const int64_t last = shape.rank() - 1;
    const std::vector<int64_t>& from_last = from_along.back();
    const std::vector<int64_t>& to_last = to_along.back();
    parallel_for(shape.numel(0, last), shape[last], [&](int64_t row) {
      int64_t from_row = 0, to_row = 0;
      for (int64_t a = last - 1; a >= 0; row /= shape[a], --a) {
        const size_t axis = static_cast<size_t>(a), i = static_cast<size_t>(row % shape[a]);
        from_row += from_along[axis][i];
        to_row += to_along[axis][i];
      }
      for (size_t i = 0; i < from_last.size(); ++i) {
        std::memcpy(y + (to_row + to_last[i]) * item, x + (from_row + from_last[i]) * item,
                    static_cast<size_t>(item));
      }
    });
  }

  Shape shape;
  int64_t item = 0, padded_bytes = 0;
  std::vector<std::vector<int64_t>> from_along, to_along;
};

std::unique_ptr<Primitive::State> own_copy(const Shape& shape, int64_t item, const Layout& from,
                                           const Layout& to) {
  if (from == to || shape.rank() == 0) {
    const int64_t bytes = to.physical_numel(shape) * item;
    return std::make_unique<Primitive::State>(
        "copy", [bytes](std::span<const void* const> pointers) {
          parallel_ranges(bytes, 1 << 18, [&](int64_t begin, int64_t end) {
            std::memcpy(static_cast<char*>(const_cast<void*>(pointers[1])) + begin,
                        static_cast<const char*>(pointers[0]) + begin,
                        static_cast<size_t>(end - begin));
          });
        });
  }
  return std::make_unique<Primitive::State>(
      "own", [copy = Copy(shape, item, from, to)](std::span<const void* const> pointers) {
        copy.run(pointers[0], const_cast<void*>(pointers[1]));
      });
}

std::unique_ptr<Primitive::State> prepare(const Shape& shape, DType dtype, const Layout& from,
                                          const Layout& to) {
  if (shape.numel() == 0) return nothing_to_do();
  const int64_t item = size_of(dtype);
  if (from == to || shape.rank() == 0 || (item != 4 && item != 1)) {
    return own_copy(shape, item, from, to);
  }
  // Elements only move, so any type of the same size will do.
  const DType like = item == 4 ? f32 : u8;
  const memory::desc source = to_desc(shape, from, like), target = to_desc(shape, to, like);
  const auto pd = create(fmt::format("a reorder of {} from {} to {}", shape, from, to), [&] {
    return dnnl::reorder::primitive_desc(engine(), source, engine(), target, user_scratch());
  });
  auto state = std::make_unique<Primitive::State>(dnnl::reorder(pd), pd);
  state->add(DNNL_ARG_FROM, source);
  state->add(DNNL_ARG_TO, target);
  return state;
}

}  // namespace

Reorder::Reorder(const Shape& shape, DType dtype, const Layout& from, const Layout& to)
    : Primitive(prepare(shape, dtype, from, to)) {}

void Reorder::run(const void* from, void* to, void* scratch) { state_->run({from, to}, scratch); }

}  // namespace flotilla::onednn
