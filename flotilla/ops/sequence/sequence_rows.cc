// flotilla/ops/sequence/sequence_rows.cc
//
// sequence_reverse: the rows of each sequence from the last to the first.
// sequence_slice:   of sequence i, Length[i] rows from row Offset[i] on.
// sequence_erase:   sequences of whole numbers without those that `tokens` names.
// sequence_unpad:   of padded row i of X, [rows, longest, ...], the first Length[i], as sequences.

#include "flotilla/ops/loss/labels.h"
#include "flotilla/ops/sequence/rows.h"

namespace flotilla::ops {
namespace {

void infer_same(InferContext& c) {
  check_sequences(c, "X");
  c.out("Y") = like(c.in("X"));
}

struct Reversed {
  static constexpr bool kMakesLod = false;

  explicit Reversed(PrepareContext& c) : x_(c, "X") {}

  Picked operator()() const {
    const std::span<const int64_t> offsets = x_.offsets();
    Picked picked;
    for (int64_t s = 0; s < x_.count(); ++s) {
      for (int64_t row = offsets[s + 1]; row-- > offsets[s];) picked.rows.push_back(row);
    }
    return picked;
  }

 private:
  Sequences x_;
};

// 1.8 and 2.6 have no gradient op of this name: a turn is undone by another.
void turn_back(Block& block, size_t position) {
  Op& op = block.op(position);
  if (!op.has_input("Y@GRAD") || !op.has_output("X@GRAD")) return;
  op.set_type("sequence_reverse");
  op.set_input("X", {op.input("Y@GRAD")});
  op.set_output("Y", {op.output("X@GRAD")});
  op.set_input("Y@GRAD", {});
  op.set_output("X@GRAD", {});
}

const OpDef& sequence_reverse = define_op(
    picking_op<Reversed>({.type = "sequence_reverse",
                          .doc = "Turns each sequence round.",
                          .inputs = {{.name = "X", .doc = "rows with a LoD"}},
                          .outputs = {{.name = "Y", .doc = "same shape and sequences as X"}},
                          .infer = infer_same},
                         {.spell_out = turn_back}));

// As many sequences as X has, of a length that is known only when the op runs.
VarMeta other_lengths(const VarMeta& x) {
  VarMeta out = VarMeta::tensor(x.dtype, x.shape);
  out.shape[0] = -1;
  out.lod_level = std::max(x.lod_level, 1);
  out.sequences = x.sequences;
  out.lod_source = kOwnLod;
  return out;
}

void infer_slice(InferContext& c) {
  check_sequences(c, "X");
  for (const char* slot : {"Offset", "Length"}) {
    check_labels(c, slot);
    const int64_t count = c.in(slot).shape.numel(), sequences = c.in("X").sequences;
    require(count < 0 || sequences < 0 || count == sequences,
            "{} must hold a number for each of {} sequences, but has shape {}", slot, sequences,
            c.in(slot).shape);
  }
  c.out("Out") = other_lengths(c.in("X"));
}

struct Sliced {
  static constexpr bool kMakesLod = true;

  explicit Sliced(PrepareContext& c) : x_(c, "X"), from_(c, "Offset"), length_(c, "Length") {}

  Picked operator()() const {
    const std::span<const int64_t> offsets = x_.offsets();
    Picked picked{.lod = x_.emptied()};
    for (int64_t s = 0; s < x_.count(); ++s) {
      const int64_t from = from_[s], length = length_[s], all = offsets[s + 1] - offsets[s];
      require(from >= 0 && 0 < length && length <= all && from <= all - length,
              "{} rows from row {} on are wanted of sequence {}, which has {}", length, from, s,
              all);
      for (int64_t i = 0; i < length; ++i) picked.rows.push_back(offsets[s] + from + i);
      picked.lod.back().push_back(std::ssize(picked.rows));
    }
    return picked;
  }

 private:
  Sequences x_;
  LabelsIn from_;
  LabelsIn length_;
};

const OpDef& sequence_slice = define_op(picking_op<Sliced>(
    {.type = "sequence_slice",
     .doc = "Cuts a piece out of each sequence.",
     .inputs = {{.name = "X", .doc = "rows with a LoD"},
                {.name = "Offset", .doc = "first row of each piece", .no_grad = true},
                {.name = "Length", .doc = "rows of each piece", .no_grad = true}},
     .outputs = {{.name = "Out", .doc = "the pieces"}},
     .infer = infer_slice}));

void infer_erase(InferContext& c) {
  check_sequences(c, "X");
  check_labels(c, "X");
  const Shape& x = c.in("X").shape;
  require(x.rank() == 1 || (x.rank() == 2 && x[1] == 1),
          "sequence_erase takes a column of numbers, but X has shape {}", x);
  c.out("Out") = other_lengths(c.in("X"));
}

struct Erased {
  static constexpr bool kMakesLod = true;

