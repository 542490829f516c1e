// Batch norm, softmax and pooling.

#include "flotilla/device/cpu/onednn_internal.h"

namespace flotilla::onednn {
namespace {

using dnnl::normalization_flags;
using dnnl::prop_kind;

int64_t bytes_of(const memory::desc& desc) { return static_cast<int64_t>(desc.get_size()); }

std::string describe(const BatchNormProblem& p, const Layout& layout) {
  return fmt::format("a batch norm of {} {}", p.shape, layout);
}

dnnl::batch_normalization_forward::primitive_desc norm_desc(const BatchNormProblem& p,
                                                            const memory::desc& data, bool training,
                                                            const dnnl::primitive_attr& attr) {
  normalization_flags flags = normalization_flags::use_scale | normalization_flags::use_shift;
  if (p.relu) flags |= normalization_flags::fuse_norm_relu;
  if (!training) flags |= normalization_flags::use_global_stats;
  const prop_kind kind = training ? prop_kind::forward_training : prop_kind::forward_inference;
  return dnnl::batch_normalization_forward::primitive_desc({kind, data, p.epsilon, flags}, attr,
                                                           engine());
}

std::unique_ptr<Primitive::State> prepare_norm(const BatchNormProblem& p, const Layout& layout,
                                               bool training) {
  require(p.shape.rank() >= 2 && p.shape.numel() > 0,
          "batch norm needs elements of a shape [N, C, ...], but the shape is {}", p.shape);
  const memory::desc data = to_desc(p.shape, layout), channel = to_desc({p.shape[1]}, {});
  const auto pd =
      create(describe(p, layout), [&] { return norm_desc(p, data, training, user_scratch()); });
  auto state = std::make_unique<Primitive::State>(dnnl::batch_normalization_forward(pd), pd);
  state->add(DNNL_ARG_SRC, data);
  state->add(DNNL_ARG_SCALE, channel);
  state->add(DNNL_ARG_SHIFT, channel);
  state->add(DNNL_ARG_MEAN, pd.mean_desc());
  state->add(DNNL_ARG_VARIANCE, pd.variance_desc());
  state->add(DNNL_ARG_DST, data);
  state->add(DNNL_ARG_WORKSPACE, pd.workspace_desc());
  state->workspace_bytes = bytes_of(pd.workspace_desc());
  return state;
}

std::unique_ptr<Primitive::State> prepare_norm_backward(const BatchNormProblem& p,
                                                        const Layout& layout) {
  require(p.shape.rank() >= 2 && p.shape.numel() > 0,
          "batch norm needs elements of a shape [N, C, ...], but the shape is {}", p.shape);
  const memory::desc data = to_desc(p.shape, layout), channel = to_desc({p.shape[1]}, {});
  const auto pd = create("the gradient of " + describe(p, layout), [&] {
    normalization_flags flags = normalization_flags::use_scale | normalization_flags::use_shift;
    if (p.relu) flags |= normalization_flags::fuse_norm_relu;
    return dnnl::batch_normalization_backward::primitive_desc(
        {prop_kind::backward, data, data, p.epsilon, flags}, user_scratch(), engine(),
        norm_desc(p, data, true, {}));
  });
  auto state = std::make_unique<Primitive::State>(dnnl::batch_normalization_backward(pd), pd);
  state->add(DNNL_ARG_SRC, data);
  state->add(DNNL_ARG_DIFF_DST, data);
  state->add(DNNL_ARG_SCALE, channel);
  state->add(DNNL_ARG_SHIFT, channel);  // not read, but asked for
  state->add(DNNL_ARG_MEAN, pd.mean_desc());
  state->add(DNNL_ARG_VARIANCE, pd.variance_desc());
  state->add(DNNL_ARG_WORKSPACE, pd.workspace_desc());
  state->add(DNNL_ARG_DIFF_SRC, data);
  state->add(DNNL_ARG_DIFF_SCALE, channel);
  state->add(DNNL_ARG_DIFF_SHIFT, channel);
  return state;
}

std::string describe(const PoolProblem& p, const Layout& layout) {
  return fmt::format("a pooling of {} {} to {} (kernel {}, strides {}, pads {} and {})", p.src,
                     layout, p.dst, fmt::join(p.kernel, "x"), fmt::join(p.strides, "x"),
                     fmt::join(p.pads_begin, "x"), fmt::join(p.pads_end, "x"));
}

dnnl::algorithm algorithm_of(PoolKind kind) {
  switch (kind) {
    case PoolKind::kMax:
      return dnnl::algorithm::pooling_max;
    case PoolKind::kAverageWithPadding:
      return dnnl::algorithm::pooling_avg_include_padding;
    default:
      return dnnl::algorithm::pooling_avg_exclude_padding;
  }
}

dnnl::pooling_forward::primitive_desc pool_desc(const PoolProblem& p, const memory::desc& src,
                                                const memory::desc& dst, bool training,
                                                const dnnl::primitive_attr& attr) {
  const prop_kind kind = training ? prop_kind::forward_training : prop_kind::forward_inference;
  return dnnl::pooling_forward::primitive_desc(
      {kind, algorithm_of(p.kind), src, dst, p.strides, p.kernel, p.pads_begin, p.pads_end}, attr,
      engine());
}

std::unique_ptr<Primitive::State> prepare_pool(const PoolProblem& p, const Layout& layout,
                                               bool training) {
  require(p.src.numel() > 0 && p.dst.numel() > 0, "there are no elements in {}",
          describe(p, layout));
  const memory::desc src = to_desc(p.src, layout), dst = to_desc(p.dst, layout);
  const auto pd =
      create(describe(p, layout), [&] { return pool_desc(p, src, dst, training, user_scratch()); });
  auto state = std::make_unique<Primitive::State>(dnnl::pooling_forward(pd), pd);
  state->add(DNNL_ARG_SRC, src);
  state->add(DNNL_ARG_DST, dst);
  state->add(DNNL_ARG_WORKSPACE, pd.workspace_desc());
  state->workspace_bytes = bytes_of(pd.workspace_desc());
  return state;
}

std::unique_ptr<Primitive::State> prepare_pool_backward(const PoolProblem& p,
                                                        const Layout& layout) {
  require(p.src.numel() > 0 && p.dst.numel() > 0, "there are no elements in {}",
          describe(p, layout));
  const memory::desc src = to_desc(p.src, layout), dst = to_desc(p.dst, layout);
  const auto pd = create("the gradient of " + describe(p, layout), [&] {
    return dnnl::pooling_backward::primitive_desc(
        {algorithm_of(p.kind), src, dst, p.strides, p.kernel, p.pads_begin, p.pads_end},
        user_scratch(), engine(), pool_desc(p, src, dst, true, {}));
  });
  auto state = std::make_unique<Primitive::State>(dnnl::pooling_backward(pd), pd);
  state->add(DNNL_ARG_DIFF_DST, dst);
  state->add(DNNL_ARG_WORKSPACE, pd.workspace_desc());
  state->add(DNNL_ARG_DIFF_SRC, src);
  return state;
}

template <typename Forward>
std::unique_ptr<Primitive::State> prepare_softmax(const Shape& shape, int64_t axis) {
  if (shape.numel() == 0) return nothing_to_do();
  const memory::desc desc = to_desc(shape, {});
  const auto pd = create(fmt::format("a softmax of {} along axis {}", shape, axis), [&] {
    return typename Forward::primitive_desc(
        {prop_kind::forward_training, desc, static_cast<int>(shape.axis(axis))}, user_scratch(),
        engine());
  });
  auto state = std::make_unique<Primitive::State>(Forward(pd), pd);
  state->add(DNNL_ARG_SRC, desc);
  state->add(DNNL_ARG_DST, desc);
  return state;
}

template <typename Forward, typename Backward>
std::unique_ptr<Primitive::State> prepare_softmax_backward(const Shape& shape, int64_t axis) {
  if (shape.numel() == 0) return nothing_to_do();
  const memory::desc desc = to_desc(shape, {});
  const int a = static_cast<int>(shape.axis(axis));
  const auto pd = create(fmt::format("the gradient of softmax of {} along {}", shape, axis), [&] {
    const typename Forward::primitive_desc forward({prop_kind::forward_training, desc, a},
                                                   engine());
    return typename Backward::primitive_desc({desc, desc, a}, user_scratch(), engine(), forward);
  });
  auto state = std::make_unique<Primitive::State>(Backward(pd), pd);
  state->add(DNNL_ARG_DST, desc);
  state->add(DNNL_ARG_DIFF_DST, desc);
  state->add(DNNL_ARG_DIFF_SRC, desc);
  return state;
}

}  // namespace

BatchNormForward::BatchNormForward(const BatchNormProblem& problem, const Layout& layout,
                                   bool training)
    : Primitive(prepare_norm(problem, layout, training)) {}

int64_t BatchNormForward::workspace_bytes() const { return state_->workspace_bytes; }

void BatchNormForward::run(const float* x, const float* scale, const float* shift, float* mean,
                           float* variance, float* y, void* workspace, void* scratch) {
  state_->run({x, scale, shift, mean, variance, y, workspace}, scratch);
}

BatchNormBackward::BatchNormBackward(const BatchNormProblem& problem, const Layout& layout)
    : Primitive(prepare_norm_backward(problem, layout)) {}

void BatchNormBackward::run(const float* x, const float* dy, const float* scale, const float* mean,
                            const float* variance, const void* workspace, float* dx, float* dscale,
                            float* dshift, void* scratch) {
  state_->run({x, dy, scale, scale, mean, variance, workspace, dx, dscale, dshift}, scratch);
}

PoolForward::PoolForward(const PoolProblem& problem, const Layout& layout, bool training)
    : Primitive(prepare_pool(problem, layout, training)) {}

int64_t PoolForward::workspace_bytes() const { return state_->workspace_bytes; }

void PoolForward::run(const float* src, float* dst, void* workspace, void* scratch) {
  state_->run({src, dst, workspace}, scratch);
}

PoolBackward::PoolBackward(const PoolProblem& problem, const Layout& layout)
    : Primitive(prepare_pool_backward(problem, layout)) {}

void PoolBackward::run(const float* diff_dst, const void* workspace, float* diff_src,
                       void* scratch) {
  state_->run({diff_dst, workspace, diff_src}, scratch);
}

SoftmaxForward::SoftmaxForward(const Shape& shape, int64_t axis, bool logarithm)
    : Primitive(logarithm ? prepare_softmax<dnnl::logsoftmax_forward>(shape, axis)
                          : prepare_softmax<dnnl::softmax_forward>(shape, axis)) {}

void SoftmaxForward::run(const float* x, float* y, void* scratch) { state_->run({x, y}, scratch); }

SoftmaxBackward::SoftmaxBackward(const Shape& shape, int64_t axis, bool logarithm)
    : Primitive(logarithm
                    ? prepare_softmax_backward<dnnl::logsoftmax_forward, dnnl::logsoftmax_backward>(
                          shape, axis)
                    : prepare_softmax_backward<dnnl::softmax_forward, dnnl::softmax_backward>(
                          shape, axis)) {}

void SoftmaxBackward::run(const float* y, const float* dy, float* dx, void* scratch) {
  state_->run({y, dy, dx}, scratch);
}

}  // namespace flotilla::onednn
