#include "flotilla/plan/host.h"

namespace flotilla::plan {

Step Host::run_kernel(const Prepared& op) {
  const auto ports = [&](const Ports& values) {
    PrepareContext::Ports made;
    for (const auto& [slot, ids] : values) {
      for (const int32_t v : ids) made[slot].push_back({v, v < 0 ? VarMeta{} : at(v).meta});
    }
    return made;
  };
  device_ = op.device;
  PrepareContext context(*op.op, *op.def, ports(op.inputs), ports(op.outputs), *this, op.looked_at);
  Step step = op.kernel->prepare(context);
  context.check_reads();
  return op.device == kHost ? step : draft_.backend(op.device).around(std::move(step));
}

const Cell* Host::lod_of(int32_t value) {
  const int32_t source = at(value).meta.lod_source;
  return source < 0 ? nullptr : &at(source).cell;
}

Surroundings Host::around() const {
  Surroundings around = process_.around;
  around.stream = draft_.backend(device_).stream();
  around.gpu = draft_.backend(device_).gpu();
  return around;
}

RandomSource Host::random(int64_t op_seed) {
  const int64_t seed = op_seed != 0 ? op_seed : process_.seed;
  return RandomSource(&process_.generator, static_cast<uint64_t>(seed));
}

std::vector<Exchanged> Host::exchange(const std::vector<int32_t>& ins,
                                      const std::vector<int32_t>& outs) {
  invariant(ins.size() == outs.size(), "{} variables are exchanged for {}", ins.size(),
            outs.size());
  std::vector<Exchanged> made;
  for (size_t i = 0; i < ins.size(); ++i) {
    const Layout layout = exchange_layout(ins[i]);
    made.push_back({.in = In<char>(read(ins[i], layout)),
                    .out = Out<char>(write(outs[i], layout)),
                    .count = layout.physical_numel(at(ins[i]).meta.shape)});
  }
  return made;
}

Layout Host::exchange_layout(int32_t value) {
  return draft_.exchange_layouts.emplace(at(value).name, at(value).layout).first->second;
}

void* Host::resize(int32_t value, const Shape& shape) {
  Value& v = at(value);
  v.meta.shape = shape;
  v.pool_block.reset();  // first back, then out again: often the same block
  try {
    v.pool_block = std::make_shared<Pool::Block>(draft_.pool.take(v.bytes()));
  } catch (Error& error) {
    error.note("variable", fmt::format("{} {}{}", v.name, v.meta.dtype, shape));
    throw;
  }
  v.cell.data = v.pool_block->data();
  return v.cell.data;
}

void Host::resize_rows(int32_t value, int64_t count) {
  Value& v = at(value);
  v.meta.rows = count;
  v.pool_rows.reset();
  v.pool_rows = std::make_shared<Pool::Block>(draft_.pool.take(v.rows_bytes()));
  v.rows.data = v.pool_rows->data();
  resize(value, v.meta.shape);
}

void Host::set_lod(int32_t value, LoD lod) {
  Value& v = at(value);
  v.meta.lod_level = static_cast<int32_t>(lod.size());
  v.meta.sequences = sequences_of(lod);
  v.own_lod = std::move(lod);
  v.cell.lod = &v.own_lod;
}

}  // namespace flotilla::plan
