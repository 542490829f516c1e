// flotilla/layers/nn.h
//
// Layers with parameters, and inputs. Each appends ops to the current main program, and the first
// values of its parameters to the current startup program. Names are Paddle's: the n-th fc holds
// fc_<n>.w_0 and fc_<n>.b_0 and writes fc_<n>.tmp_0, fc_<n>.tmp_1, ...
//
//   Variable x = data("x", {-1, 784});
//   Variable hidden = fc(x, 128, {.act = "tanh"});
//
// What is a single op without parameters is in functions.h.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flotilla/layers/op.h"

namespace flotilla::layers {

struct DataOptions {
  int32_t lod_level = 0;
  // Puts an unknown batch extent in front of a shape without unknown extents.
  bool append_batch_size = false;
  // What is fed must have the declared rank, fixed extents and dtype.
  bool need_check_feed = true;
  bool stop_gradient = true;
};
// Declares what a run is fed. -1 is an extent known when the program runs. A second declaration of
// a name must be equal to the first.
Variable data(const std::string& name, Shape shape, DType dtype = f32,
              const DataOptions& options = {});

struct FcOptions {
  int64_t num_flatten_dims = 1;  // axes before this one are the batch
  ParamAttr weight = {};
  std::vector<ParamAttr> weights = {};  // one for each input, instead of `weight`
  std::optional<ParamAttr> bias = ParamAttr{};
  std::string act = {};
  std::string name = {};
};
// act(sum of x_i W_i + b).
Variable fc(const Variables& x, int64_t size, const FcOptions& options = {});

struct BilinearTensorProductOptions {
  ParamAttr weight = {};
  std::optional<ParamAttr> bias = ParamAttr{};
  std::string act = {};
  std::string name = {};
};
// `size` numbers for each row of `x` and `y`, linear in both.
Variable bilinear_tensor_product(Variable x, Variable y, int64_t size,
                                 const BilinearTensorProductOptions& options = {});

struct PreluOptions {
  ParamAttr alpha = {};
  std::string name = {};
  std::string data_format = "NCHW";
};
// x above zero, alpha * x below. `mode`: one alpha for all, each channel or each element.
Variable prelu(Variable x, const std::string& mode, const PreluOptions& options = {});

struct EmbeddingOptions {
  bool is_sparse = false;  // the gradient holds the rows that were looked up, not the whole table
  bool is_distributed = false;
  std::optional<int64_t> padding_idx =
      {};  // looked up as zeros, never trained; counts from the end
  ParamAttr weight = {};
  DType dtype = f32;
  std::string name = {};
  // lookup_table of 1.x: the last axis of the ids, of extent one, becomes the width. Otherwise
  // lookup_table_v2: the width is a new axis.
  bool v1 = false;
};
// The rows of a table of `rows` x `width` that `ids` names.
Variable embedding(Variable ids, int64_t rows, int64_t width, const EmbeddingOptions& options = {});

struct SparseEmbeddingOptions {
  std::optional<int64_t> padding_idx = {};
  bool is_test = false;
  std::string entry = "none";  // which features get a row, when servers hold the table
  std::string table_class = "MemorySparseTable";
  int32_t slot = 0;
  ParamAttr weight = {};
  DType dtype = f32;
};
// A table for parameter servers, one for each call. In one process: a table of the given size.
Variable sparse_embedding(Variable ids, int64_t rows, int64_t width,
                          const SparseEmbeddingOptions& options = {});

struct DropoutOptions {
  bool is_test = false;
  std::optional<int32_t> seed = {};
  // Values that stay are divided by (1 - p) while training; otherwise all are multiplied by it
  // afterwards.
  bool upscale_in_train = true;
  std::string name = {};
};
Variable dropout(Variable x, float probability, const DropoutOptions& options = {});

}  // namespace flotilla::layers
