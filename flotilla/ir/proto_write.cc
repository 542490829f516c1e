#include <google/protobuf/arena.h>

#include <limits>

#include "flotilla/ir/framework.pb.h"
#include "flotilla/ir/proto.h"
#include "flotilla/ir/quote.h"

namespace flotilla {
namespace {

namespace pb = paddle::framework::proto;

void write(const Scalar& scalar, pb::Scalar* out) {
  if (const auto* flag = std::get_if<bool>(&scalar.value)) {
    out->set_type(pb::Scalar::BOOLEAN);
    out->set_b(*flag);
  } else if (const auto* whole = std::get_if<int64_t>(&scalar.value)) {
    out->set_type(pb::Scalar::LONG);
    out->set_i(*whole);
  } else if (const auto* real = std::get_if<double>(&scalar.value)) {
    out->set_type(pb::Scalar::FLOAT64);
    out->set_r(*real);
  } else {
    const auto& complex = std::get<std::complex<double>>(scalar.value);
    out->set_type(pb::Scalar::COMPLEX128);
    out->mutable_c()->set_r(complex.real());
    out->mutable_c()->set_i(complex.imag());
  }
}

struct WriteAttr {
  pb::OpDesc::Attr* out = nullptr;

  // Kept out of the message by the caller.
  void operator()(std::monostate) const {}
  void operator()(bool value) const { type(pb::BOOLEAN), out->set_b(value); }
  void operator()(int32_t value) const { type(pb::INT), out->set_i(value); }
  void operator()(int64_t value) const { type(pb::LONG), out->set_l(value); }
  void operator()(float value) const { type(pb::FLOAT), out->set_f(value); }
  void operator()(double value) const { type(pb::FLOAT64), out->set_float64(value); }
  void operator()(const std::string& value) const { type(pb::STRING), out->set_s(value); }
  void operator()(const BlockRef& value) const { type(pb::BLOCK), out->set_block_idx(value.index); }
  void operator()(const VarRef& value) const { type(pb::VAR), out->set_var_name(value.name); }
  void operator()(const Scalar& value) const {
    type(pb::SCALAR), write(value, out->mutable_scalar());
  }
  void operator()(const std::vector<bool>& list) const {
    type(pb::BOOLEANS);
    for (const bool value : list) out->add_bools(value);
  }
  void operator()(const std::vector<int32_t>& list) const {
    type(pb::INTS);
    out->mutable_ints()->Add(list.begin(), list.end());
  }
  void operator()(const std::vector<int64_t>& list) const {
    type(pb::LONGS);
    out->mutable_longs()->Add(list.begin(), list.end());
  }
  void operator()(const std::vector<float>& list) const {
    type(pb::FLOATS);
    out->mutable_floats()->Add(list.begin(), list.end());
  }
  void operator()(const std::vector<double>& list) const {
    type(pb::FLOAT64S);
    out->mutable_float64s()->Add(list.begin(), list.end());
  }
  void operator()(const std::vector<std::string>& list) const {
    type(pb::STRINGS);
    for (const std::string& value : list) out->add_strings(value);
  }
  void operator()(const std::vector<BlockRef>& list) const {
    type(pb::BLOCKS);
    for (const BlockRef& value : list) out->add_blocks_idx(value.index);
  }
  void operator()(const std::vector<VarRef>& list) const {
    type(pb::VARS);
    for (const VarRef& value : list) out->add_vars_name(value.name);
  }
  void operator()(const std::vector<Scalar>& list) const {
    type(pb::SCALARS);
    for (const Scalar& value : list) write(value, out->add_scalars());
  }

