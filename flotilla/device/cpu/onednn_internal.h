// flotilla/device/cpu/onednn_internal.h
//
// What the files onednn*.cc share. Only they include oneDNN's headers or this one.

#pragma once

#include <functional>
#include <initializer_list>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/device/cpu/onednn.h"
#include "flotilla/device/cpu/parallel.h"

namespace flotilla::onednn {

using dnnl::memory;

// The one CPU engine of the process. It and its stream hold no state on a CPU: a primitive runs in
// the calling thread, so that any number of threads may share them.
const dnnl::engine& engine();

// A layout and a shape as oneDNN describes them, and back. nullopt: a format that a Layout cannot
// express, e.g. of Winograd weights.
memory::desc to_desc(const Shape& shape, const Layout& layout, DType dtype = f32);
std::optional<Layout> to_layout(const memory::desc& desc);
// Any layout that oneDNN likes.
memory::desc any_desc(const Shape& shape);
memory::desc given_or_any(const Shape& shape, const std::optional<Layout>& layout);

// Scratch memory is ours to give.
dnnl::primitive_attr user_scratch();

// Adds the post-operation `act`; none for Act::kNone.
void append_act(dnnl::post_ops& post_ops, Activation act);

// Calls f, which creates a primitive descriptor, and turns oneDNN's exception into ours. `what` is
// the computation in words.
template <typename F>
auto create(std::string_view what, F&& f) {
  parallel_detail::use_in_libraries(threads());  // the work is shared out here, for good
  try {
    return f();
  } catch (const dnnl::error& error) {
    refuse("oneDNN cannot do {}: {}", what, error.message);
  }
}

struct Primitive::State {
  // REQUIRES: `pd` was made with user_scratch()
  template <typename PrimitiveDesc>
  State(dnnl::primitive made, const PrimitiveDesc& pd)
      : State(std::move(made), pd.impl_info_str(), pd.scratchpad_desc()) {}
  State(dnnl::primitive made, std::string implementation, const memory::desc& scratch);
  // Does without oneDNN: run() calls `own` with the pointers.
  State(std::string implementation, std::function<void(std::span<const void* const>)> own)
      : implementation(std::move(implementation)), own(std::move(own)) {}

  // The next argument of run().
  void add(int arg, const memory::desc& desc);
  // REQUIRES: one pointer for each add(), in the same order
  void run(std::initializer_list<const void*> pointers, void* scratch) {
    run(std::span<const void* const>(pointers.begin(), pointers.size()), scratch);
  }
  void run(std::span<const void* const> pointers, void* scratch);

  dnnl::primitive primitive = {};
  std::string implementation = {};
  std::function<void(std::span<const void* const>)> own = {};
  int64_t scratch_bytes = 0;
  int64_t workspace_bytes = 0;
  uintptr_t alignment = 1;            // of all pointers, where the code dies otherwise
  int threads = 1;                    // as of the day it was made; scratch is sized for it
  std::vector<memory> memories = {};  // the last one is the scratch
  std::vector<dnnl_exec_arg_t> arguments = {};  // of `memories`, in their order
};

// For tensors without elements, at some of which oneDNN divides by zero.
std::unique_ptr<Primitive::State> nothing_to_do();

}  // namespace flotilla::onednn
