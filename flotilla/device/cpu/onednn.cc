#include "flotilla/device/cpu/onednn.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "flotilla/base/log.h"
#include "flotilla/device/cpu/isa.h"
#include "flotilla/device/cpu/onednn_internal.h"
#include "flotilla/device/cpu/parallel.h"

namespace flotilla::onednn {
namespace {

// Before the first primitive: later oneDNN does not listen any more.
void cap_isa() {
  const auto cap = [] {
    switch (isa()) {
      case Isa::kSse41:
        return dnnl_cpu_isa_sse41;
      case Isa::kAvx2:
        return dnnl_cpu_isa_avx2;
      case Isa::kAvx512:
        return dnnl_cpu_isa_avx512_core;
      case Isa::kAvx512Bf16:
        return dnnl_cpu_isa_avx512_core_bf16;
      default:
        return dnnl_cpu_isa_all;
    }
  }();
  if (dnnl_set_max_cpu_isa(cap) != dnnl_success) {
    log::warning("oneDNN was in use before; it is not held to {}", name_of(isa()));
  }
}

const dnnl::stream& stream() {
  static const dnnl::stream instance(engine());
  return instance;
}

memory::data_type data_type_of(DType dtype) {
  switch (dtype) {
    case f32:
      return memory::data_type::f32;
    case bf16:
      return memory::data_type::bf16;
    case i32:
      return memory::data_type::s32;
    case i8:
      return memory::data_type::s8;
    case u8:
      return memory::data_type::u8;
    default:
      refuse("oneDNN does not compute with dtype {}", dtype);
  }
}

Shape shape_of(const dnnl_memory_desc_t& desc) {
  return Shape(std::span<const int64_t>(desc.dims, static_cast<size_t>(desc.ndims)));
}

// Strides along which there is only one step say nothing.
bool same_memory(const Layout& layout, const dnnl_memory_desc_t& desc) {
  const Shape shape = shape_of(desc), padded = layout.padded(shape);
  const dnnl_blocking_desc_t& blocking = desc.format_desc.blocking;
  const std::vector<int64_t> strides = layout.outer_strides(shape);
  std::vector<int64_t> steps = padded.dims();
  for (const Layout::Inner& inner : layout.inner()) {
    steps[static_cast<size_t>(inner.axis)] /= inner.size;
  }
  for (size_t a = 0; a < steps.size(); ++a) {
    if (padded.dims()[a] != desc.padded_dims[a]) return false;
    if (steps[a] > 1 && strides[a] != blocking.strides[a]) return false;
  }
  return true;
}

}  // namespace

const dnnl::engine& engine() {
  static const dnnl::engine instance = [] {
    cap_isa();
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return instance;
}

memory::desc to_desc(const Shape& shape, const Layout& layout, DType dtype) {
  require(shape.rank() > 0 && shape.rank() <= DNNL_MAX_NDIMS,
          "oneDNN takes tensors of rank 1 to {}, but the shape is {}", DNNL_MAX_NDIMS, shape);
  require(layout.plain() || static_cast<int64_t>(layout.order().size()) == shape.rank(),
          "layout {} does not fit shape {}", layout, shape);
  dnnl_memory_desc_t desc = {};
  desc.ndims = static_cast<int>(shape.rank());
  desc.data_type = memory::convert_to_c(data_type_of(dtype));
  desc.format_kind = dnnl_blocked;
  const Shape padded = layout.padded(shape);
  std::copy(shape.begin(), shape.end(), desc.dims);
  std::copy(padded.begin(), padded.end(), desc.padded_dims);
  dnnl_blocking_desc_t& blocking = desc.format_desc.blocking;
  const std::vector<int64_t> strides = layout.outer_strides(shape);
  std::copy(strides.begin(), strides.end(), blocking.strides);
  blocking.inner_nblks = static_cast<int>(layout.inner().size());
  for (size_t i = 0; i < layout.inner().size(); ++i) {
    blocking.inner_blks[i] = layout.inner()[i].size;
    blocking.inner_idxs[i] = layout.inner()[i].axis;
  }
  return memory::desc(desc);
}

std::optional<Layout> to_layout(const memory::desc& from) {
  const dnnl_memory_desc_t& desc = from.data;
  if (desc.format_kind != dnnl_blocked || desc.extra.flags != 0 || desc.offset0 != 0) return {};
  const dnnl_blocking_desc_t& blocking = desc.format_desc.blocking;
  std::vector<Layout::Inner> inner;
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    inner.push_back({static_cast<int32_t>(blocking.inner_idxs[i]),
                     static_cast<int32_t>(blocking.inner_blks[i])});
  }
  std::vector<int32_t> order(static_cast<size_t>(desc.ndims));
  std::iota(order.begin(), order.end(), 0);

  // Where extents of 1 leave a choice, the most usual name: row major, then channels last.
  std::vector<std::vector<int32_t>> candidates = {order};
  if (order.size() > 2) {
    candidates.push_back(order);
    std::rotate(candidates.back().begin() + 1, candidates.back().begin() + 2,
                candidates.back().end());
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return blocking.strides[a] > blocking.strides[b]; });
  candidates.push_back(order);
  for (std::vector<int32_t>& candidate : candidates) {
    Layout layout(std::move(candidate), inner);
    if (same_memory(layout, desc)) return layout;
  }
  return {};
}

