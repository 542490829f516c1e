// weigh_by_samples: what makes the sum of the gradients of all processes the average over their
// samples. The gradient of each process' mean loss is multiplied by its share of all samples; a
// process whose data has ended has none.

#include "flotilla/ops/collective/collective.h"
#include "flotilla/ops/common/channel.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  infer_exchange(c);
  require(c.in("Samples").shape.rank() >= 1,
          "weigh_by_samples counts the rows of Samples, but its shape is {}",
          c.in("Samples").shape);
}

constexpr auto prepare = []<typename T>(PrepareContext& c) -> Step {
  const Channel channel(c);
  if (channel.alone()) return identity(c);
  c.in_place("X", "Out");
  return [channel, world = c.around().world, samples = static_cast<double>(c.shape("Samples")[0]),
          x = c.in<T>("X"), out = c.out<T>("Out"), count = c.shape("X").numel()] {
    const double mine = world->has_data() ? samples : 0;
    double all = 0;
    channel.run(
        [&](comm::Group& group) { group.all_reduce(&mine, &all, 1, f64, comm::Reduce::kSum); });
    const T share = all > 0 ? static_cast<T>(mine / all) : T{0};
    for (int64_t i = 0; i < count; ++i) out.data()[i] = share * x.data()[i];
  };
};

const OpDef& weigh_by_samples = define_op({
    .type = "weigh_by_samples",
    .doc = "Out is X times this process' share of the samples of all.",
    .inputs = {{.name = "X", .doc = "the gradient of a mean over samples"},
               {.name = "Samples", .doc = "what is fed; a row is a sample"}},
    .outputs = {{.name = "Out", .doc = "as X; may be X"}},
    .attrs = {kRingId},
    .infer = infer,
    .kernels = kernels_for<float, double>(prepare),
    .side_effect = true,
});

}  // namespace
}  // namespace flotilla::ops
