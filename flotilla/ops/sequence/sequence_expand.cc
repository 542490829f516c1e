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
  VarMeta out = VarMeta::tensor(x.dtype, x.shape);
  out.shape[0] = -1;
  out.lod_level = x.lod_level;
  if (x.lod_level > 0) out.lod_source = kOwnLod;
  if (c.running()) {
    const int64_t level = level_of(c.attr<int64_t>("ref_level"), y.lod_level);
    // Without sequences in X, every row of Y's rows stands for one of the result.
    if (x.lod_level == 0 && level + 1 == y.lod_level) out.shape[0] = y.shape[0];
  }
  c.out("Out") = std::move(out);
}

struct Expanded {
  static constexpr bool kMakesLod = false;

  explicit Expanded(PrepareContext& c)
      : rows_(c.shape("X")[0]),
        level_(c.attr<int64_t>("ref_level")),
        has_lod_(c.meta("X").lod_level > 0),
        x_(c, "X"),
        y_(c.lod("Y")) {}

  Picked operator()() const {
    const LoD* lod = y_.get();
    require(lod != nullptr, "sequence_expand takes sequences, but Y has no LoD");
    const std::vector<int64_t>& by =
        (*lod)[static_cast<size_t>(level_of(level_, std::ssize(*lod)))];
    const int64_t count = has_lod_ ? x_.count() : rows_;
    require(std::ssize(by) - 1 == count, "X has {} {}, but Y has {} sequences", count,
            has_lod_ ? "sequences" : "rows", std::ssize(by) - 1);
    Picked picked;
    if (has_lod_) picked.lod = {{0}};
    for (int64_t s = 0; s < count; ++s) {
      const size_t at = static_cast<size_t>(s);
      const int64_t begin = has_lod_ ? x_.offsets()[at] : s;
      const int64_t end = has_lod_ ? x_.offsets()[at + 1] : s + 1;
      for (int64_t again = by[at]; again < by[at + 1]; ++again) {
        for (int64_t row = begin; row < end; ++row) picked.rows.push_back(row);
        if (has_lod_) picked.lod[0].push_back(std::ssize(picked.rows));
      }
    }
    return picked;
  }

 private:
  int64_t rows_;
  int64_t level_;
  bool has_lod_;
  Sequences x_;
  LodHandle y_;
};

const Slot kSequences = {
    .name = "Y", .doc = "only its sequences matter", .no_grad = true, .shape_only = true};

const OpDef& sequence_expand = define_op(picking_op<Expanded>(
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
  require(x.shape[0] < 0 || y.sequences < 0 || x.shape[0] == y.sequences,
          "X of shape {} must have a row for each of the {} sequences of Y", x.shape, y.sequences);
  Shape shape = x.shape;
  shape[0] = y.shape[0];
  VarMeta out = like(y, std::move(shape));
  out.dtype = x.dtype;
  c.out("Out") = std::move(out);
}

struct ExpandedAs {
  static constexpr bool kMakesLod = false;

  explicit ExpandedAs(PrepareContext& c) : rows_(c.shape("X")[0]), y_(c, "Y") {}

  Picked operator()() const {
    const std::span<const int64_t> offsets = y_.offsets();
    require(y_.count() == rows_, "X has {} rows, but Y has {} sequences", rows_, y_.count());
    Picked picked;
    picked.rows.resize(static_cast<size_t>(offsets.back()));
    for (int64_t s = 0; s < y_.count(); ++s) {
      std::fill(picked.rows.begin() + offsets[s], picked.rows.begin() + offsets[s + 1], s);
    }
    return picked;
  }

 private:
  int64_t rows_;
  Sequences y_;
};

const OpDef& sequence_expand_as = define_op(picking_op<ExpandedAs>(
    {.type = "sequence_expand_as",
     .doc = "Repeats each row of X for every row of its sequence of Y.",
     .inputs = {{.name = "X", .doc = "a row for each sequence of Y"}, kSequences},
     .outputs = {{.name = "Out", .doc = "as many rows and sequences as Y"}},
     .infer = infer_expand_as}));

}  // namespace
}  // namespace flotilla::ops
