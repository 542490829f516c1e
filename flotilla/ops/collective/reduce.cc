// c_reduce_{sum,max,min,prod} and reduce: as c_allreduce_*, but the result is left at one process.

#include "flotilla/ops/collective/collective.h"
#include "flotilla/ops/collective/plain.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {
namespace {

using comm::Group;
using comm::Reduce;

template <Reduce kHow>
Step reduce(PrepareContext& c) {
  const Channel channel(c);
  if (channel.alone()) return identity(c);
  const int root = static_cast<int>(c.attr<int64_t>("root_id"));
  c.in_place("X", "Out");
  return [channel, root, count = c.shape("X").numel(), dtype = c.dtype("X"), x = c.in_bytes("X"),
          out = c.out_bytes("Out")] {
    channel.run([&](Group& group) {
      group.reduce(x.data(), out.data(), count, dtype, kHow, root);
      if (group.rank() != root) copy_bytes(out.data(), x.data(), count * size_of(dtype));
    });
  };
}

template <Reduce kHow>
bool define(const std::string& name, const std::string& what) {
  define_collective({.type = "c_reduce_" + name,
                     .doc = "Out of one process is " + what + " of all X; the others keep theirs.",
                     .attrs = {kRingId, kUseCalcStream, {"root_id", 0, "who gets the result"}},
                     .kernels = reducible_dtypes(reduce<kHow>)});
  return true;
}

const bool sum = define<Reduce::kSum>("sum", "the sum");
const bool max = define<Reduce::kMax>("max", "the largest");
const bool min = define<Reduce::kMin>("min", "the smallest");
const bool prod = define<Reduce::kProd>("prod", "the product");

constexpr Plain kPlain = {"reduce", "c_reduce_"};
const bool plain = define_plain<kPlain>({{"root_id", 0, "who gets the result"}, kPlainHow});

}  // namespace
}  // namespace flotilla::ops
