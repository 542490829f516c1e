// flotilla/ops/sequence/sequence_reverse_slice_erase_unpad.cc
//
// sequence_reverse: the rows of each sequence from the last to the first.
// sequence_slice:   of sequence i, Length[i] rows from row Offset[i] on.
// sequence_erase:   sequences of whole numbers without those that `tokens` names.
// sequence_unpad:   of padded row i of X, [rows, longest, ...], the first Length[i], as sequences.

#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/sequence/rows.h"

namespace flotilla::ops {
namespace {

void infer_same(InferContext& c) {
  check_sequences(c, "X");
  c.out("Y") = like(c.in("X"));
}

Picker reversed(PrepareContext& c) {
  return [x = Sequences(c, "X")] {
    Picked picked;
    x.for_each([&](int64_t, int64_t begin, int64_t end) {
      while (end-- > begin) picked.rows.push_back(end);
    });
    return picked;
  };
}

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
    picking_op<reversed>({.type = "sequence_reverse",
                          .doc = "Turns each sequence round.",
                          .inputs = {{.name = "X", .doc = "rows with a LoD"}},
                          .outputs = {{.name = "Y", .doc = "same shape and sequences as X"}},
                          .infer = infer_same},
                         {.to_paddle = turn_back}));

// As many sequences as X has, of a length that is known only when the op runs.
VarMeta other_lengths(const VarMeta& x) { return cut_anew(x, with_rows(x.shape, -1)); }

void infer_slice(InferContext& c) {
  check_sequences(c, "X");
  for (const char* slot : {"Offset", "Length"}) {
    check_labels(c, slot);
    check_count(c, slot, c.in("X").sequences);
  }
  c.out("Out") = other_lengths(c.in("X"));
}

Picker sliced(PrepareContext& c) {
  return [x = Sequences(c, "X"), first = LabelsIn(c, "Offset"), lengths = LabelsIn(c, "Length")] {
    Picked picked{.lod = x.emptied()};
    x.for_each([&](int64_t s, int64_t begin, int64_t end) {
      const int64_t from = first[s], length = lengths[s], all = end - begin;
      require(from >= 0 && 0 < length && length <= all && from <= all - length,
              "{} rows from row {} on are wanted of sequence {}, which has {}", length, from, s,
              all);
      for (int64_t i = 0; i < length; ++i) picked.rows.push_back(begin + from + i);
      picked.end_sequence();
    });
    return picked;
  };
}

const OpDef& sequence_slice =
    define_op(picking_op<sliced>({.type = "sequence_slice",
                                  .doc = "Cuts a piece out of each sequence.",
                                  .inputs = {{.name = "X", .doc = "rows with a LoD"},
                                             constant("Offset", "first row of each piece"),
                                             constant("Length", "rows of each piece")},
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

Picker erased(PrepareContext& c) {
  return [x = Sequences(c, "X"), numbers = LabelsIn(c, "X"),
          tokens = c.attr<std::vector<int64_t>>("tokens")] {
    Picked picked{.lod = x.emptied()};
    x.for_each([&](int64_t, int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        if (std::ranges::count(tokens, numbers[row]) == 0) picked.rows.push_back(row);
      }
      picked.end_sequence();
    });
    return picked;
  };
}

const OpDef& sequence_erase = define_op({
    .type = "sequence_erase",
    .doc = "Takes some numbers out of sequences.",
    .inputs = {constant("X", "i32 or i64 with a LoD")},
    .outputs = {{.name = "Out", .doc = "what is left"}},
    .attrs = {{"tokens", std::vector<int32_t>{}, "the numbers to take out"}},
    .infer = infer_erase,
    .kernels = kernels_for<int32_t, int64_t>(
        []<typename T>(PrepareContext& c) { return pick_forward<erased>(c); }),
});

void infer_unpad(InferContext& c) {
  check_labels(c, "Length");
  const VarMeta& x = c.in("X");
  const Shape& length = c.in("Length").shape;
  require(x.shape.rank() >= 2, "X must have at least two axes, but has shape {}", x.shape);
  require(length.rank() == 1 || (length.rank() == 2 && length[1] == 1),
          "Length must be a list of numbers, but has shape {}", length);
  require(fits(length[0], x.shape[0]), "X of shape {} needs {} lengths, but Length has shape {}",
          x.shape, x.shape[0], length);
  Shape shape = {-1};
  for (int64_t a = 2; a < x.shape.rank(); ++a) shape.push_back(x.shape[a]);
  if (shape.rank() == 1) shape.push_back(1);
  c.out("Out") = cut_anew(VarMeta{.dtype = x.dtype, .sequences = x.shape[0]}, std::move(shape));
}

// Paddle's gradient op has no Length: there the gradient's own sequences tell.
Picker unpadded(PrepareContext& c) {
  const bool given = c.has("Length");
  return [count = c.shape("X")[0], longest = c.shape("X")[1], given,
          lengths = given ? LabelsIn(c, "Length") : LabelsIn(),
          made = Sequences(c, given ? "X" : "Out@GRAD")] {
    require(given || made.count() == count, "X has {} padded sequences, but Out@GRAD has {}", count,
            given ? count : made.count());
    Picked picked{.lod = {{0}}};
    for (int64_t s = 0; s < count; ++s) {
      const int64_t length = given ? lengths[s] : made.length(s);
      require(0 <= length && length <= longest,
              "the length of sequence {} is {}, but X has {} rows for each", s, length, longest);
      for (int64_t i = 0; i < length; ++i) picked.rows.push_back(s * longest + i);
      picked.end_sequence();
    }
    return picked;
  };
}

void infer_unpad_grad(InferContext& c) {
  const VarMeta &x = c.in("X"), &g = c.in("Out@GRAD");
  require(x.shape.rank() >= 2, "X must have at least two axes, but has shape {}", x.shape);
  const int64_t width = row_width(x.shape, 2), found = row_width(g.shape, 1);
  require(fits(width, found),
          "rows of Out@GRAD must have the {} elements of those of X, but it has shape {}", width,
          g.shape);
  c.out("X@GRAD") = like(x);
}

const OpDef& sequence_unpad = define_op(picking_op<unpadded, 2>(
    {.type = "sequence_unpad",
     .doc = "Makes sequences of padded rows.",
     .inputs = {{.name = "X", .doc = "[sequences, longest, ...]"},
                constant("Length", "of each sequence")},
     .outputs = {{.name = "Out", .doc = "rows with a LoD"}},
     .infer = infer_unpad},
    {.infer = infer_unpad_grad,
     .inputs = {{.name = "Length", .doc = "of each sequence", .optional = true}}}));

}  // namespace
}  // namespace flotilla::ops
