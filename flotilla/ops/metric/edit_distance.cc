// flotilla/ops/metric/edit_distance.cc
//
// edit_distance: how many numbers must be added, left out or changed to make a sequence of Hyps
// that of Refs (Levenshtein, 1966); with `normalized` divided by the length of the latter.
// Sequences are those of a LoD, or the first HypsLength[i] and RefsLength[i] of padded rows.

#include <algorithm>
#include <vector>

#include "flotilla/ops/common/pieces.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_labels(c, "Hyps");
  check_labels(c, "Refs");
  const int64_t hyps = check_pieces(c, "Hyps", "HypsLength");
  const int64_t refs = check_pieces(c, "Refs", "RefsLength");
  require(fits(hyps, refs), "Hyps has {} sequences, but Refs has {}", hyps, refs);
  c.out("Out") = VarMeta::tensor(f32, Shape{hyps, 1});
  c.out("SequenceNum") = VarMeta::tensor(i64, Shape{1});
}

int64_t distance(const LabelsIn& a, Piece from, const LabelsIn& b, Piece to) {
  std::vector<int64_t> row(static_cast<size_t>(to.length + 1));
  for (size_t j = 0; j < row.size(); ++j) row[j] = static_cast<int64_t>(j);
  for (int64_t i = 1; i <= from.length; ++i) {
    int64_t corner = row[0];
    row[0] = i;
    for (int64_t j = 1; j <= to.length; ++j) {
      const size_t at = static_cast<size_t>(j);
      const bool same = a[from.begin + i - 1] == b[to.begin + j - 1];
      const int64_t changed = corner + (same ? 0 : 1);
      corner = row[at];
      row[at] = std::min({row[at] + 1, row[at - 1] + 1, changed});
    }
  }
  return row.back();
}

Step forward(PrepareContext& c) {
  return [normalized = c.attr<bool>("normalized"), hyps = Pieces(c, "Hyps", "HypsLength"),
          refs = Pieces(c, "Refs", "RefsLength"), a = LabelsIn(c, "Hyps"), b = LabelsIn(c, "Refs"),
          out = c.out<float>("Out"), count = c.out<int64_t>("SequenceNum")] {
    const std::vector<Piece> from = hyps.all(), to = refs.all();
    require(from.size() == to.size(), "Hyps has {} sequences, but Refs has {}", from.size(),
            to.size());
    parallel_for(std::ssize(from), 1000, [&](int64_t i) {
      const Piece x = from[static_cast<size_t>(i)], y = to[static_cast<size_t>(i)];
      require(!normalized || y.length > 0,
              "sequence {} of Refs is empty: a distance cannot be divided by its length", i);
      const float found = static_cast<float>(distance(a, x, b, y));
      out.data()[i] = normalized ? found / static_cast<float>(y.length) : found;
    });
    *count.data() = std::ssize(from);
  };
}

const OpDef& edit_distance = define_op({
    .type = "edit_distance",
    .doc = "How far sequences are from others.",
    .inputs = {constant("Hyps", "i32 or i64"), constant("Refs", "likewise"),
               optional_constant("HypsLength", "of padded rows"),
               optional_constant("RefsLength", "of padded rows")},
    .outputs = {{.name = "SequenceNum", .doc = "i64: how many sequences there are"},
                {.name = "Out", .doc = "f32, [sequences, 1]"}},
    .attrs = {{"normalized", false, "whether distances are divided by the length of Refs"}},
    .infer = infer,
    .kernels =
        kernels_for<int64_t, int32_t>([]<typename T>(PrepareContext& c) { return forward(c); }),
});

}  // namespace
}  // namespace flotilla::ops
