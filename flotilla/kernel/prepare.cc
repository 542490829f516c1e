#include "flotilla/kernel/prepare.h"

namespace flotilla {

void PrepareContext::check_reads() const {
  for (const auto& [slot, i] : read_) {
    invariant(is_looked_at(slot, i),
              "the kernel of {} reads variable {} of its input {}, but nothing compares how many "
              "elements it has",
              op().type(), i, slot);
  }
}

const Layout& PrepareContext::layout(std::string_view slot, size_t i) const {
  return host_.layout_of(there(slot, i).value);
}

const Cell* PrepareContext::read(std::string_view slot, size_t i, DType dtype,
                                 const Layout& layout) {
  const Port& p = there(slot, i);
  check_dense(p, slot);
  check_dtype(p, slot, dtype);
  read_.insert(slot, i);
  return host_.read(p.value, layout);
}

const Cell* PrepareContext::write(std::string_view slot, size_t i, DType dtype,
                                  const Layout& layout) {
  const Port& p = written_port(slot, i);
  check_dense(p, slot);
  check_dtype(p, slot, dtype);
  check_size(p.meta, slot);
  return host_.write(p.value, layout);
}

void PrepareContext::check_moved(std::string_view slot, const VarMeta& meta) {
  if (moves_any_) return;
  if (!moved_) moved_ = {std::string(slot), meta.dtype};
  require(meta.dtype == moved_->second,
          "{} moves elements between {} and {}, which must have one dtype, but hold {} and {}",
          op().type(), moved_->first, slot, moved_->second, meta.dtype);
}

In<char> PrepareContext::in_bytes(std::string_view slot, size_t i, const Layout& layout) {
  const Port& p = there(slot, i);
  check_dense(p, slot);
  check_moved(slot, p.meta);
  read_.insert(slot, i);
  return In<char>(host_.read(p.value, layout));
}

Out<char> PrepareContext::out_bytes(std::string_view slot, size_t i, const Layout& layout) {
  const Port& p = written_port(slot, i);
  check_dense(p, slot);
  check_size(p.meta, slot);
  check_moved(slot, p.meta);
  return Out<char>(host_.write(p.value, layout));
}

LodHandle PrepareContext::lod(std::string_view slot, size_t i) {
  const Port& p = port(slot, i);
  if (p.value < 0) return {};
  const bool tall = p.meta.kind == VarKind::kTensor && p.meta.shape.rank() > 0;
  return LodHandle(host_.lod_of(p.value), tall ? p.meta.shape[0] : -1,
                   tall ? p.meta.sequences : -1);
}

void PrepareContext::in_place(std::string_view in, std::string_view out, size_t i, size_t j) {
  host_.share(port(in, i).value, output_port(out, j).value, false);
}

void PrepareContext::view(std::string_view in, std::string_view out, size_t i, size_t j) {
  const Port &from = port(in, i), &to = output_port(out, j);
  check_same_bytes(from, to, in, out);
  host_.share(from.value, to.value, true);
}

void PrepareContext::keep_together(std::string_view slot) {
  const std::vector<int32_t> inputs = input_values(slot);
  host_.keep_together(inputs.empty() ? output_values(slot) : inputs);
}

std::vector<Exchanged> PrepareContext::exchanged(std::string_view in, std::string_view out) {
  for (size_t i = 0; i < count(in); ++i) check_dense(port(in, i), in);
  return host_.exchange(input_values(in), output_values(out));
}

}  // namespace flotilla
