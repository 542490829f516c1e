// flotilla/ops/tensor/assign.cc
//
// assign copies a tensor; share_data and memcpy, to a device or from it, are other names for it on
// one device. Where the plan can, nothing is copied.

#include "flotilla/op/grad_context.h"
#include "flotilla/ops/common/known_value.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  VarMeta out = like(c.in("X"));
  remember_same(out, c.in("X"));
  c.out("Out") = std::move(out);
}

template <typename T>
Step forward_sparse(PrepareContext& c) {
  return [x = c.sparse_in<T>("X"), out = c.sparse_out<T>("Out")] {
    copy_bytes(out.rows.data(), x.rows.data(), x.count * static_cast<int64_t>(sizeof(int64_t)));
    copy_bytes(out.value.data(), x.value.data(),
               x.count * x.width * static_cast<int64_t>(sizeof(T)));
  };
}

Step forward(PrepareContext& c) {
  if (!c.is_sparse("X")) return pass_through(c, "X", "Out", c.layout("X"));
  return c.dtype("X") == f64 ? forward_sparse<double>(c) : forward_sparse<float>(c);
}

OpDef definition(std::string type, std::string doc, GradRule rule) {
  return {.type = std::move(type),
          .doc = std::move(doc),
          .inputs = {{.name = "X", .doc = "tensor or sparse rows"}},
          .outputs = {{.name = "Out", .doc = "the same"}},
          .infer = infer,
          .grad = std::move(rule),
          .kernels = every_dtype(forward)};
}

const OpDef& assign = define_op(
    definition("assign", "Copies X.", custom_grad([](GradContext& g) { hand_back(g, "assign"); })));
const OpDef& share_data = define_op(definition("share_data", "Another name for X.", no_grad()));
const bool kCopies = [] {
  for (const char* type : {"memcpy", "memcpy_h2d", "memcpy_d2h"}) {
    OpDef def = definition(type, "Copies X to a device.", no_grad());
    def.attrs = {{"dst_place_type", int32_t{0}, "which device; there is only one here"}};
    define_op(std::move(def));
  }
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
