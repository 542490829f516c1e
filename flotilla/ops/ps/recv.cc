// recv: brings a table's parameters as the servers have them.

#include "flotilla/ops/ps/servers.h"

namespace flotilla::ops {
namespace {

Step receive(PrepareContext& c) {
  return [&worker = servers_of(c), table = table_of(c), parameters = Parameters(c)] {
    worker.refresh(table, parameters.get());
  };
}

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

}  // namespace
}  // namespace flotilla::ops
