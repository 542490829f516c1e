// send notes the gradients of a table's parameters; send_barrier sends what the step has noted, and
// waits as long as the mode asks for.

#include "flotilla/ops/common/move.h"
#include "flotilla/ops/ps/servers.h"

namespace flotilla::ops {
namespace {

Step send(PrepareContext& c) {
  struct Part {
    In<float> gradient = {};
    size_t count = 0;
  };
  std::vector<Part> parts;
  for (size_t i = 0; i < c.count("X"); ++i) {
    parts.push_back({c.in<float>("X", i), static_cast<size_t>(c.shape("X", i).numel())});
  }
  return [&worker = servers_of(c), table = table_of(c), parts = std::move(parts),
          lr = c.in<float>("LearningRate")] {
    std::vector<std::span<const float>> gradients;
    gradients.reserve(parts.size());
    for (const Part& part : parts) gradients.emplace_back(part.gradient.data(), part.count);
    worker.push_dense(table, std::move(gradients), *lr.data());
  };
}

Step end_step(PrepareContext& c) {
  c.bytes_of_any_dtype();
  // What was noted lies where it was until this op has run.
  for (size_t i = 0; i < c.count("X"); ++i) {
    if (c.is_sparse("X", i)) {
      c.sparse_in<float>("X", i);
    } else {
      c.shape("X", i);  // of any: its elements are not read here
      c.in_bytes("X", i);
    }
  }
  return [&worker = servers_of(c)] { worker.end_step(); };
}

const OpDef& send_op = define_op({
    .type = "send",
    .doc = "Notes gradients, to be sent to parameter servers when the step ends.",
    .inputs = {{.name = "X", .doc = "the gradients of a table's parameters", .list = true},
               {.name = "LearningRate", .doc = "one number", .one = true}},
    .attrs = {kTableId},
    .kernels = {{kCpu, f32, send}},
    .dtype_slot = "LearningRate",
    .side_effect = true,
});

const OpDef& send_barrier = define_op({
    .type = "send_barrier",
    .doc = "Ends a worker's step: sends what was noted to the parameter servers.",
    .inputs =
        {{.name = "X", .doc = "what was noted: gradients and ids", .optional = true, .list = true}},
    .kernels = every_dtype(end_step),
    .side_effect = true,
});

}  // namespace
}  // namespace flotilla::ops
