#include "flotilla/kernel/ports.h"

#include <utility>

namespace flotilla {
namespace {

const OpPorts::Port* find_port(const OpPorts::Ports& ports, std::string_view slot, size_t i) {
  const auto found = ports.find(slot);
  if (found == ports.end() || i >= found->second.size()) return nullptr;
  return &found->second[i];
}

// Of the elements; -1 where their number is not known.
int64_t bytes_of(const VarMeta& meta) {
  const bool sparse = meta.kind == VarKind::kSelectedRows;
  if (!meta.shape.known() || (sparse && meta.rows < 0)) return -1;
  const int64_t count =
      sparse ? meta.rows * meta.shape.numel(1, meta.shape.rank()) : meta.shape.numel();
  return count * size_of(meta.dtype);
}

std::vector<int32_t> values_of(const OpPorts::Ports& ports, std::string_view slot) {
  std::vector<int32_t> values;
  const auto found = ports.find(slot);
  if (found == ports.end()) return values;
  for (const OpPorts::Port& p : found->second) values.push_back(p.value);
  return values;
}

}  // namespace

OpPorts::OpPorts(const Op& op, const OpDef& def, Ports inputs, Ports outputs, SlotVars looked_at)
    : op_(op),
      def_(def),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      looked_at_(std::move(looked_at)) {}

const OpPorts::Port& OpPorts::port(std::string_view slot, size_t i) const {
  const Port* found = find_port(inputs_, slot, i);
  if (found == nullptr) found = find_port(outputs_, slot, i);
  require(found != nullptr, "{} has no variable {} in slot {}", op_.type(), i, slot);
  return *found;
}

const OpPorts::Port& OpPorts::output_port(std::string_view slot, size_t i) const {
  const Port* found = find_port(outputs_, slot, i);
  require(found != nullptr, "{} has no output {} in slot {}", op_.type(), i, slot);
  return *found;
}

const OpPorts::Port& OpPorts::check_there(const Port& port, std::string_view slot) const {
  require(port.value >= 0, "{} needs a variable in slot {}, but has {} there", op_.type(), slot,
          kEmptyVar);
  return port;
}

const OpPorts::Port& OpPorts::written_port(std::string_view slot, size_t i) const {
  const Slot* known = def_.find_output(slot);
  invariant(known == nullptr || !known->shape_only, "{} must not write its output {}", op_.type(),
            slot);
  return check_there(output_port(slot, i), slot);
}

void OpPorts::check_size(const VarMeta& meta, std::string_view slot) const {
  require(bytes_of(meta) >= 0, "the size of {} of {} is not known when it is written: it is {}",
          slot, op_.type(), meta.shape);
}

void OpPorts::check_dense(const Port& port, std::string_view slot) const {
  require(port.meta.kind != VarKind::kSelectedRows,
          "slot {} of {} does not accept sparse rows; the gradient of an embedding is dense with "
          "is_sparse=False",
          slot, op_.type());
}

void OpPorts::check_dtype(const Port& port, std::string_view slot, DType dtype) const {
  require(port.meta.dtype == dtype, "slot {} of {} must hold {}, but holds {}", slot, op_.type(),
          dtype, port.meta.dtype);
}

bool OpPorts::has(std::string_view slot, size_t i) const {
  const Port* found = find_port(inputs_, slot, i);
  if (found == nullptr) found = find_port(outputs_, slot, i);
  return found != nullptr && found->value >= 0;
}

size_t OpPorts::count(std::string_view slot) const {
  const Ports& ports = inputs_.contains(slot) ? inputs_ : outputs_;
  const auto found = ports.find(slot);
  return found == ports.end() ? 0 : found->second.size();
}

const VarMeta& OpPorts::meta(std::string_view slot, size_t i) const {
  const Port& found = there(slot, i);
  looked_at_.insert(slot, i);
  return found.meta;
}

const VarMeta& OpPorts::sparse_meta(std::string_view slot, size_t i, DType dtype) const {
  const VarMeta& m = meta(slot, i);
  require(m.kind == VarKind::kSelectedRows && m.dtype == dtype && m.shape.rank() > 0,
          "slot {} of {} must hold sparse rows of {}", slot, op_.type(), dtype);
  return m;
}

void OpPorts::check_same_bytes(const Port& from, const Port& to, std::string_view in,
                               std::string_view out) const {
  const int64_t have = bytes_of(from.meta), wanted = bytes_of(to.meta);
  require(have < 0 || wanted < 0 || have == wanted,
          "{} of {} must take the bytes of {}, but they are {}{} and {}{}", out, op_.type(), in,
          to.meta.dtype, to.meta.shape, from.meta.dtype, from.meta.shape);
}

std::vector<int32_t> OpPorts::input_values(std::string_view slot) const {
  return values_of(inputs_, slot);
}

std::vector<int32_t> OpPorts::output_values(std::string_view slot) const {
  return values_of(outputs_, slot);
}

}  // namespace flotilla
