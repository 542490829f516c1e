// flotilla/ops/sequence/linear_chain_crf_decoding.cc
//
// A chain of tags with a score for each tag at each step (Emission) and for each tag behind another
// (Transition, [tags + 2, tags]: row 0 for the first tag, row 1 for the last, row 2 + i for what
// stands behind tag i). The steps of a chain are a sequence, or the first Length[i] of padded row
// i.
//
// linear_chain_crf: minus the logarithm of the probability that a chain has the tags of Label,
// where the probability of tags is proportional to the exponential of the sum of their scores
// (Lafferty, McCallum and Pereira, 2001).
//
//   LogLikelihood = log(sum over all tags of exp(score)) - score(Label)
//
// Alpha is scaled to sum to one at each step; EmissionExps = exp(Emission - its row's largest),
// TransitionExps = exp(Transition).
//
// crf_decoding: the tags with the largest sum of scores (Viterbi, 1967). With Label, 1 where the
// tag is that of Label and 0 elsewhere.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/pieces.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

struct Chains {
  int64_t tags = 0;
  Pieces pieces;  // the rows of Emission, one for each step, that a chain consists of

  explicit Chains(PrepareContext& c)
      : tags(c.shape("Transition")[1]), pieces(c, "Emission", "Length") {}
};

// How many chains there are; -1 where not known yet. Refuses shapes that do not fit.
int64_t check_chains(const InferContext& c) {
  const Shape &emission = c.in("Emission").shape, &transition = c.in("Transition").shape;
  const int64_t chains = check_pieces(c, "Emission", "Length");
  const int64_t rank = c.has_in("Length") ? 3 : 2;
  require(emission.rank() == rank, "Emission must have {} axes, but has shape {}", rank, emission);
  const int64_t tags = emission[rank - 1];
  require(transition.rank() == 2 && transition[0] == transition[1] + 2 && transition[1] != 0 &&
              fits(tags, transition[1]),
          "Transition must have shape [{}, {}], but has {}", tags + 2, tags, transition);
  if (c.has_in("Label")) {
    check_labels(c, "Label");
    check_count(c, "Label", emission.numel(0, rank - 1));
  }
  return chains;
}

Slot chain_lengths() {
  return optional_constant("Length", "steps of each chain, where rows are padded");
}

// ---- linear_chain_crf ---------------------------------------------------------------------------

void infer(InferContext& c) {
  const int64_t chains = check_chains(c);
  const VarMeta& emission = c.in("Emission");
  c.out("Alpha") = like(emission);
  c.out("EmissionExps") = like(emission);
  c.out("TransitionExps") = like(c.in("Transition"));
  c.out("LogLikelihood") = VarMeta::tensor(emission.dtype, Shape{chains, 1});
}

// Scales a row to sum to one and returns what the sum was.
template <typename T>
T scale_row(T* row, int64_t n) {
  T sum = 0;
  for (int64_t j = 0; j < n; ++j) sum += row[j];
  for (int64_t j = 0; j < n; ++j) row[j] /= sum;
  return sum;
}

// One chain: alpha[k][j] ~ the weight of all beginnings of k + 1 steps that end with tag j.
template <typename T>
T chain_cost(const Chains& s, const Piece& chain, const LabelsIn& labels, const T* x, const T* exps,
             const T* weights, const T* w, T* alpha) {
  const int64_t n = s.tags;
  T log_sum = 0, score = 0;
  int64_t before = 0;
  for (int64_t k = 0; k < chain.length; ++k) {
    const int64_t row = (chain.begin + k) * n;
    for (int64_t j = 0; j < n; ++j) {
      T sum = k == 0 ? weights[j] : T{0};
      for (int64_t i = 0; k > 0 && i < n; ++i) sum += alpha[row - n + i] * weights[(i + 2) * n + j];
      alpha[row + j] = sum * exps[row + j];
    }
    const T most = *std::max_element(x + row, x + row + n);
    log_sum += most + std::log(scale_row(alpha + row, n));
    const int64_t tag = labels.checked(chain.begin + k, n, 0);
    score += x[row + tag] + (k == 0 ? w[tag] : w[(before + 2) * n + tag]);
    before = tag;
  }
  if (chain.length == 0) return T{0};
  T ends = 0;
  const T* last = alpha + (chain.begin + chain.length - 1) * n;
  for (int64_t j = 0; j < n; ++j) ends += last[j] * weights[n + j];
  return log_sum + std::log(ends) - score - w[n + before];
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [s = Chains(c), steps = c.shape("Emission").numel(), labels = LabelsIn(c, "Label"),
          x = c.in<T>("Emission"), w = c.in<T>("Transition"), alpha = c.out<T>("Alpha"),
          exps = c.out<T>("EmissionExps"), weights = c.out<T>("TransitionExps"),
          cost = c.out<T>("LogLikelihood")] {
    const int64_t n = s.tags;
    for (int64_t i = 0; i < (n + 2) * n; ++i) weights.data()[i] = std::exp(w.data()[i]);
    std::fill_n(alpha.data(), steps, T{0});  // behind the chains of padded rows
    parallel_for(steps / n, n * 20, [&](int64_t row) {
      const T* from = x.data() + row * n;
      const T most = *std::max_element(from, from + n);
      for (int64_t j = 0; j < n; ++j) exps.data()[row * n + j] = std::exp(from[j] - most);
    });
    const std::vector<Piece> chains = s.pieces.all();
    parallel_for(std::ssize(chains), n * n * 20, [&](int64_t i) {
      cost.data()[i] = chain_cost(s, chains[static_cast<size_t>(i)], labels, x.data(), exps.data(),
                                  weights.data(), w.data(), alpha.data());
    });
  };
};

