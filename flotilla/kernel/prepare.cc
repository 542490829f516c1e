#include "flotilla/kernel/prepare.h"

namespace flotilla {
namespace {

const PrepareContext::Port* find_port(const PrepareContext::Ports& ports, std::string_view slot,
                                      size_t i) {
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
                               PrepareHost& host, SlotVars looked_at)
    : op_(op),
      def_(def),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      host_(host),
      looked_at_(std::move(looked_at)) {}

void PrepareContext::check_reads() const {
  for (const auto& [slot, i] : read_) {
    invariant(looked_at_.contains(slot, i),
              "the kernel of {} reads variable {} of its input {}, but nothing compares how many "
              "elements it has",
              op_.type(), i, slot);
  }
}

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

const PrepareContext::Port& PrepareContext::check_there(const Port& port,
                                                        std::string_view slot) const {
  require(port.value >= 0, "{} needs a variable in slot {}, but has {} there", op_.type(), slot,
          kEmptyVar);
  return port;
}

void PrepareContext::check_size(const VarMeta& meta, std::string_view slot) const {
  require(bytes_of(meta) >= 0, "the size of {} of {} is not known when it is written: it is {}",
          slot, op_.type(), meta.shape);
}

const PrepareContext::Port& PrepareContext::written_port(std::string_view slot, size_t i) const {
  const Slot* known = def_.find_output(slot);
  invariant(known == nullptr || !known->shape_only, "{} must not write its output {}", op_.type(),
            slot);
  return check_there(output_port(slot, i), slot);
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
  const Port& found = check_there(port(slot, i), slot);
  looked_at_.insert(slot, i);
  return found.meta;
}

const Layout& PrepareContext::layout(std::string_view slot, size_t i) const {
  return host_.layout_of(check_there(port(slot, i), slot).value);
}

const Cell* PrepareContext::read(std::string_view slot, size_t i, DType dtype,
                                 const Layout& layout) {
  const Port& p = check_there(port(slot, i), slot);
  check_dense(p, slot);
  require(p.meta.dtype == dtype, "slot {} of {} must hold {}, but holds {}", slot, op_.type(),
          dtype, p.meta.dtype);
  read_.insert(slot, i);
  return host_.read(p.value, layout);
}

const Cell* PrepareContext::write(std::string_view slot, size_t i, DType dtype,
                                  const Layout& layout) {
  const Port& p = written_port(slot, i);
  check_dense(p, slot);
  require(p.meta.dtype == dtype, "slot {} of {} must hold {}, but holds {}", slot, op_.type(),
          dtype, p.meta.dtype);
  check_size(p.meta, slot);
  return host_.write(p.value, layout);
}

void PrepareContext::check_moved(std::string_view slot, const VarMeta& meta) {
  if (moves_any_) return;
  if (!moved_) moved_ = {std::string(slot), meta.dtype};
  require(meta.dtype == moved_->second,
          "{} moves elements between {} and {}, which must have one dtype, but hold {} and {}",
          op_.type(), moved_->first, slot, moved_->second, meta.dtype);
}

In<char> PrepareContext::in_bytes(std::string_view slot, size_t i, const Layout& layout) {
  const Port& p = check_there(port(slot, i), slot);
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

const Cell* PrepareContext::read_rows(std::string_view slot, size_t i) {
  return host_.read_rows(check_there(port(slot, i), slot).value);
}

const Cell* PrepareContext::write_rows(std::string_view slot, size_t i) {
  return host_.write_rows(check_there(output_port(slot, i), slot).value);
}

const VarMeta& PrepareContext::sparse_meta(std::string_view slot, size_t i, DType dtype) const {
  const VarMeta& m = meta(slot, i);
  require(m.kind == VarKind::kSelectedRows && m.dtype == dtype && m.shape.rank() > 0,
          "slot {} of {} must hold sparse rows of {}", slot, op_.type(), dtype);
  return m;
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
  const VarMeta &from = port(in, i).meta, &to = output_port(out, j).meta;
  const int64_t have = bytes_of(from), wanted = bytes_of(to);
  require(have < 0 || wanted < 0 || have == wanted,
          "{} of {} must take the bytes of {}, but they are {}{} and {}{}", out, op_.type(), in,
          to.dtype, to.shape, from.dtype, from.shape);
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
