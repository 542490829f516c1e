// geo_sgd: every k-th time, sends what has changed here and takes what has changed elsewhere.

#include "flotilla/ops/ps/servers.h"

namespace flotilla::ops {
namespace {

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
