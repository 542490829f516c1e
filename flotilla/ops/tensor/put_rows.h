// Operators that put rows where numbers say. The gradient of what was replaced is zero; what was
// put gets that of its place.

#pragma once

#include "flotilla/kernel/in_order.h"
#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/tensor/named_rows.h"

namespace flotilla::ops {

template <typename T, typename Rows>
Step put(PrepareContext& c, std::string_view in, std::string_view list, std::string_view out,
         const Rows& rows, Put how) {
  c.in_place(in, out);
  if (on_gpu(c)) return gpu_sums<T>.put(c, in, list, out, names_of(rows), how);
  return [rows, how, bytes = c.shape(in).numel() * static_cast<int64_t>(sizeof(T)), x = c.in<T>(in),
          updates = c.in<T>(list), to = c.out<T>(out)] {
    copy_bytes(to.data(), x.data(), bytes);
    if (how == Put::kReplaceBySum) clear_rows(rows, to.data());
    put_rows(rows, updates.data(), to.data(), how == Put::kReplace);
  };
}

// The gradients of `in` and `list`, as far as they are wanted, from that of the result.
template <typename T, typename Rows>
Step put_backward(PrepareContext& c, std::string_view dout, std::string_view din,
                  std::string_view dlist, const Rows& rows, Put how) {
  const Step of_list = c.has(dlist) ? take_rows(c, dout, dlist, rows) : Step();
  Step of_whole;
  if (c.has(din) && how == Put::kAdd) {
    of_whole = pass_through(c, dout, din);
  } else if (c.has(din)) {
    c.in_place(dout, din);
    if (on_gpu(c)) return in_order({of_list, gpu_rows.clear(c, dout, din, names_of(rows))});
    of_whole = [rows, bytes = c.shape(dout).numel() * static_cast<int64_t>(sizeof(T)),
                from = c.in<T>(dout), to = c.out<T>(din)] {
      copy_bytes(to.data(), from.data(), bytes);
      clear_rows(rows, to.data());
    };
  }
  return in_order({of_list, of_whole});
}

inline Slot numbers_slot(std::string name) {
  return {.name = std::move(name), .doc = "int32 or int64", .no_grad = true};
}

}  // namespace flotilla::ops
