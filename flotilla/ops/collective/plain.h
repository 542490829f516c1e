// flotilla/ops/collective/plain.h
//
// The collectives as programs of 2.6 may name them: all_gather, all_reduce, all_to_all,
// dist_concat, reduce and reduce_scatter. Their slots are x and out, they know of no streams, and
// each stands for an operator that is there.

#pragma once

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/channel.h"

namespace flotilla::ops {

struct Plain {
  const char* type;
  const char* of;  // "c_reduce_": the operator's name ends with that of the reduction
};

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

template <const Plain& kRow>
void infer_plain(InferContext& c) {
  const VarMeta& x = c.in("x");
  require(x.kind == VarKind::kTensor, "{} takes a tensor, but x is a {}", kRow.type,
          name_of(x.kind));
  const OpDef& of = op_def(meaning(c, kRow));
  const Op op(of.type, {{"X", {c.op().input("x")}}}, {{"Out", {c.op().output("out")}}},
              c.op().attrs());
  InferContext meant(op, of, {{"X", {x}}}, {{"Out", {c.out("out")}}}, c.running());
  of.infer(meant);
  c.out("out") = meant.out("Out");
}

template <const Plain& kRow>
void lower_plain(LowerContext& c) {
  const std::string type = meaning(c, kRow);
  Attrs attrs = {{"ring_id", c.attr<int32_t>("ring_id")}, {"use_calc_stream", true}};
  for (const char* name : {"nranks", "root_id"}) {
    if (op_def(type).find_attr(name) != nullptr) attrs[name] = c.attr<int32_t>(name);
  }
  c.result("out", c.apply(type, c.in("x"), std::move(attrs)));
}

template <const Plain& kRow>
bool define_plain(std::vector<AttrSpec> attrs) {
  attrs.insert(attrs.begin(), kRingId);
  define_op({.type = kRow.type,
             .doc = fmt::format("{} by another name.", kRow.of),
             .inputs = {{.name = "x", .doc = "what this process gives"}},
             .outputs = {{.name = "out", .doc = "what it gets"}},
             .attrs = std::move(attrs),
             .infer = infer_plain<kRow>,
             .lower = lower_plain<kRow>,
             .side_effect = true});
  return true;
}

inline const AttrSpec kPlainRanks = {"nranks", 1, "members of the group"};
inline const AttrSpec kPlainHow = {"reduce_type", 0, "0: sum, 1: largest, 2: smallest, 3: product"};

}  // namespace flotilla::ops