memory::desc any_desc(const Shape& shape) {
  return memory::desc(shape.dims(), memory::data_type::f32, memory::format_tag::any);
}

memory::desc given_or_any(const Shape& shape, const std::optional<Layout>& layout) {
  return layout ? to_desc(shape, *layout) : any_desc(shape);
}

dnnl::primitive_attr user_scratch() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

Primitive::State::State(dnnl::primitive made, std::string implementation,
                        const memory::desc& scratch)
    : primitive(std::move(made)),
      implementation(std::move(implementation)),
      scratch_bytes(static_cast<int64_t>(scratch.get_size())),
      threads(flotilla::threads()) {
  add(DNNL_ARG_SCRATCHPAD, scratch);
}

void Primitive::State::add(int arg, const memory::desc& desc) {
  // Before the scratch, which stays last.
  const size_t at = memories.empty() ? 0 : memories.size() - 1;
  const auto offset = static_cast<std::ptrdiff_t>(at);
  memories.insert(memories.begin() + offset, memory(desc, engine(), DNNL_MEMORY_NONE));
  arguments.insert(arguments.begin() + offset, {arg, memories[at].get()});
}

void Primitive::State::run(std::span<const void* const> pointers, void* scratch) {
  if (own) return own(pointers);
  invariant(pointers.size() + 1 == memories.size(), "{} takes {} arguments, not {}", implementation,
            memories.size() - 1, pointers.size());
  for (size_t i = 0; i < pointers.size(); ++i) {
    invariant(reinterpret_cast<uintptr_t>(pointers[i]) % alignment == 0,
              "{} needs memory aligned to {} bytes", implementation, alignment);
    memories[i].set_data_handle(const_cast<void*>(pointers[i]));
  }
  memories.back().set_data_handle(scratch);
  parallel_detail::use_in_libraries(threads);
  const dnnl_status_t status = dnnl_primitive_execute(
      primitive.get(), stream().get(), static_cast<int>(arguments.size()), arguments.data());
  invariant(status == dnnl_success, "oneDNN's {} failed with status {}", implementation,
            static_cast<int>(status));
}

std::unique_ptr<Primitive::State> nothing_to_do() {
  return std::make_unique<Primitive::State>("nothing", [](std::span<const void* const>) {});
}

Primitive::Primitive(std::unique_ptr<State> state) : state_(std::move(state)) {}
Primitive::Primitive(Primitive&&) noexcept = default;
Primitive& Primitive::operator=(Primitive&&) noexcept = default;
Primitive::~Primitive() = default;

int64_t Primitive::scratch_bytes() const { return state_->scratch_bytes; }
const std::string& Primitive::implementation() const { return state_->implementation; }

}  // namespace flotilla::onednn

void flotilla::init_isa() { onednn::engine(); }
