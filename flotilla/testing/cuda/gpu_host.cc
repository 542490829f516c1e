#include "flotilla/testing/cuda/gpu_host.h"

#include "flotilla/device/cuda/check.h"
#include "flotilla/device/cuda/memory.h"
#include "flotilla/op/kernel_dtype.h"

namespace flotilla {
namespace {

const Layout kPlain = {};

}  // namespace

void GpuHost::place(Value& value) {
  value.memory = cuda::device_buffer(value.bytes() + value.shift);
  value.cell.data = static_cast<char*>(value.memory->data()) + value.shift;
}

int32_t GpuHost::add(const VarMeta& meta, int64_t shift) {
  Value& value = values_.emplace_back(Value{.meta = meta, .shift = shift * size_of(meta.dtype)});
  place(value);
  const auto number = static_cast<int32_t>(values_.size()) - 1;
  if (meta.kind == VarKind::kSelectedRows) value.rows = add(VarMeta::tensor(i64, {meta.rows}));
  return number;
}

Step GpuHost::prepare(const Op& op, const Values& inputs, const Values& outputs) {
  const OpDef& def = op_def(op.type());
  InferContext::Metas in, out;
  const auto ports = [&](const Values& slots, InferContext::Metas& metas) {
    PrepareContext::Ports made;
    for (const auto& [slot, values] : slots) {
      for (const int32_t v : values) {
        metas[slot].push_back(v < 0 ? VarMeta{} : at(v).meta);
        made[slot].push_back({v, metas[slot].back()});
      }
    }
    return made;
  };
  PrepareContext::Ports reads = ports(inputs, in), writes = ports(outputs, out);
  PrepareContext context(op, def, std::move(reads), std::move(writes), *this);
  before_.clear();
  after_.clear();
  return with_reorders(find_kernel(def, kCuda, kernel_dtype(op, def, in, out)).prepare(context));
}

void GpuHost::move() {
  std::deque<std::shared_ptr<Buffer>> before;  // freed last, so that no address comes back
  for (Value& value : values_) {
    before.push_back(std::move(value.memory));
    place(value);
  }
  for (Value& value : values_) {
    if (value.lies_at >= 0) value.cell.data = at(value.lies_at).cell.data;
  }
  write_streams();
}

void GpuHost::wait() const {
  cuda::check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream_.handle)),
              "finish what a test enqueued");
}

void GpuHost::upload(int32_t value, const Tensor& tensor) {
  const Value& v = at(value);
  require(tensor.dtype() == v.meta.dtype && tensor.shape() == v.shape(),
          "value {} holds {}{}, but is given {}{}", value, v.meta.dtype, v.shape(), tensor.dtype(),
          tensor.shape());
  const Tensor plain = tensor.plain();
  cuda::copy(v.cell.data, plain.raw(), v.bytes(), stream_);
  wait();
}

Tensor GpuHost::download(int32_t value) const {
  const Value& v = at(value);
  Tensor tensor(v.meta.dtype, v.shape());
  cuda::copy(tensor.raw(), v.cell.data, v.bytes(), stream_);
  wait();
  return tensor;
}

void GpuHost::spoil(int32_t value) {
  cuda::fill(at(value).cell.data, 255, at(value).bytes(), stream_);
}

const Layout& GpuHost::layout_of(int32_t) const { return kPlain; }

const Cell* GpuHost::laid_out(int32_t value, const Layout& layout, bool to_read,
                              std::vector<Reordered>& known) {
  const Cell* cell = &at(value).cell;
  if (layout.plain()) return cell;
  for (const Reordered& r : known) {
    if (r.cell == cell && r.layout == layout) return &at(r.copy).cell;
  }
  const VarMeta meta = at(value).meta;
  Reordered r = {.layout = layout, .cell = cell};
  r.copy = add(VarMeta::tensor(meta.dtype, {layout.physical_numel(meta.shape)}));
  r.reorder = to_read ? gpu_.reorder(meta.shape, meta.dtype, kPlain, layout)
                      : gpu_.reorder(meta.shape, meta.dtype, layout, kPlain);
  if (r.reorder.scratch_bytes > 0) {
    r.scratch = add(VarMeta::tensor(u8, {r.reorder.scratch_bytes}));
  }
  known.push_back(r);
  return &at(r.copy).cell;
}

const Cell* GpuHost::read(int32_t value, const Layout& layout) {
  return laid_out(value, layout, true, before_);
}
const Cell* GpuHost::write(int32_t value, const Layout& layout) {
  return laid_out(value, layout, false, after_);
}

Step GpuHost::with_reorders(Step step) {
  if (before_.empty() && after_.empty()) return step;
  return [this, step = std::move(step), before = before_, after = after_] {
    const auto scratch = [this](const Reordered& r) {
      return r.scratch < 0 ? nullptr : at(r.scratch).cell.data;
    };
    // What the kernel leaves out shows.
    for (const Reordered& r : after) spoil(r.copy);
    for (const Reordered& r : before) {
      r.reorder.run(r.cell->data, at(r.copy).cell.data, scratch(r));
    }
    step();
    for (const Reordered& r : after) {
      r.reorder.run(at(r.copy).cell.data, r.cell->data, scratch(r));
    }
  };
}

const Cell* GpuHost::read_rows(int32_t value) { return &at(rows_of(value)).cell; }
const Cell* GpuHost::write_rows(int32_t value) { return &at(rows_of(value)).cell; }
const Cell* GpuHost::lod_of(int32_t) { return nullptr; }

void GpuHost::share(int32_t from, int32_t to, bool) {
  if (sharing_ != kInPlace || from < 0 || to < 0 || at(from).bytes() != at(to).bytes()) return;
  at(to).lies_at = from;
  at(to).cell.data = at(from).cell.data;
}

const Cell* GpuHost::workspace(int64_t bytes) {
  return &at(add(VarMeta::tensor(u8, {bytes}))).cell;
}

RandomSource GpuHost::random(int64_t op_seed) {
  return RandomSource(&generator_, static_cast<uint64_t>(op_seed));
}

const Cell* GpuHost::random_stream(int64_t op_seed) {
  const int32_t value = add(VarMeta::tensor(u8, {sizeof(RandomStream)}));
  streams_[value] = random(op_seed).draw();
  write_streams();
  return &at(value).cell;
}

void GpuHost::write_streams() {
  for (const auto& [value, stream] : streams_) {
    cuda::copy(at(value).cell.data, &stream, sizeof(stream), stream_);
  }
  wait();
}

void* GpuHost::resize(int32_t value, const Shape&) {
  refuse("value {} asks for memory while a step runs, which no graph can hold", value);
}

}  // namespace flotilla
