#include "flotilla/ops/collective/collective.h"

#include "flotilla/comm/world.h"
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
  struct Pair {
    In<char> from = {};
    Out<char> to = {};
    int64_t bytes = 0;
  };
  c.bytes_of_any_dtype();  // `infer` gives each Out the dtype of its X
  std::vector<Pair> pairs;
  for (size_t i = 0; i < c.count("X"); ++i) {
    const Layout layout = c.layout("X", i);
    c.view("X", "Out", i, i);
    pairs.push_back({c.in_bytes("X", i, layout), c.out_bytes("Out", i, layout),
                     layout.physical_numel(c.shape("X", i)) * size_of(c.dtype("X", i))});
  }
  return [pairs = std::move(pairs)] {
    for (const Pair& pair : pairs) copy_bytes(pair.to.data(), pair.from.data(), pair.bytes);
  };
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
  const std::string dout = g.output_grad("Out"), dx = g.input_grad("X");
  if (dx.empty()) return;
  Attrs attrs;
  for (const AttrSpec& attr : op_def(type).attrs) {
    const Attr* given = g.op().find_attr(attr.name);
    if (given != nullptr) attrs[attr.name] = *given;
  }
  g.emit(type, {{"X", {dout}}}, {{"Out", {dx}}}, std::move(attrs));
}

}  // namespace flotilla::ops