  explicit Erased(PrepareContext& c)
      : x_(c, "X"), numbers_(c, "X"), tokens_(c.attr<std::vector<int64_t>>("tokens")) {}

  Picked operator()() const {
    const std::span<const int64_t> offsets = x_.offsets();
    Picked picked{.lod = x_.emptied()};
    for (int64_t s = 0; s < x_.count(); ++s) {
      for (int64_t row = offsets[s]; row < offsets[s + 1]; ++row) {
        if (std::find(tokens_.begin(), tokens_.end(), numbers_[row]) == tokens_.end()) {
          picked.rows.push_back(row);
        }
      }
      picked.lod.back().push_back(std::ssize(picked.rows));
    }
    return picked;
  }

 private:
  Sequences x_;
  LabelsIn numbers_;
  std::vector<int64_t> tokens_;
};

const OpDef& sequence_erase = define_op({
    .type = "sequence_erase",
    .doc = "Takes some numbers out of sequences.",
    .inputs = {{.name = "X", .doc = "i32 or i64 with a LoD", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "what is left"}},
    .attrs = {{"tokens", std::vector<int32_t>{}, "the numbers to take out"}},
    .infer = infer_erase,
    .kernels = kernels_for<int32_t, int64_t>(
        []<typename T>(PrepareContext& c) { return pick_forward<Erased>(c); }),
});

void infer_unpad(InferContext& c) {
  check_labels(c, "Length");
  const VarMeta& x = c.in("X");
  const Shape& length = c.in("Length").shape;
  require(x.shape.rank() >= 2, "X must have at least two axes, but has shape {}", x.shape);
  require(length.rank() == 1 || (length.rank() == 2 && length[1] == 1),
          "Length must be a list of numbers, but has shape {}", length);
  require(length[0] < 0 || x.shape[0] < 0 || length[0] == x.shape[0],
          "X of shape {} needs {} lengths, but Length has shape {}", x.shape, x.shape[0], length);
  Shape shape = {-1};
  for (int64_t a = 2; a < x.shape.rank(); ++a) shape.push_back(x.shape[a]);
  if (shape.rank() == 1) shape.push_back(1);
  VarMeta out = VarMeta::tensor(x.dtype, std::move(shape));
  out.lod_level = 1;
  out.sequences = x.shape[0];
  out.lod_source = kOwnLod;
  c.out("Out") = std::move(out);
}

struct Unpadded {
  static constexpr bool kMakesLod = true;
  static constexpr int64_t kRowAxes = 2;

  // Paddle's gradient op has no Length: there the gradient's own sequences tell.
  explicit Unpadded(PrepareContext& c) : count_(c.shape("X")[0]), longest_(c.shape("X")[1]) {
    if (c.has("Length")) {
      length_ = LabelsIn(c, "Length");
    } else {
      made_.emplace_back(c, "Out@GRAD");
    }
  }

  Picked operator()() const {
    Picked picked{.lod = {{0}}};
    require(made_.empty() || made_.front().count() == count_,
            "X has {} padded sequences, but Out@GRAD has {}", count_,
            made_.empty() ? 0 : made_.front().count());
    for (int64_t s = 0; s < count_; ++s) {
      const int64_t length = made_.empty() ? length_[s] : made_.front().length(s);
      require(0 <= length && length <= longest_,
              "sequence {} is said to have {} rows, but X has {} for each", s, length, longest_);
      for (int64_t i = 0; i < length; ++i) picked.rows.push_back(s * longest_ + i);
      picked.lod[0].push_back(std::ssize(picked.rows));
    }
    return picked;
  }

 private:
  int64_t count_;
  int64_t longest_;
  LabelsIn length_;
  std::vector<Sequences> made_;  // one, or none where lengths are given
};

void infer_unpad_grad(InferContext& c) {
  const VarMeta &x = c.in("X"), &g = c.in("Out@GRAD");
  require(x.shape.rank() >= 2, "X must have at least two axes, but has shape {}", x.shape);
  const int64_t width = row_width(x.shape, Unpadded::kRowAxes), found = row_width(g.shape, 1);
  require(width < 0 || !g.shape.known() || width == found,
          "rows of Out@GRAD must have the {} elements of those of X, but it has shape {}", width,
          g.shape);
  c.out("X@GRAD") = like(x);
}

const OpDef& sequence_unpad = define_op(picking_op<Unpadded>(
    {.type = "sequence_unpad",
     .doc = "Makes sequences of padded rows.",
     .inputs = {{.name = "X", .doc = "[sequences, longest, ...]"},
                {.name = "Length", .doc = "of each sequence", .no_grad = true}},
     .outputs = {{.name = "Out", .doc = "rows with a LoD"}},
     .infer = infer_unpad},
    {.infer = infer_unpad_grad,
     .inputs = {{.name = "Length", .doc = "of each sequence", .optional = true}}}));

}  // namespace
}  // namespace flotilla::ops
