#include "flotilla/kernel/prepare.h"

namespace flotilla {
namespace {

const PrepareContext::Port* find_port(const PrepareContext::Ports& ports, std::string_view slot,
                                      size_t i) {
  const auto found = ports.find(slot);
  if (found == ports.end() || i >= found->second.size()) return nullptr;
  return &found->second[i];
}

}  // namespace

void PrepareHost::resize_rows(int32_t /*value*/, int64_t /*count*/) {
  refuse("sparse rows whose number is known only when the program runs are not possible here");
}

void PrepareHost::set_lod(int32_t /*value*/, LoD /*lod*/) {
  refuse("sequences that an operator makes are not possible here");
}

std::vector<Exchanged> PrepareHost::exchange(const std::vector<int32_t>& /*ins*/,
                                             const std::vector<int32_t>& /*outs*/) {
  refuse("there are no other processes to exchange variables with");
}

PrepareContext::PrepareContext(const Op& op, const OpDef& def, Ports inputs, Ports outputs,
                               PrepareHost& host)
    : op_(op), def_(def), inputs_(std::move(inputs)), outputs_(std::move(outputs)), host_(host) {}

const PrepareContext::Port& PrepareContext::port(std::string_view slot, size_t i) const {
  const Port* found = find_port(inputs_, slot, i);
  if (found == nullptr) found = find_port(outputs_, slot, i);
  require(found != nullptr, "{} has no variable {} in slot {}", op_.type(), i, slot);
  return *found;
}

const PrepareContext::Port& PrepareContext::output_port(std::string_view slot, size_t i) const {
  const Port* found = find_port(outputs_, slot, i);
  require(found != nullptr, "{} has no output {} in slot {}", op_.type(), i, slot);
  return *found;
}

void PrepareContext::check_dense(const Port& port, std::string_view slot) const {
  require(port.meta.kind != VarKind::kSelectedRows,
          "slot {} of {} takes no sparse rows; a gradient is dense where its embedding has "
          "is_sparse=False",
          slot, op_.type());
}

bool PrepareContext::has(std::string_view slot, size_t i) const {
  const Port* found = find_port(inputs_, slot, i);
  if (found == nullptr) found = find_port(outputs_, slot, i);
  return found != nullptr && found->value >= 0;
}

size_t PrepareContext::count(std::string_view slot) const {
  const Ports& ports = inputs_.contains(slot) ? inputs_ : outputs_;
  const auto found = ports.find(slot);
  return found == ports.end() ? 0 : found->second.size();
}

const VarMeta& PrepareContext::meta(std::string_view slot, size_t i) const {
  return port(slot, i).meta;
}

const Layout& PrepareContext::layout(std::string_view slot, size_t i) const {
  return host_.layout_of(port(slot, i).value);
}

const Cell* PrepareContext::read(std::string_view slot, size_t i, DType dtype,
                                 const Layout& layout) {
  const Port& p = port(slot, i);
  check_dense(p, slot);
  require(p.meta.dtype == dtype, "slot {} of {} must hold {}, but holds {}", slot, op_.type(),
          dtype, p.meta.dtype);
  return host_.read(p.value, layout);
}

const Cell* PrepareContext::write(std::string_view slot, size_t i, DType dtype,
                                  const Layout& layout) {
  const Port& p = output_port(slot, i);
  check_dense(p, slot);
  require(p.meta.dtype == dtype, "slot {} of {} must hold {}, but holds {}", slot, op_.type(),
          dtype, p.meta.dtype);
  return host_.write(p.value, layout);
}

In<char> PrepareContext::in_bytes(std::string_view slot, size_t i, const Layout& layout) {
  check_dense(port(slot, i), slot);
  return In<char>(host_.read(port(slot, i).value, layout));
}

Out<char> PrepareContext::out_bytes(std::string_view slot, size_t i, const Layout& layout) {
  check_dense(output_port(slot, i), slot);
  return Out<char>(host_.write(output_port(slot, i).value, layout));
}

const Cell* PrepareContext::read_rows(std::string_view slot, size_t i) {
  return host_.read_rows(port(slot, i).value);
}

const Cell* PrepareContext::write_rows(std::string_view slot, size_t i) {
  return host_.write_rows(output_port(slot, i).value);
}

const VarMeta& PrepareContext::sparse_meta(std::string_view slot, size_t i, DType dtype) const {
  const VarMeta& m = meta(slot, i);
  require(m.kind == VarKind::kSelectedRows && m.dtype == dtype,
          "slot {} of {} must hold sparse rows of {}", slot, op_.type(), dtype);
  return m;
}

LodHandle PrepareContext::lod(std::string_view slot, size_t i) {
  return LodHandle(host_.lod_of(port(slot, i).value));
}

void PrepareContext::in_place(std::string_view in, std::string_view out, size_t i, size_t j) {
  host_.share(port(in, i).value, output_port(out, j).value, false);
}

void PrepareContext::view(std::string_view in, std::string_view out, size_t i, size_t j) {
  host_.share(port(in, i).value, output_port(out, j).value, true);
}

std::vector<int32_t> PrepareContext::values_of(const Ports& ports, std::string_view slot) {
  std::vector<int32_t> values;
  const auto found = ports.find(slot);
  if (found == ports.end()) return values;
  for (const Port& p : found->second) values.push_back(p.value);
  return values;
}

void PrepareContext::keep_together(std::string_view slot) {
  host_.keep_together(values_of(inputs_.contains(slot) ? inputs_ : outputs_, slot));
}

std::vector<Exchanged> PrepareContext::exchanged(std::string_view in, std::string_view out) {
  for (size_t i = 0; i < count(in); ++i) check_dense(port(in, i), in);
  return host_.exchange(values_of(inputs_, in), values_of(outputs_, out));
}

}  // namespace flotilla
