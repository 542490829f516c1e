// flotilla/ops/collective/plain.cc
//
// The collectives as programs of 2.6 may name them: all_gather, all_reduce, all_to_all,
// dist_concat, reduce and reduce_scatter. Their slots are x and out, they know of no streams, and
// each stands for an operator that is there.

#include "flotilla/op/lower.h"
#include "flotilla/ops/collective/channel.h"
#include "flotilla/ops/collective/collective.h"

namespace flotilla::ops {
namespace {

struct Plain {
  const char* type;
  const char* of;  // "c_reduce_": the operator's name ends with that of the reduction
};
constexpr Plain kPlain[] = {{"all_gather", "c_allgather"}, {"all_reduce", "c_allreduce_"},
                            {"all_to_all", "alltoall"},    {"dist_concat", "c_concat"},
                            {"reduce", "c_reduce_"},       {"reduce_scatter", "c_reducescatter"}};

template <typename Context>
std::string meaning(const Context& c, const Plain& plain) {
  std::string of = plain.of;
  if (!of.ends_with('_')) return of;
  constexpr std::string_view kByNumber[] = {"sum", "max", "min", "prod"};
  const int64_t number = c.template attr<int64_t>("reduce_type");
  require(0 <= number && number < std::ssize(kByNumber),
          "reduce_type is 0 (sum), 1 (largest), 2 (smallest) or 3 (product), but {} was given",
          number);
  return of.append(kByNumber[number]);
}

template <size_t kRow>
void infer(InferContext& c) {
  const VarMeta& x = c.in("x");
  require(x.kind == VarKind::kTensor, "{} takes a tensor, but x is a {}", kPlain[kRow].type,
          name_of(x.kind));
  const OpDef& of = op_def(meaning(c, kPlain[kRow]));
  InferContext meant(c.op(), of, {{"X", {x}}}, {{"Out", {c.out("out")}}}, c.running());
  of.infer(meant);
  c.out("out") = meant.out("Out");
}

template <size_t kRow>
void lower(LowerContext& c) {
  const std::string type = meaning(c, kPlain[kRow]);
  Attrs attrs = {{"ring_id", c.attr<int32_t>("ring_id")}, {"use_calc_stream", true}};
  for (const char* name : {"nranks", "root_id"}) {
    if (op_def(type).find_attr(name) != nullptr) attrs[name] = c.attr<int32_t>(name);
  }
  c.result("out", c.apply(type, c.in("x"), std::move(attrs)));
}

template <size_t kRow>
void define(std::vector<AttrSpec> attrs) {
  attrs.insert(attrs.begin(), kRingId);
  define_op({.type = kPlain[kRow].type,
             .doc = fmt::format("{} by another name.", kPlain[kRow].of),
             .inputs = {{.name = "x", .doc = "what this process gives"}},
             .outputs = {{.name = "out", .doc = "what it gets"}},
             .attrs = std::move(attrs),
             .infer = infer<kRow>,
             .lower = lower<kRow>,
             .side_effect = true});
}

const bool kDefined = [] {
  const AttrSpec ranks = {"nranks", 1, "members of the group"};
  const AttrSpec how = {"reduce_type", 0, "0: sum, 1: largest, 2: smallest, 3: product"};
  define<0>({ranks});
  define<1>({how});
  define<2>({});
  define<3>({ranks});
  define<4>({{"root_id", 0, "who gets the result"}, how});
  define<5>({ranks});
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
