#include "flotilla/ops/collective/collective.h"

#include "flotilla/comm/world.h"
#include "flotilla/kernel/in_order.h"
#include "flotilla/op/grad_context.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {

bool is_alone(const PrepareContext& c) {
  const comm::World* world = c.around().world;
  return world == nullptr || world->size() == 1;
}

std::vector<Kernel> reducible_dtypes(Step (*prepare)(PrepareContext&)) {
  std::vector<Kernel> kernels;
  for (const DType dtype : {f32, f64, bf16, i32, i64}) kernels.push_back({kCpu, dtype, prepare});
  return kernels;
}

void infer_exchange(InferContext& c) {
  const std::string& type = c.op().type();
  require(c.in_count("X") == c.out_count("Out"), "X of {} holds {} variables, but Out holds {}",
          type, c.in_count("X"), c.out_count("Out"));
  for (size_t i = 0; i < c.in_count("X"); ++i) {
    const VarMeta& x = c.in("X", i);
    require(x.kind == VarKind::kTensor, "{} takes tensors, but \"{}\" is a {}", type,
            c.op().input_list("X")[i], name_of(x.kind));
    c.out("Out", i) = x;
    c.out("Out", i).value.reset();
  }
}

Step identity(PrepareContext& c) {
  c.bytes_of_any_dtype();  // `infer` gives each Out the dtype of its X
  std::vector<Step> copies;
  for (size_t i = 0; i < c.count("X"); ++i) {
    copies.push_back(pass_through(c, "X", "Out", c.layout("X", i), i));
  }
  return in_order(std::move(copies));
}

const OpDef& define_collective(Collective row) {
  return define_op({.type = std::move(row.type),
                    .doc = std::move(row.doc),
                    .inputs = {{.name = "X", .doc = "what this process gives", .list = row.list}},
                    .outputs = {{.name = "Out", .doc = "what it gets; may be X", .list = row.list}},
                    .attrs = std::move(row.attrs),
                    .infer = row.infer,
                    .grad = std::move(row.grad),
                    .kernels = std::move(row.kernels),
                    .side_effect = true});
}

void emit_collective(GradContext& g, const std::string& type) {
  Attrs attrs;
  for (const AttrSpec& attr : op_def(type).attrs) {
    const Attr* given = g.op().find_attr(attr.name);
    if (given != nullptr) attrs[attr.name] = *given;
  }
  hand_back(g, type, std::move(attrs));
}

}  // namespace flotilla::ops
