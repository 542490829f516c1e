// flotilla/ops/ps/fake_init.cc
//
// fake_init: stands in a worker's startup program for the initializer of a table that servers hold.
// It makes no rows. It draws the random stream that the initializer would have drawn, so that all
// that is drawn after it is as in one process, and notes it: the servers' rows come from it.

#include "flotilla/ops/common/move.h"
#include "flotilla/ops/ps/servers.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const int code = static_cast<int>(c.attr<int64_t>("dtype"));
  require(is_paddle_dtype(code), "dtype of fake_init must name a dtype, but is {}", code);
  Shape shape(c.attr<std::vector<int64_t>>("shape"));
  require(shape.rank() >= 1, "fake_init stands for a table, but its shape is {}", shape);
  // The program says how large the table is; the worker has none of its rows.
  if (c.running()) shape[0] = 0;
  c.out("Out") = VarMeta::tensor(from_paddle(code), std::move(shape));
}

Step prepare(PrepareContext& c) {
  c.out_bytes("Out");
  if (!c.attr<bool>("draws")) return [] {};
  // A startup program may run before anybody knows of servers.
  return [worker = c.around().servers, name = c.op().output("Out"),
          source = c.random(c.attr<int64_t>("seed"))] {
    const RandomStream stream = source.draw();
    if (worker != nullptr) worker->drew(name, stream);
  };
}

const OpDef& fake_init = define_op({
    .type = "fake_init",
    .doc = "Stands for the initializer of a table that parameter servers hold.",
    .outputs = {{.name = "Out", .doc = "no rows"}},
    .attrs = {{"shape", std::vector<int64_t>{}, "extents of the table"},
              {"dtype", 5, "code of its dtype"},
              {"draws", false, "whether the initializer draws random numbers"},
              {"seed", 0, "of the initializer; 0: the program's"}},
    .infer = infer,
    .kernels = every_dtype(prepare),
    .side_effect = true,
});

}  // namespace
}  // namespace flotilla::ops