  void type(pb::AttrType code) const { out->set_type(code); }
};

void write(const std::string& slot, const std::vector<std::string>& vars, pb::OpDesc::Var* out) {
  out->set_parameter(slot);
  for (const std::string& var : vars) out->add_arguments(var);
}

void write(const Op& op, pb::OpDesc* out) {
  out->set_type(op.type());
  for (const auto& [slot, vars] : op.inputs()) write(slot, vars, out->add_inputs());
  for (const auto& [slot, vars] : op.outputs()) write(slot, vars, out->add_outputs());
  for (const auto& [name, value] : op.attrs()) {
    if (std::holds_alternative<std::monostate>(value)) continue;
    pb::OpDesc::Attr* attr = out->add_attrs();
    attr->set_name(name);
    std::visit(WriteAttr{attr}, value);
  }
}

void write(DType dtype, const Shape& shape, pb::VarType::TensorDesc* out) {
  out->set_data_type(static_cast<pb::VarType::Type>(to_paddle(dtype)));
  out->mutable_dims()->Add(shape.begin(), shape.end());
}

// LoDTensorDesc or LoDTensorArrayDesc.
template <typename Desc>
void write(DType dtype, const Shape& shape, int32_t lod_level, Desc* out) {
  write(dtype, shape, out->mutable_tensor());
  out->set_lod_level(lod_level);
}

void write_type(const Var& var, pb::VarType* out) {
  out->set_type(static_cast<pb::VarType::Type>(var.kind));
  switch (var.kind) {
    case VarKind::kTensor:
      return write(var.dtype, var.shape, var.lod_level, out->mutable_lod_tensor());
    case VarKind::kTensorArray:
      return write(var.dtype, var.shape, var.lod_level, out->mutable_tensor_array());
    case VarKind::kSelectedRows:
      return write(var.dtype, var.shape, out->mutable_selected_rows());
    case VarKind::kString:
      return write(var.dtype, var.shape, out->mutable_string());
    case VarKind::kStrings:
      return write(var.dtype, var.shape, out->mutable_strings());
    case VarKind::kVocab:
      return write(var.dtype, var.shape, out->mutable_vocab());
    case VarKind::kSparseCoo:
      return write(var.dtype, var.shape, out->mutable_sparse_coo());
    case VarKind::kSparseCsr:
      return write(var.dtype, var.shape, out->mutable_sparse_csr());
    case VarKind::kReader:
      for (const ReaderSlot& slot : var.reader) {
        write(slot.dtype, slot.shape, slot.lod_level, out->mutable_reader()->add_lod_tensor());
      }
      return;
    default:
      return;  // the kind says all
  }
}

void write(const Var& var, pb::VarDesc* out) {
  out->set_name(var.name);
  write_type(var, out->mutable_type());
  out->set_persistable(var.persistable);
  if (var.need_check_feed) out->set_need_check_feed(true);
  if (var.is_parameter()) out->set_is_parameter(true);
  if (var.stop_gradient) out->set_stop_gradient(true);
}

void write(const Block& block, pb::BlockDesc* out) {
  out->set_idx(block.index());
  out->set_parent_idx(block.parent());
  if (block.forward_block() >= 0) out->set_forward_block_idx(block.forward_block());
  for (const auto& var : block.vars()) write(*var, out->add_vars());
  for (const auto& op : block.ops()) write(*op, out->add_ops());
}

void write(const WireVersions& versions, pb::ProgramDesc* out) {
  out->mutable_version()->set_version(versions.program);
  for (const auto& [op, version] : versions.ops) {
    pb::OpVersionMap::OpVersionPair* pair = out->mutable_op_version_map()->add_pair();
    pair->set_op_name(op);
    pair->mutable_op_version()->set_version(version);
  }
}

}  // namespace

std::string serialize(const Program& program) {
  google::protobuf::Arena arena;
  auto* message = google::protobuf::Arena::CreateMessage<pb::ProgramDesc>(&arena);
  for (const auto& block : program.blocks()) write(*block, message->add_blocks());
  write(program.wire_versions(), message);
  const size_t size = message->ByteSizeLong();
  require(size <= std::numeric_limits<int32_t>::max(),
          "a program must take less than 2 GiB as bytes, but this one takes {}", size);
  std::string bytes;
  message->SerializeToString(&bytes);
  return bytes;
}

}  // namespace flotilla
