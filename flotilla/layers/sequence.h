// flotilla/layers/sequence.h
//
// Layers over sequences, which their input's LoD tells apart. Recurrent ones are in recurrent.h;
// functions of one op go through op() (op.h).

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/layers/op.h"

namespace flotilla::layers {

struct SequenceConvOptions {
  int64_t filter_size = 3;  // rows that a filter sees
  int64_t filter_stride = 1;
  // The first of these rows, counted from the row itself; nothing: the row stands in the middle.
  std::optional<int64_t> padding_start = {};
  ParamAttr weight = {};
  std::optional<ParamAttr> bias = ParamAttr{};
  std::string act = {};
  std::string name = {};
};
// Each row with its neighbours, zeros outside of its sequence, times filters.
Variable sequence_conv(Variable x, int64_t filters, const SequenceConvOptions& options = {});

struct RowConvOptions {
  ParamAttr weight = {};
  std::string act = {};
};
// Each row weighted with the `future_context_size` rows behind it in its sequence.
Variable row_conv(Variable x, int64_t future_context_size, const RowConvOptions& options = {});

struct FusedEmbeddingSeqPoolOptions {
  bool is_sparse = false;  // the rows may live on parameter servers, which serve lookups
  std::optional<int64_t> padding_idx = {};
  std::string combiner = "sum";  // there is no other
  ParamAttr weight = {};
  DType dtype = f32;
};
// For each sequence of ids, the sum of the rows of a table of `rows` x `width` that they name.
Variable fused_embedding_seq_pool(Variable ids, int64_t rows, int64_t width,
                                  const FusedEmbeddingSeqPoolOptions& options = {});

// One row for each sequence. `type`: "sum", "average", "sqrt" (the sum divided by the root of the
// length), "max", "last" or "first". Empty sequences give `pad_value`.
Variable sequence_pool(Variable x, const std::string& type, bool is_test = false,
                       double pad_value = 0);
// Sequences one beside the other, [sequences, longest, ...], and their lengths. `pad_value`, one
// number or a row, is appended to those that are shorter than `longest`, or than the longest.
std::pair<Variable, Variable> sequence_pad(Variable x, Variable pad_value,
                                           std::optional<int64_t> longest = {},
                                           const std::string& name = {});
// x with other sequences: those of `y`, or the offsets that `y` or `offsets` holds.
Variable lod_reset(Variable x, std::optional<Variable> y,
                   const std::optional<std::vector<int64_t>>& offsets = {});
// How far each sequence is from that of `label`, and the number of sequences. `normalized` divides
// by the length of the label; `ignored` are left out of both. With lengths, sequences are the
// beginnings of padded rows.
std::pair<Variable, Variable> edit_distance(Variable x, Variable label, bool normalized = true,
                                            const std::vector<int64_t>& ignored = {},
                                            std::optional<Variable> x_length = {},
                                            std::optional<Variable> label_length = {});

struct LinearChainCrfOptions {
  ParamAttr transition = {};  // scores of tags behind others, and at both ends
  Variables length = {};      // of each chain, where `x` is padded: [chains, steps, tags]
};
// The cost of the tags `label` of each chain, minus the logarithm of their probability. `x` holds a
// score for each tag of each step.
Variable linear_chain_crf(Variable x, Variable label, const LinearChainCrfOptions& options = {});

struct CrfDecodingOptions {
  Variables label = {};  // then the result is 1 where the tags agree with it, and 0 elsewhere
  Variables length = {};
};
// The best tags of each chain. `transition`: the name of what linear_chain_crf learnt.
Variable crf_decoding(Variable x, const std::string& transition,
                      const CrfDecodingOptions& options = {});

}  // namespace flotilla::layers
