// flotilla/layers/sampled.h
//
// Losses over so many classes that each sample looks at only some of them: at classes that are
// drawn, or at the turns on the way to its own in a tree. Each class has a row of the weights.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/layers/op.h"

namespace flotilla::layers {

struct NceOptions {
  Variables sample_weight = {};
  ParamAttr weight = {};
  std::optional<ParamAttr> bias = ParamAttr{};
  int64_t num_neg_samples = 10;
  std::string sampler = "uniform";       // log_uniform: low numbers are likely; custom_dist
  std::vector<double> custom_dist = {};  // the probabilities of the classes
  int32_t seed = 0;                      // if not 0, each run draws the same classes
  bool is_sparse = false;                // the gradient holds the rows that were looked at
  std::string name = {};
};
// How well samples are told apart from classes that are drawn (noise-contrastive estimation).
Variable nce(Variable x, Variable label, int64_t classes, const NceOptions& options = {});

struct HsigmoidOptions {
  ParamAttr weight = {};
  std::optional<ParamAttr> bias = ParamAttr{};
  // The inner nodes from the root on, and the turns there; both end with -1. Without them the tree
  // is complete.
  Variables path_table = {};
  Variables path_code = {};
  bool is_sparse = false;  // a complete tree has few nodes: for others only
  std::string name = {};
};
// The cost of the turns on the way to a label in a binary tree of classes.
Variable hsigmoid(Variable x, Variable label, int64_t classes, const HsigmoidOptions& options = {});

struct SampledSoftmaxOptions {
  int64_t num_true = 1;  // labels of each sample
  bool remove_accidental_hits = true;
  bool use_customized_samples = false;  // these instead of drawn ones
  Variables customized_samples = {};
  Variables customized_probabilities = {};
  int32_t seed = 0;
};
// The cross entropy of a softmax over the labels and `samples` classes that are drawn, low numbers
// more often.
Variable sampled_softmax_with_cross_entropy(Variable logits, Variable label, int64_t samples,
                                            const SampledSoftmaxOptions& options = {});

// How to draw by `probabilities` in two steps (Walker, 1977): a class drawn evenly is kept below
// its level, and is its alias above. An alias of -1: always kept.
struct AliasTable {
  std::vector<double> aliases;
  std::vector<double> levels;
};
AliasTable alias_table(const std::vector<double>& probabilities);

}  // namespace flotilla::layers
