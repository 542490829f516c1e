// flotilla/ops/sequence/crf_decoding.cc
//
// crf_decoding: the tags of a chain with the largest sum of scores (Viterbi, 1967); see crf.h. With
// Label, 1 where the tag is that of Label and 0 elsewhere.

#include <algorithm>
#include <limits>
#include <vector>

#include "flotilla/ops/sequence/crf.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_chains(c);
  const VarMeta& emission = c.in("Emission");
  const bool padded = c.has_in("Length");
  VarMeta out = like(
      emission, padded ? Shape{emission.shape[0], emission.shape[1]} : Shape{emission.shape[0], 1});
  out.dtype = i64;
  c.out("ViterbiPath") = std::move(out);
}

template <typename T>
void best_tags(const Chains& s, const Piece& chain, const T* emission, const T* w, int64_t* to) {
  if (chain.length == 0) return;
  const int64_t n = s.tags;
  const T* x = emission + chain.begin * n;
  std::vector<T> score(static_cast<size_t>(chain.length * n));
  std::vector<int64_t> from(score.size());
  for (int64_t j = 0; j < n; ++j) score[static_cast<size_t>(j)] = w[j] + x[j];
  for (int64_t k = 1; k < chain.length; ++k) {
    for (int64_t j = 0; j < n; ++j) {
      const size_t at = static_cast<size_t>(k * n + j);
      T most = std::numeric_limits<T>::lowest();
      for (int64_t i = 0; i < n; ++i) {
        const T found = score[static_cast<size_t>((k - 1) * n + i)] + w[(i + 2) * n + j];
        if (found > most) {
          most = found;
          from[at] = i;
        }
      }
      score[at] = most + x[k * n + j];
    }
  }
  int64_t tag = 0;
  const size_t last = static_cast<size_t>((chain.length - 1) * n);
  for (int64_t j = 1; j < n; ++j) {
    const T here = score[last + static_cast<size_t>(j)] + w[n + j];
    if (here > score[last + static_cast<size_t>(tag)] + w[n + tag]) tag = j;
  }
  for (int64_t k = chain.length; k-- > 0;) {
    to[chain.begin + k] = tag;
    tag = from[static_cast<size_t>(k * n + tag)];
  }
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [s = Chains(c), n = c.shape("ViterbiPath").numel(), x = c.in<T>("Emission"),
          w = c.in<T>("Transition"), labelled = c.has("Label"),
          label = c.has("Label") ? LabelsIn(c, "Label") : LabelsIn(),
          out = c.out<int64_t>("ViterbiPath")] {
    std::fill_n(out.data(), n, int64_t{0});
    for (const Piece& chain : s.pieces.all()) {
      best_tags(s, chain, x.data(), w.data(), out.data());
      for (int64_t i = chain.begin; labelled && i < chain.begin + chain.length; ++i) {
        out.data()[i] = out.data()[i] == label[i] ? 1 : 0;
      }
    }
  };
};

const OpDef& crf_decoding = define_op({
    .type = "crf_decoding",
    .doc = "The best tags of chains.",
    .inputs = {constant("Emission", "scores of the tags of each step"),
               constant("Transition", "[tags + 2, tags]"),
               optional_constant("Label", "tags to compare with"), chain_lengths()},
    .outputs = {{.name = "ViterbiPath", .doc = "i64: a tag for each step"}},
    .infer = infer,
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
