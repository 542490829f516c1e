// flotilla/ops/sequence/sequence_expand.cc
//
// sequence_expand:    each sequence of X, or each row where X has no LoD, as often as the sequence
//                     of Y with the same number is long, in the LoD level `ref_level` of Y.
// sequence_expand_as: each row of X for every row of its sequence of Y.

#include "flotilla/ops/sequence/rows.h"

namespace flotilla::ops {
namespace {

// The level of Y's LoD that is meant.
int64_t level_of(int64_t wanted, int64_t levels) {
  const int64_t level = wanted == -1 ? levels - 1 : wanted;
  require(0 <= level && level < levels, "ref_level must lie in [-1, {}), but is {}", levels,
          wanted);
  return level;
}

void infer_expand(InferContext& c) {
  check_sequences(c, "Y");
  const VarMeta &x = c.in("X"), &y = c.in("Y");
  require(x.shape.rank() >= 1, "X must have rows, but has shape {}", x.shape);
  require(x.lod_level <= 1, "X must have one LoD level or none, but has {}", x.lod_level);
  VarMeta out = VarMeta::tensor(x.dtype, with_rows(x.shape, -1));
  out.lod_level = x.lod_level;
  if (x.lod_level > 0) out.lod_source = kOwnLod;
  if (c.running()) {
    const int64_t level = level_of(c.attr<int64_t>("ref_level"), y.lod_level);
    // Without sequences in X, every row of Y's rows stands for one of the result.
    if (x.lod_level == 0 && level + 1 == y.lod_level) out.shape[0] = y.shape[0];
  }
  c.out("Out") = std::move(out);
}

Picker expanded(PrepareContext& c) {
  return [rows = c.shape("X")[0], level = c.attr<int64_t>("ref_level"),
          has_lod = c.meta("X").lod_level > 0, x = Sequences(c, "X"), y = c.lod("Y")] {
    const LoD* lod = y.get();
    require(lod != nullptr, "sequence_expand takes sequences, but Y has no LoD");
    const std::vector<int64_t>& by = (*lod)[static_cast<size_t>(level_of(level, std::ssize(*lod)))];
    const int64_t count = has_lod ? x.count() : rows;
    require(std::ssize(by) - 1 == count, "X has {} {}, but Y has {} sequences", count,
            has_lod ? "sequences" : "rows", std::ssize(by) - 1);
    Picked picked;
    if (has_lod) picked.lod = {{0}};
    for (int64_t s = 0; s < count; ++s) {
      const size_t at = static_cast<size_t>(s);
      const int64_t begin = has_lod ? x.offsets()[at] : s,
                    end = has_lod ? x.offsets()[at + 1] : s + 1;
      for (int64_t again = by[at]; again < by[at + 1]; ++again) {
        for (int64_t row = begin; row < end; ++row) picked.rows.push_back(row);
        if (has_lod) picked.end_sequence();
      }
    }
    return picked;
  };
}

const Slot kSequences = {
    .name = "Y", .doc = "only its sequences matter", .no_grad = true, .shape_only = true};

const OpDef& sequence_expand = define_op(picking_op<expanded>(
    {.type = "sequence_expand",
     .doc = "Repeats each sequence of X as often as a sequence of Y is long.",
     .inputs = {{.name = "X", .doc = "rows, with one LoD level or none"}, kSequences},
     .outputs = {{.name = "Out", .doc = "X's rows, repeated"}},
     .attrs = {{"ref_level", -1, "LoD level of Y; -1: the last"}},
     .infer = infer_expand}));

void infer_expand_as(InferContext& c) {
  check_sequences(c, "Y");
  const VarMeta &x = c.in("X"), &y = c.in("Y");
  require(x.shape.rank() >= 1, "X must have rows, but has shape {}", x.shape);
  require(fits(x.shape[0], y.sequences),
          "X of shape {} must have a row for each of the {} sequences of Y", x.shape, y.sequences);
  VarMeta out = like(y, with_rows(x.shape, y.shape[0]));
  out.dtype = x.dtype;
  c.out("Out") = std::move(out);
}

Picker expanded_as(PrepareContext& c) {
  return [rows = c.shape("X")[0], y = Sequences(c, "Y")] {
    require(y.count() == rows, "X has {} rows, but Y has {} sequences", rows, y.count());
    Picked picked;
    y.for_each([&](int64_t s, int64_t begin, int64_t end) {
      picked.rows.insert(picked.rows.end(), static_cast<size_t>(end - begin), s);
    });
    return picked;
  };
}

const OpDef& sequence_expand_as = define_op(picking_op<expanded_as>(
    {.type = "sequence_expand_as",
     .doc = "Repeats each row of X for every row of its sequence of Y.",
     .inputs = {{.name = "X", .doc = "a row for each sequence of Y"}, kSequences},
     .outputs = {{.name = "Out", .doc = "as many rows and sequences as Y"}},
     .infer = infer_expand_as}));

}  // namespace
}  // namespace flotilla::ops
