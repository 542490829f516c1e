// distributed_push_sparse: the gradients of looked up rows, to be sent when the step ends.

#include "flotilla/ops/ps/servers.h"

namespace flotilla::ops {
namespace {

void infer_push(InferContext& c) {
  require(c.in_count("Ids") == c.in_count("Grads"),
          "distributed_push_sparse has {} variables with ids, but {} gradients", c.in_count("Ids"),
          c.in_count("Grads"));
  const int64_t width = c.attr<int64_t>("size");
  for (size_t i = 0; i < c.in_count("Ids"); ++i) {
    check_ids(c, i);
    const Shape& ids = c.in("Ids", i).shape;
    const Shape& rows = c.in("Grads", i).shape;
    require(!ids.known() || !rows.known() || ids.numel() * width == rows.numel(),
            "ids of shape {} have rows of {} elements, but their gradient has shape {}", ids, width,
            rows);
  }
}

// What a step notes lasts until send_barrier, which reads all of it.
Step push(PrepareContext& c) {
  struct Dense {
    IdsIn ids;
    In<float> rows = {};
  };
  std::vector<Dense> dense;
  for (size_t i = 0; i < c.count("Ids"); ++i) {
    dense.push_back({IdsIn(c, i), c.in<float>("Grads", i)});
  }
  std::vector<SparseIn<float>> sparse;
  for (size_t i = 0; i < c.count("Rows"); ++i) sparse.push_back(c.sparse_in<float>("Rows", i));
  return [&worker = servers_of(c), table = table_of(c), padding = c.attr<int64_t>("padding_idx"),
          dense = std::move(dense), sparse = std::move(sparse), lr = c.in<float>("LearningRate")] {
    std::vector<ps::RowGradients> slots;
    slots.reserve(dense.size() + sparse.size());
    for (const Dense& slot : dense) slots.push_back({slot.ids.get(), slot.rows.data()});
    for (const SparseIn<float>& rows : sparse) {
      slots.push_back({{rows.rows.data(), static_cast<size_t>(rows.count)}, rows.value.data()});
    }
    worker.push_rows(table, std::move(slots), padding, *lr.data());
  };
}

const OpDef& distributed_push_sparse = define_op({
    .type = "distributed_push_sparse",
    .doc = "Notes gradients of rows, to be sent to their parameter servers when the step ends.",
    .inputs =
        {{.name = "Ids", .doc = "keys of rows", .optional = true, .list = true},
         {.name = "Grads", .doc = "a row for each id", .optional = true, .list = true},
         {.name = "Rows", .doc = "sparse rows, with their ids", .optional = true, .list = true},
         {.name = "LearningRate", .doc = "one number", .one = true}},
    .attrs = {kTableId, kPadding, {"size", 0, "elements of a row"}},
    .infer = infer_push,
    .kernels = {{kCpu, f32, push}},
    .dtype_slot = "LearningRate",
    .side_effect = true,
});

}  // namespace
}  // namespace flotilla::ops
