// flotilla/ops/metric/chunk_eval.cc
//
// chunk_eval: how many of the chunks that tags of Inference mark are those of Label. A tag is
// type * (kinds of a scheme) + kind; the number behind all of them is no chunk.
//
//   plain   every run of one type is a chunk
//   IOB     kinds begin, inside          IOE     kinds inside, end
//   IOBES   kinds begin, inside, end, single

#include <algorithm>
#include <set>
#include <vector>

#include "flotilla/ops/common/pieces.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

enum class Kind { kBegin, kInside, kEnd, kSingle, kAny };

std::vector<Kind> kinds_of(const std::string& scheme) {
  if (scheme == "plain") return {Kind::kAny};
  if (scheme == "IOB") return {Kind::kBegin, Kind::kInside};
  if (scheme == "IOE") return {Kind::kInside, Kind::kEnd};
  if (scheme == "IOBES") return {Kind::kBegin, Kind::kInside, Kind::kEnd, Kind::kSingle};
  refuse("chunk_scheme must be plain, IOB, IOE or IOBES, but is \"{}\"", scheme);
}

void infer(InferContext& c) {
  for (const char* slot : {"Inference", "Label"}) {
    check_labels(c, slot);
    check_pieces(c, slot, "SeqLength");
  }
  const Shape &found = c.in("Inference").shape, &right = c.in("Label").shape;
  require(fits(found.numel(), right.numel()),
          "Inference and Label must have as many tags, but have the shapes {} and {}", found,
          right);
  const int64_t types = c.attr<int64_t>("num_chunk_types");
  require(0 < types && types < int64_t{1} << 31,
          "num_chunk_types must be positive and below 2^31, but is {}", types);
  kinds_of(c.attr<std::string>("chunk_scheme"));
  for (const char* slot : {"Precision", "Recall", "F1-Score"}) {
    c.out(slot) = VarMeta::tensor(f32, Shape{1});
  }
  for (const char* slot : {"NumInferChunks", "NumLabelChunks", "NumCorrectChunks"}) {
    c.out(slot) = VarMeta::tensor(i64, Shape{1});
  }
}

struct Chunk {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t type = 0;
  auto operator<=>(const Chunk&) const = default;
};

struct Tags {
  std::vector<Kind> kinds;
  int64_t types = 0;
  std::set<int64_t> excluded;

  // Whether a chunk ends between two tags of one type.
  static bool ends(Kind before, Kind after) {
    return before == Kind::kEnd || before == Kind::kSingle || after == Kind::kBegin ||
           after == Kind::kSingle;
  }

  std::set<Chunk> chunks(const LabelsIn& tags, Piece piece) const {
    std::set<Chunk> found;
    int64_t open = -1, type = types;  // where the open chunk began
    Kind kind = Kind::kAny;
    const int64_t count = std::ssize(kinds);
    for (int64_t i = 0; i <= piece.length; ++i) {
      const int64_t tag = i < piece.length ? tags[piece.begin + i] : types * count;
      require(0 <= tag && tag <= types * count, "a tag must lie in [0, {}], but is {}",
              types * count, tag);
      const int64_t here = tag / count;
      const Kind now = here == types ? Kind::kAny : kinds[static_cast<size_t>(tag % count)];
      if (open >= 0 && (here != type || ends(kind, now))) {
        if (!excluded.contains(type)) found.insert({piece.begin + open, piece.begin + i, type});
        open = -1;
      }
      if (open < 0 && here < types) open = i;
      type = here;
      kind = now;
    }
    return found;
  }
};

Step forward(PrepareContext& c) {
  const std::vector<int64_t> listed = c.attr<std::vector<int64_t>>("excluded_chunk_types");
  return [tags = Tags{kinds_of(c.attr<std::string>("chunk_scheme")),
                      c.attr<int64_t>("num_chunk_types"),
                      {listed.begin(), listed.end()}},
          pieces = Pieces(c, "Inference", "SeqLength"), inferred = LabelsIn(c, "Inference"),
          labels = LabelsIn(c, "Label"), precision = c.out<float>("Precision"),
          recall = c.out<float>("Recall"), f1 = c.out<float>("F1-Score"),
          n_inferred = c.out<int64_t>("NumInferChunks"),
          n_labels = c.out<int64_t>("NumLabelChunks"),
          n_correct = c.out<int64_t>("NumCorrectChunks")] {
    int64_t found = 0, wanted = 0, correct = 0;
    for (const Piece& piece : pieces.all()) {
      const std::set<Chunk> ours = tags.chunks(inferred, piece);
      const std::set<Chunk> theirs = tags.chunks(labels, piece);
      found += std::ssize(ours);
      wanted += std::ssize(theirs);
      correct += std::ranges::count_if(ours, [&](const Chunk& c) { return theirs.contains(c); });
    }
    const auto share = [&](int64_t of) {
      return of == 0 ? 0.0f : static_cast<float>(correct) / static_cast<float>(of);
    };
    const float p = share(found), r = share(wanted);
    *precision.data() = p;
    *recall.data() = r;
    *f1.data() = correct == 0 ? 0.0f : 2 * p * r / (p + r);
    *n_inferred.data() = found;
    *n_labels.data() = wanted;
    *n_correct.data() = correct;
  };
}

const OpDef& chunk_eval = define_op({
    .type = "chunk_eval",
    .doc = "How many chunks were found.",
    .inputs = {constant("Inference", "tags that were found"),
               constant("Label", "tags that are right"),
               optional_constant("SeqLength", "of padded rows")},
    .outputs = {{.name = "Precision", .doc = "correct of those found"},
                {.name = "Recall", .doc = "correct of those that are right"},
                {.name = "F1-Score", .doc = "their harmonic mean"},
                {.name = "NumInferChunks", .doc = "i64: found"},
                {.name = "NumLabelChunks", .doc = "i64: right"},
                {.name = "NumCorrectChunks", .doc = "i64: found and right"}},
    .attrs = {{"num_chunk_types", 1, "types of chunks"},
              {"chunk_scheme", "IOB", "plain, IOB, IOE or IOBES"},
              {"excluded_chunk_types", std::vector<int32_t>{}, "types that do not count"}},
    .infer = infer,
    .kernels =
        kernels_for<int64_t, int32_t>([]<typename T>(PrepareContext& c) { return forward(c); }),
});

}  // namespace
}  // namespace flotilla::ops