// What one chain adds to the gradients: the probability of each tag, and of each pair, less one
// where Label has them. `beta` is scratch of one row for each step: the weight of all ends.
template <typename T>
struct Backward {
  const Chains& s;
  const LabelsIn& labels;
  const T* alpha;
  const T* exps;
  const T* weights;
  T* beta;
  T* demission;    // may be null
  T* dtransition;  // may be null

  void ends(const Piece& chain) const {
    const int64_t n = s.tags;
    for (int64_t k = chain.length; k-- > 0;) {
      T* row = beta + (chain.begin + k) * n;
      for (int64_t i = 0; i < n; ++i) {
        T sum = k + 1 == chain.length ? weights[n + i] : T{0};
        for (int64_t j = 0; k + 1 < chain.length && j < n; ++j) {
          sum += weights[(i + 2) * n + j] * row[n + j] * exps[(chain.begin + k + 1) * n + j];
        }
        row[i] = sum;
      }
      scale_row(row, n);
    }
  }

  // The probabilities of the tags of one step.
  std::vector<T> tags_at(int64_t step) const {
    std::vector<T> found(static_cast<size_t>(s.tags));
    const int64_t row = step * s.tags;
    for (int64_t j = 0; j < s.tags; ++j) {
      found[static_cast<size_t>(j)] = alpha[row + j] * beta[row + j];
    }
    scale_row(found.data(), s.tags);
    return found;
  }

  void add_pairs(int64_t step, T g) const {
    const int64_t n = s.tags, row = step * n;
    std::vector<T> pairs(static_cast<size_t>(n * n));
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        pairs[static_cast<size_t>(i * n + j)] =
            alpha[row - n + i] * weights[(i + 2) * n + j] * exps[row + j] * beta[row + j];
      }
    }
    scale_row(pairs.data(), n * n);
    for (int64_t i = 0; i < n * n; ++i) dtransition[2 * n + i] += g * pairs[static_cast<size_t>(i)];
    const int64_t before = labels.checked(step - 1, n, 0), tag = labels.checked(step, n, 0);
    dtransition[(before + 2) * n + tag] -= g;
  }

  void run(const Piece& chain, T g) const {
    const int64_t n = s.tags;
    ends(chain);
    for (int64_t k = 0; k < chain.length; ++k) {
      const int64_t step = chain.begin + k, tag = labels[step];
      const std::vector<T> found = tags_at(step);
      for (int64_t j = 0; j < n; ++j) {
        const T part = g * (found[static_cast<size_t>(j)] - (j == tag ? T{1} : T{0}));
        if (demission != nullptr) demission[step * n + j] = part;
        if (dtransition != nullptr && k == 0) dtransition[j] += part;
        if (dtransition != nullptr && k + 1 == chain.length) dtransition[n + j] += part;
      }
      if (dtransition != nullptr && k > 0) add_pairs(step, g);
    }
  }
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t numbers = c.shape("Emission").numel();
  return
      [s = Chains(c), numbers, labels = LabelsIn(c, "Label"), alpha = c.in<T>("Alpha"),
       exps = c.in<T>("EmissionExps"), weights = c.in<T>("TransitionExps"),
       dcost = c.in<T>("LogLikelihood@GRAD"), beta = c.workspace<T>(std::max<int64_t>(numbers, 1)),
       dx = wanted<T>(c, "Emission@GRAD"), dw = wanted<T>(c, "Transition@GRAD")] {
        if (dx) std::fill_n(dx.data(), numbers, T{0});
        if (dw) std::fill_n(dw.data(), (s.tags + 2) * s.tags, T{0});
        const std::vector<Piece> chains = s.pieces.all();
        const Backward<T> back = {s,
                                  labels,
                                  alpha.data(),
                                  exps.data(),
                                  weights.data(),
                                  beta.data(),
                                  dx ? dx.data() : nullptr,
                                  dw ? dw.data() : nullptr};
        for (size_t i = 0; i < chains.size(); ++i) {
          back.run(chains[i], dcost.data()[i]);
        }
      };
};

const OpDef& linear_chain_crf = define_op({
    .type = "linear_chain_crf",
    .doc = "The cost of the tags of chains.",
    .inputs = {{.name = "Emission", .doc = "scores of the tags of each step"},
               {.name = "Transition", .doc = "[tags + 2, tags]"},
               constant("Label", "a tag for each step"),
               chain_lengths()},
    .outputs = {constant("Alpha", "for the gradient"),
                constant("EmissionExps", "for the gradient"),
                constant("TransitionExps", "for the gradient"),
                {.name = "LogLikelihood", .doc = "[chains, 1]: the cost of each"}},
    .infer = infer,
    .grad = float_grad({shape_of("Emission"), shape_of("Transition"), "Label", "Length", "Alpha",
                        "EmissionExps", "TransitionExps"},
                       backward),
    .kernels = kernels_for<float, double>(forward),
});

// ---- crf_decoding -------------------------------------------------------------------------------

void infer_decoding(InferContext& c) {
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

constexpr auto decode = []<typename T>(PrepareContext& c) -> Step {
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
    .infer = infer_decoding,
    .kernels = kernels_for<float, double>(decode),
});

}  // namespace
}  // namespace flotilla::ops
