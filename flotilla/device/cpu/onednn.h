// flotilla/device/cpu/onednn.h
//
// oneDNN behind Flotilla's own types: shapes, layouts and raw pointers. Ops include this header and
// nothing of oneDNN's; a newer oneDNN changes the files onednn*.cc and no other.
//
// Each class is one computation. Constructing it decides everything (algorithm, layouts, machine
// code, scratch size) and may take milliseconds; `run` only computes: it allocates nothing of its
// own and looks nothing up. Results repeat to the bit for the same number of threads, which is the
// number that threads() gave when the object was made.
//
// Memory: a pointer is to float unless said otherwise and holds layout.physical_numel(shape)
// elements whose padding is zero. Outputs get zero padding. Blocked tensors are aligned to 64
// bytes; plain ones need not be, but are faster so. `scratch` is scratch_bytes() bytes aligned to
// 64, with nothing kept between runs; nullptr where that is 0.
//
// Thread safety: any number of objects may be made and run at the same time, but one object only by
// one thread at a time. Objects can be moved, not copied. Not to be called inside parallel_for.
//
// Errors: a problem that oneDNN cannot solve is refused in one sentence when the object is made.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/dtype.h"
#include "flotilla/base/layout.h"
#include "flotilla/base/shape.h"

namespace flotilla::onednn {

// What all computations share.
class Primitive {
 public:
  Primitive(Primitive&&) noexcept;
  Primitive& operator=(Primitive&&) noexcept;
  ~Primitive();

  int64_t scratch_bytes() const;
  // oneDNN's name of the code that was chosen, e.g. "jit:avx512_core"; for tests and inspection.
  const std::string& implementation() const;

  struct State;

