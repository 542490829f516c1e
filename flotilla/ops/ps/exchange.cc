// flotilla/ops/ps/exchange.cc
//
// How a worker's step and the servers' dense tables meet.
//
//   send          notes the gradients of a table's parameters
//   send_barrier  sends what the step has noted, and waits as long as the mode asks for
//   recv          brings the parameters as the servers have them
//   geo_sgd       every k-th time: sends what has changed here, takes what has changed elsewhere

#include "flotilla/ops/ps/servers.h"
#include "flotilla/ops/tensor/move.h"

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

Step receive(PrepareContext& c) {
  return [&worker = servers_of(c), table = table_of(c), parameters = Parameters(c)] {
    worker.refresh(table, parameters.get());
  };
}

Step geo(PrepareContext& c) {
  ps::Worker& worker = servers_of(c);
  const uint32_t table = table_of(c);
  const int64_t k = c.attr<int64_t>("k_steps");
  std::vector<IdsIn> slots;
  for (size_t i = 0; i < c.count("Ids"); ++i) slots.emplace_back(c, i);
  return [&worker, table, k, slots = std::move(slots), parameters = Parameters(c)] {
    const std::vector<std::span<float>> parts = parameters.get();
    if (slots.empty()) return worker.geo_dense(table, parts, k);
    std::vector<std::span<const int64_t>> ids;
    ids.reserve(slots.size());
    for (const IdsIn& slot : slots) ids.push_back(slot.get());
    worker.geo_rows(table, ids, parts.front(), k);
  };
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

const OpDef& recv = define_op({
    .type = "recv",
    .doc = "Brings a table's parameters from parameter servers.",
    .inputs = {{.name = "X", .doc = "the parameters", .list = true}},
    .outputs = {{.name = "Out", .doc = "the same", .list = true}},
    .attrs = {kTableId},
    .infer = infer_parameters,
    .kernels = {{kCpu, f32, receive}},
    .side_effect = true,
});

const OpDef& geo_sgd = define_op({
    .type = "geo_sgd",
    .doc = "Exchanges with parameter servers how a table's parameters have changed.",
    .inputs = {{.name = "X", .doc = "the parameters", .list = true},
               {.name = "Ids",
                .doc = "of a sparse table: the rows that the step looked up",
                .optional = true,
                .list = true}},
    .outputs = {{.name = "Out", .doc = "the same as X", .list = true}},
    .attrs = {kTableId, {"k_steps", 100, "steps from one exchange to the next"}},
    .infer = infer_parameters,
    .kernels = {{kCpu, f32, geo}},
    .dtype_slot = "X",
    .side_effect = true,
});

}  // namespace
}  // namespace flotilla::ops
