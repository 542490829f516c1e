#include "flotilla/layers/reader.h"

#include <atomic>

#include "flotilla/base/dtype.h"
#include "flotilla/layers/context.h"
#include "flotilla/op/build.h"

namespace flotilla::layers {

void create_py_reader(Block& block, const std::string& queue, const std::string& reader,
                      const std::vector<ReaderSlot>& slots, const std::vector<bool>& checked) {
  std::vector<int32_t> extents, ranks, lod_levels, dtypes, checks;
  for (size_t i = 0; i < slots.size(); ++i) {
    for (const int64_t extent : slots[i].shape) extents.push_back(static_cast<int32_t>(extent));
    ranks.push_back(static_cast<int32_t>(slots[i].shape.rank()));
    lod_levels.push_back(slots[i].lod_level);
    dtypes.push_back(to_paddle(slots[i].dtype));
    checks.push_back(checked[i] ? 1 : 0);
  }
  block.add_var({.name = reader, .kind = VarKind::kReader, .persistable = true, .reader = slots});
  append_op(block, "create_py_reader", {{"blocking_queue", {queue}}}, {{"Out", {reader}}},
            {{"shape_concat", extents},
             {"ranks", ranks},
             {"lod_levels", lod_levels},
             {"dtypes", dtypes},
             {"need_check_feed", checks},
             {"use_data_config", true},
             {"device_index", int32_t{0}},
             {"device_count", int32_t{1}}});
}

void declare_reader(Block& block, const Var& var) {
  block.add_var(
      {.name = var.name, .kind = VarKind::kReader, .persistable = true, .reader = var.reader});
}

void double_buffer(Block& block, const std::string& under, const std::string& name) {
  block.add_var({.name = name,
                 .kind = VarKind::kReader,
                 .persistable = true,
                 .reader = block.var(under).reader});
  append_op(block, "create_double_buffer_reader", {{"UnderlyingReader", {under}}},
            {{"Out", {name}}}, {{"place", std::string("AUTO")}});
}

void read(Block& block, const std::string& reader, const std::vector<std::string>& outputs) {
  append_op(block, "read", {{"Reader", {reader}}}, {{"Out", outputs}},
            {{"throw_eof_exp", true}, {"infer_out", true}, {"drop_last", true}});
}

std::string read_from_loader(const std::vector<std::string>& outputs, bool double_buffered) {
  // Not a unique name of the context: guards start those anew, and the scope is the process'.
  static std::atomic<int64_t> readers = 0;
  const int64_t n = readers++;
  Block& block = default_main_program().global_block();
  std::vector<ReaderSlot> slots;
  std::vector<bool> checked;
  for (const std::string& name : outputs) {
    const Var& var = block.var(name);
    slots.push_back({var.dtype, var.shape, var.lod_level});
    checked.push_back(var.need_check_feed);
  }
  const std::string reader = fmt::format("create_py_reader_{}", n);
  create_py_reader(block, fmt::format("lod_tensor_blocking_queue_{}", n), reader, slots, checked);
  std::string from = reader;
  if (double_buffered) double_buffer(block, reader, from = fmt::format("double_buffer_{}", n));
  read(block, from, outputs);
  return reader;
}

}  // namespace flotilla::layers