 protected:
  explicit Primitive(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

// ---- Element-wise -------------------------------------------------------------------------------

enum class Act {
  kNone,
  kRelu,  // alpha: slope for x < 0 (0 is relu, else leaky relu)
  kTanh,
  kSigmoid,
  kGeluErf,
  kGeluTanh,
  kElu,        // alpha
  kSwish,      // x * sigmoid(alpha * x)
  kHardSwish,  // x * clip(x + 3, 0, 6) / 6
  kSoftplus,   // log(1 + exp(x))
  kMish,
  kExp,
  kLog,
  kSqrt,
  kAbs,
  kSquare,
  kClip,    // alpha: least, beta: most
  kLinear,  // alpha * x + beta
  kPow,     // alpha * x^beta
};

struct Activation {
  Act kind = Act::kNone;
  float alpha = 0;
  float beta = 0;
};

// y = act(x). `x` and `y` may be the same memory.
class EltwiseForward : public Primitive {
 public:
  EltwiseForward(Activation act, const Shape& shape, const Layout& layout = {});
  void run(const float* x, float* y);
};

// dx = dy * act'(x). `dx` and `dy` may be the same memory.
class EltwiseBackward : public Primitive {
 public:
  EltwiseBackward(Activation act, const Shape& shape, const Layout& layout = {});
  // True where the derivative is taken from the result y instead of x: relu, tanh, sigmoid, elu
  // with alpha >= 0, exp, sqrt.
  bool uses_result() const { return uses_result_; }
  // `data` is y where uses_result(), else x.
  void run(const float* data, const float* dy, float* dx);

 private:
  bool uses_result_ = false;
};

enum class BinaryKind { kAdd, kSub, kMul, kDiv, kMax, kMin };

// c = a op b, with a's shape; an extent of 1 in b is repeated. `c` and `a` may be the same memory.
class Binary : public Primitive {
 public:
  Binary(BinaryKind kind, const Shape& a, const Shape& b, const Layout& layout_a = {},
         const Layout& layout_b = {});
  void run(const float* a, const float* b, float* c);
};

// y = x0 + x1 + ...: added in this order. `y` and x0 may be the same memory.
class Sum : public Primitive {
 public:
  Sum(int64_t inputs, const Shape& shape, const Layout& layout = {});
  void run(std::span<const float* const> inputs, float* y);

 private:
  std::vector<const void*> pointers_;  // kept, so that run allocates nothing
};

enum class ReduceKind { kSum, kMean, kMax, kMin, kProduct };

// Reduces the axes whose extent in `to` is 1 and in `from` is not. Same rank; both plain.
class Reduction : public Primitive {
 public:
  Reduction(ReduceKind kind, const Shape& from, const Shape& to);
  void run(const float* x, float* y, void* scratch);
};

// ---- Reorder ------------------------------------------------------------------------------------

// Copies a tensor from one layout to another; the padding of `to` becomes zero. Any dtype: what
// oneDNN does not know is copied by a loop of our own.
class Reorder : public Primitive {
 public:
  Reorder(const Shape& shape, DType dtype, const Layout& from, const Layout& to);
  void run(const void* from, void* to, void* scratch);
};

// ---- Matrix product -----------------------------------------------------------------------------

// C = act(A B + bias), or C += A B. Row major; a transposed operand lies in memory as its
// transpose. With batch axes there is one product for each index of them.
struct MatmulProblem {
  int64_t m = 0, n = 0, k = 0;  // A is m x k, B is k x n, C is m x n
  bool transpose_a = false;     // A lies in memory as k x m
  bool transpose_b = false;     // B lies in memory as n x k

  // Extents of the batch axes, and by how many elements each operand moves along each; 0 where an
  // operand is the same for the whole axis. Empty strides: dense.
  std::vector<int64_t> batch = {};
  std::vector<int64_t> batch_stride_a = {}, batch_stride_b = {};

  // Elements from one row in memory to the next; 0: dense.
  int64_t row_stride_a = 0, row_stride_b = 0, row_stride_c = 0;

  bool has_bias = false;  // one number for each column of C
  Activation act = {};
  bool accumulate = false;  // REQUIRES: no bias and no act

  // B lies in the layout that oneDNN likes best, b_layout() over the shape [k, n]: for weights that
  // live there for long. REQUIRES: no batch, not transpose_b, row_stride_b 0
  bool choose_b_layout = false;
};

class Matmul : public Primitive {
 public:
  explicit Matmul(const MatmulProblem& problem);
  const Layout& b_layout() const { return b_layout_; }
  void run(const float* a, const float* b, const float* bias, float* c, void* scratch);

 private:
  Layout b_layout_;
  bool has_bias_ = false;
};

// ---- Convolution --------------------------------------------------------------------------------

// Shapes are [N, C, spatial...], weights [O, C / groups, kernel...], with 1 to 3 spatial axes, in
// whatever layout: data of an NHWC program has the layout "acdb" over an NCHW shape.
struct ConvProblem {
  Shape src = {};
  Shape weights = {};
  Shape dst = {};
  // One entry for each spatial axis. A dilation of 1 leaves no gaps.
  std::vector<int64_t> strides = {}, pads_begin = {}, pads_end = {}, dilations = {};
  int64_t groups = 1;
  bool has_bias = false;
  Activation act = {};  // applied by ConvForward; for inference, since backward knows nothing of it
  // Winograd's algorithm where it is faster: up to three times for 3 x 3 kernels of stride 1, with
  // a rounding error of 1e-6 instead of 2e-7 of the result.
  bool winograd = true;
};

// What is given and what oneDNN may choose. The gradient of a tensor has the tensor's layout, so in
// training the backward directions are given what forward chose. Given src and dst are never
// reordered inside: a bad choice costs speed. Weights are, where oneDNN has no good code for the
// given layout; that costs scratch memory and some hundredths of the time.
struct ConvLayouts {
  std::optional<Layout> src = {}, weights = {}, dst = {};
};

// What the three directions share.
class Convolution : public Primitive {
 public:
  const Layout& src() const { return src_; }
  const Layout& weights() const { return weights_; }
  const Layout& dst() const { return dst_; }

 protected:
  Convolution();
  void adopt(std::unique_ptr<State> state, Layout src, Layout dst);
  // `inside`: the layout that the primitive wants, with the groups as an axis of their own.
  void adopt_weights(const ConvProblem& problem, const ConvLayouts& given, const Layout& inside,
                     bool weights_are_output);
  const float* weights_inside(const float* weights, void* scratch);

  Layout src_, weights_, dst_;
  // Between weights as given and as the primitive wants them; the offsets are into scratch.
  std::optional<Reorder> reorder_;
  int64_t reorder_scratch_ = 0, reordered_ = 0;
};

class ConvForward : public Convolution {
 public:
  explicit ConvForward(const ConvProblem& problem, const ConvLayouts& given = {});
  // `bias` is nullptr unless has_bias.
  void run(const float* src, const float* weights, const float* bias, float* dst, void* scratch);

 private:
  bool has_bias_ = false;
};

class ConvBackwardData : public Convolution {
 public:
  explicit ConvBackwardData(const ConvProblem& problem, const ConvLayouts& given = {});
  void run(const float* diff_dst, const float* weights, float* diff_src, void* scratch);
};

class ConvBackwardWeights : public Convolution {
 public:
  explicit ConvBackwardWeights(const ConvProblem& problem, const ConvLayouts& given = {});
  // `diff_bias` is nullptr unless has_bias.
  void run(const float* src, const float* diff_dst, float* diff_weights, float* diff_bias,
           void* scratch);

 private:
  bool has_bias_ = false;
};

// ---- Pooling ------------------------------------------------------------------------------------

enum class PoolKind { kMax, kAverageWithPadding, kAverageWithoutPadding };

struct PoolProblem {
  Shape src = {}, dst = {};  // [N, C, spatial...]
  std::vector<int64_t> kernel = {}, strides = {}, pads_begin = {}, pads_end = {};
  PoolKind kind = PoolKind::kMax;
};

// The result has the layout of the source.
class PoolForward : public Primitive {
 public:
  // `training`: keeps in a workspace where each maximum stood.
  PoolForward(const PoolProblem& problem, const Layout& layout, bool training);
  int64_t workspace_bytes() const;
  void run(const float* src, float* dst, void* workspace, void* scratch);
};

class PoolBackward : public Primitive {
 public:
  PoolBackward(const PoolProblem& problem, const Layout& layout);
  // `workspace`: what the forward run in training left; nullptr for averages.
  void run(const float* diff_dst, const void* workspace, float* diff_src, void* scratch);
};

// ---- Batch norm ---------------------------------------------------------------------------------

// Over all axes but axis 1. The variance is the biased one (divided by the count).
struct BatchNormProblem {
  Shape shape = {};
  float epsilon = 1e-5f;
  bool relu = false;  // y = max(0, ...), with one mask byte or bit per element in the workspace
};

class BatchNormForward : public Primitive {
 public:
  // training: mean and variance are computed and written; otherwise they are given.
  BatchNormForward(const BatchNormProblem& problem, const Layout& layout, bool training);
  int64_t workspace_bytes() const;  // 0 without relu or training
  void run(const float* x, const float* scale, const float* shift, float* mean, float* variance,
           float* y, void* workspace, void* scratch);
};

class BatchNormBackward : public Primitive {
 public:
  BatchNormBackward(const BatchNormProblem& problem, const Layout& layout);
  void run(const float* x, const float* dy, const float* scale, const float* mean,
           const float* variance, const void* workspace, float* dx, float* dscale, float* dshift,
           void* scratch);
};

// ---- Softmax ------------------------------------------------------------------------------------

// Slice by slice along `axis` of a plain tensor; `logarithm` gives log(softmax(x)). In place is
// fine.
class SoftmaxForward : public Primitive {
 public:
  SoftmaxForward(const Shape& shape, int64_t axis, bool logarithm = false);
  void run(const float* x, float* y, void* scratch);
};

class SoftmaxBackward : public Primitive {
 public:
  SoftmaxBackward(const Shape& shape, int64_t axis, bool logarithm = false);
  void run(const float* y, const float* dy, float* dx, void* scratch);
};

}  // namespace flotilla::onednn
