#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <limits>
#include <optional>
#include <unordered_set>

#include "flotilla/ir/framework.pb.h"
#include "flotilla/ir/proto.h"
#include "flotilla/ir/quote.h"
#include "flotilla/ir/structure.h"

namespace flotilla {
namespace {

namespace pb = paddle::framework::proto;

Scalar read(const pb::Scalar& scalar) {
  switch (scalar.type()) {
    case pb::Scalar::BOOLEAN:
      return {scalar.b()};
    case pb::Scalar::LONG:
      return {scalar.i()};
    case pb::Scalar::FLOAT64:
      return {scalar.r()};
    case pb::Scalar::COMPLEX128:
      return {std::complex<double>(scalar.c().r(), scalar.c().i())};
  }
  refuse("{} is not a scalar type", static_cast<int>(scalar.type()));
}

template <typename T, typename Repeated>
std::vector<T> read_list(const Repeated& list) {
  return std::vector<T>(list.begin(), list.end());
}

std::vector<Scalar> read_scalars(const pb::OpDesc::Attr& attr) {
  std::vector<Scalar> list;
  for (const pb::Scalar& scalar : attr.scalars()) list.push_back(read(scalar));
  return list;
}

std::vector<BlockRef> read_blocks(const pb::OpDesc::Attr& attr) {
  std::vector<BlockRef> list;
  for (const int32_t index : attr.blocks_idx()) list.push_back({index});
  return list;
}

std::vector<VarRef> read_vars(const pb::OpDesc::Attr& attr) {
  std::vector<VarRef> list;
  for (const std::string& name : attr.vars_name()) list.push_back({name});
  return list;
}

Attr read(const pb::OpDesc::Attr& attr) {
  switch (attr.type()) {
    case pb::INT:
      return attr.i();
    case pb::FLOAT:
      return attr.f();
    case pb::STRING:
      return attr.s();
    case pb::INTS:
      return read_list<int32_t>(attr.ints());
    case pb::FLOATS:
      return read_list<float>(attr.floats());
    case pb::STRINGS:
      return read_list<std::string>(attr.strings());
    case pb::BOOLEAN:
      return attr.b();
    case pb::BOOLEANS:
      return read_list<bool>(attr.bools());
    case pb::BLOCK:
      return BlockRef{attr.block_idx()};
    case pb::LONG:
      return attr.l();
    case pb::BLOCKS:
      return read_blocks(attr);
    case pb::LONGS:
      return read_list<int64_t>(attr.longs());
    case pb::FLOAT64S:
      return read_list<double>(attr.float64s());
    case pb::VAR:
      return VarRef{attr.var_name()};
    case pb::VARS:
      return read_vars(attr);
    case pb::FLOAT64:
      return attr.float64();
    case pb::SCALAR:
      return read(attr.scalar());
    case pb::SCALARS:
      return read_scalars(attr);
  }
  refuse("{} is not an attribute type", static_cast<int>(attr.type()));
}

template <typename Repeated>
Slots read_slots(const Repeated& vars, std::string_view side, std::string_view place) {
  Slots slots;
  for (const pb::OpDesc::Var& var : vars) {
    const bool is_new =
        slots.emplace(var.parameter(), read_list<std::string>(var.arguments())).second;
    require(is_new, "{}: {} {} is given twice", place, side, bare_or_quoted(var.parameter()));
  }
  return slots;
}

Op read(const pb::OpDesc& op, int32_t block, int position) {
  const std::string place =
      fmt::format("block {}, op #{} ({})", block, position, bare_or_quoted(op.type()));
  Attrs attrs;
  for (const pb::OpDesc::Attr& attr : op.attrs()) {
    // Paddle 2.6 writes some hints (use_mkldnn) of reshape2 twice.
    const Attr value = read(attr);
    const auto [found, is_new] = attrs.emplace(attr.name(), value);
    require(is_new || found->second == value, "{}: attribute {} has two values", place,
            bare_or_quoted(attr.name()));
  }
  return Op(op.type(), read_slots(op.inputs(), "input", place),
            read_slots(op.outputs(), "output", place), std::move(attrs));
}

// ---- variables

void read_dtype(const pb::VarType::TensorDesc& tensor, DType& dtype, std::string_view place) {
  require(is_paddle_dtype(tensor.data_type()), "{}: unknown element type {}", place,
          pb::VarType::Type_Name(tensor.data_type()));
  dtype = from_paddle(tensor.data_type());
}

void read_shape(const pb::VarType::TensorDesc& tensor, Shape& shape, std::string_view place) {
  std::vector<int64_t> dims = read_list<int64_t>(tensor.dims());
  // Paddle multiplies -1 by known extents where it flattens: unknown all the same.
  for (int64_t& extent : dims) extent = std::max<int64_t>(extent, -1);
  shape = Shape(std::move(dims));
  check_extents(shape, place);
}

int32_t read_lod_level(int32_t level, std::string_view place) {
  require(0 <= level && level <= kMaxLodLevel, "{}: a lod_level must lie in [0, {}], but is {}",
          place, kMaxLodLevel, level);
  return level;
}

// The description that belongs to the kind. Paddle leaves it out where it knows nothing.
void read_type(const pb::VarType& type, Var& var, std::string_view place) {
  const auto tensor = [&](bool is_there, const pb::VarType::TensorDesc& desc) {
    if (!is_there) return;
    // Some layers of Paddle 1.8 give what only their op writes the type LOD_TENSOR: the op decides.
    const bool settled = var.persistable || var.is_data || is_paddle_dtype(desc.data_type());
    if (settled) read_dtype(desc, var.dtype, place);
    read_shape(desc, var.shape, place);
  };
  switch (var.kind) {
    case VarKind::kTensor:
      tensor(type.has_lod_tensor(), type.lod_tensor().tensor());
      var.lod_level = read_lod_level(type.lod_tensor().lod_level(), place);
      return;
    case VarKind::kTensorArray:
      tensor(type.has_tensor_array(), type.tensor_array().tensor());
      var.lod_level = read_lod_level(type.tensor_array().lod_level(), place);
      return;
    case VarKind::kSelectedRows:
      return tensor(type.has_selected_rows(), type.selected_rows());
    case VarKind::kString:
      return tensor(type.has_string(), type.string());
    case VarKind::kStrings:
      return tensor(type.has_strings(), type.strings());
    case VarKind::kVocab:
      return tensor(type.has_vocab(), type.vocab());
    case VarKind::kSparseCoo:
      return tensor(type.has_sparse_coo(), type.sparse_coo());
    case VarKind::kSparseCsr:
      return tensor(type.has_sparse_csr(), type.sparse_csr());
    case VarKind::kReader:
      for (const pb::VarType::LoDTensorDesc& desc : type.reader().lod_tensor()) {
        ReaderSlot& slot = var.reader.emplace_back();
        read_dtype(desc.tensor(), slot.dtype, place);
        read_shape(desc.tensor(), slot.shape, place);
        slot.lod_level = read_lod_level(desc.lod_level(), place);
      }
      return;
    default:
      return;
  }
}

Var read(const pb::VarDesc& desc, int32_t block) {
  const std::string place =
      fmt::format("block {}, variable {}", block, bare_or_quoted(desc.name()));
  Var var{.name = desc.name(),
          .kind = static_cast<VarKind>(desc.type().type()),
          .persistable = desc.persistable(),
          .stop_gradient = desc.stop_gradient(),
          .is_data = desc.need_check_feed(),
          .need_check_feed = desc.need_check_feed()};
  require(name_of(var.kind) != "unknown", "{}: unknown variable type {}", place,
          pb::VarType::Type_Name(desc.type().type()));
  read_type(desc.type(), var, place);
  if (desc.is_parameter()) var.parameter = ParameterInfo{.trainable = !desc.stop_gradient()};
  return var;
}

// ---- the program

void read(const pb::BlockDesc& desc, Block& block) {
  // Paddle lets blocks that its passes make name themselves.
  const int32_t forward = desc.forward_block_idx();
  block.set_forward_block(forward == block.index() ? -1 : std::max(forward, -1));
  for (const pb::VarDesc& var : desc.vars()) {
    require(block.find_var(var.name()) == nullptr, "block {}: variable {} is declared twice",
            block.index(), bare_or_quoted(var.name()));
    block.add_var(read(var, block.index()));
  }
  for (int i = 0; i < desc.ops_size(); ++i) {
    block.push_back(read(desc.ops(i), block.index(), i));
  }
}

WireVersions read_versions(const pb::ProgramDesc& message) {
  WireVersions versions{.program = message.version().version()};
  for (const pb::OpVersionMap::OpVersionPair& pair : message.op_version_map().pair()) {
    const bool is_new = versions.ops.emplace(pair.op_name(), pair.op_version().version()).second;
    require(is_new, "the version of {} is given twice", bare_or_quoted(pair.op_name()));
  }
  return versions;
}

void add_blocks(const pb::ProgramDesc& message, Program& program) {
  require(message.blocks_size() > 0, "a program needs at least one block, but there is none");
  for (int i = 0; i < message.blocks_size(); ++i) {
    const pb::BlockDesc& block = message.blocks(i);
    require(block.idx() == i, "block {} says that it is block {}", i, block.idx());
    if (i == 0) {
      require(block.parent_idx() == -1, "the global block says that it lies in block {}",
              block.parent_idx());
    } else {
      require(0 <= block.parent_idx() && block.parent_idx() < i,
              "block {} must lie in a block before it, but says that it lies in block {}", i,
              block.parent_idx());
      program.create_block(block.parent_idx());
    }
  }
  for (int i = 0; i < message.blocks_size(); ++i) read(message.blocks(i), program.block(i));
}

// The wire does not say which variables are fed. One that is read and that nobody writes must be.
void mark_data(const Program& program) {
  std::unordered_set<const Var*> written;
  for (const auto& block : program.blocks()) {
    for (const auto& op : block->ops()) {
      for (const auto& [slot, vars] : op->outputs()) {
        for (const std::string& name : vars) written.insert(block->find_var_recursive(name));
      }
    }
  }
  for (const auto& op : program.global_block().ops()) {
    for (const auto& [slot, vars] : op->inputs()) {
      for (const std::string& name : vars) {
        Var* var = program.global_block().find_var(name);
        if (var == nullptr || written.contains(var)) continue;
        if (var->kind == VarKind::kTensor && !var->persistable) var->is_data = true;
      }
    }
  }
}

// What is read and written by no op has the type that stands in the file.
void check_settled(const pb::ProgramDesc& message, const Program& program) {
  for (const pb::VarDesc& desc : message.blocks(0).vars()) {
    const auto code = desc.type().lod_tensor().tensor().data_type();
    if (!desc.type().has_lod_tensor() || is_paddle_dtype(code)) continue;
    require(!program.global_block().find_var(desc.name())->is_data,
            "block 0, variable {}: unknown element type {}, and no op writes it",
            bare_or_quoted(desc.name()), pb::VarType::Type_Name(code));
  }
}

// ---- bytes that are no program

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Messages whose fields are messages; those of the others are not looked into.
enum class Part { kProgram, kBlock, kVar, kOp, kLeaf };

std::optional<Part> part_in(Part outer, int field) {
  if (outer == Part::kProgram && field == 1) return Part::kBlock;
  if (outer == Part::kBlock && field == 3) return Part::kVar;
  if (outer == Part::kBlock && field == 4) return Part::kOp;
  if (outer == Part::kVar && field == 2) return Part::kLeaf;                               // type
  if (outer == Part::kOp && (field == 1 || field == 2 || field == 4)) return Part::kLeaf;  // slots
  return std::nullopt;
}

// The first field that does not follow the wire format. `from` is where `bytes` begin in the file.
std::optional<std::string> broken_field(std::string_view bytes, size_t from, Part part) {
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  while (static_cast<size_t>(in.CurrentPosition()) < bytes.size()) {
    const size_t start = from + static_cast<size_t>(in.CurrentPosition());
    const uint32_t tag = in.ReadTag();
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (field != 0 && WireFormatLite::SkipField(&in, tag)) continue;
      return fmt::format("there is no field at byte {}", start);
    }
    uint32_t length = 0;
    const bool has_length = in.ReadVarint32(&length);
    if (!has_length) return fmt::format("field {} at byte {} has no length", field, start);
    const size_t at = static_cast<size_t>(in.CurrentPosition());
    if (length > bytes.size() - at) {
      return fmt::format("field {} at byte {} takes {} bytes, but only {} follow", field, start,
                         length, bytes.size() - at);
    }
    if (const auto inner = part_in(part, field)) {
      if (auto found = broken_field(bytes.substr(at, length), from + at, *inner)) return found;
    }
    in.Skip(static_cast<int>(length));
  }
  return std::nullopt;
}

}  // namespace

std::shared_ptr<Program> deserialize(std::string_view bytes) {
  require(bytes.size() <= std::numeric_limits<int32_t>::max(),
          "a program must take less than 2 GiB as bytes, but there are {}", bytes.size());
  google::protobuf::Arena arena;
  auto* message = google::protobuf::Arena::CreateMessage<pb::ProgramDesc>(&arena);
  // Partial, because a field that is missing would be written to stderr.
  if (!message->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    refuse("the {} bytes are not a program: {}", bytes.size(),
           broken_field(bytes, 0, Part::kProgram).value_or("they do not follow the wire format"));
  }
  if (!message->IsInitialized()) {
    refuse(
        "the {} bytes are not a program: these fields are missing or have unknown codes: {:.300}",
        bytes.size(), message->InitializationErrorString());
  }
  auto program = std::make_shared<Program>();
  add_blocks(*message, *program);
  program->set_wire_versions(read_versions(*message));
  check_blocks(*program);
  mark_data(*program);
  check_settled(*message, *program);
  return program;
}

}  // namespace flotilla
