#include "flotilla/device/cpu/onednn_internal.h"

namespace flotilla::onednn {
namespace {

using dnnl::algorithm;

struct ActRow {
  Act act = Act::kNone;
  std::string_view name = {};
  algorithm forward = algorithm::undef;
  // From the result instead of the source, where oneDNN can.
  algorithm backward_by_result = algorithm::undef;
};

constexpr ActRow kActs[] = {
    {Act::kRelu, "relu", algorithm::eltwise_relu, algorithm::eltwise_relu_use_dst_for_bwd},
    {Act::kTanh, "tanh", algorithm::eltwise_tanh, algorithm::eltwise_tanh_use_dst_for_bwd},
    {Act::kSigmoid, "sigmoid", algorithm::eltwise_logistic,
     algorithm::eltwise_logistic_use_dst_for_bwd},
    {Act::kGeluErf, "gelu", algorithm::eltwise_gelu_erf},
    {Act::kGeluTanh, "gelu by tanh", algorithm::eltwise_gelu_tanh},
    {Act::kElu, "elu", algorithm::eltwise_elu, algorithm::eltwise_elu_use_dst_for_bwd},
    {Act::kSwish, "swish", algorithm::eltwise_swish},
    {Act::kHardSwish, "hard swish", algorithm::eltwise_hardswish},
    {Act::kSoftplus, "softplus", algorithm::eltwise_soft_relu},
    {Act::kMish, "mish", algorithm::eltwise_mish},
    {Act::kExp, "exp", algorithm::eltwise_exp, algorithm::eltwise_exp_use_dst_for_bwd},
    {Act::kLog, "log", algorithm::eltwise_log},
    {Act::kSqrt, "sqrt", algorithm::eltwise_sqrt, algorithm::eltwise_sqrt_use_dst_for_bwd},
    {Act::kAbs, "abs", algorithm::eltwise_abs},
    {Act::kSquare, "square", algorithm::eltwise_square},
    {Act::kClip, "clip", algorithm::eltwise_clip_v2},
    {Act::kLinear, "linear", algorithm::eltwise_linear},
    {Act::kPow, "pow", algorithm::eltwise_pow},
};

const ActRow& row_of(Act act) {
  for (const ActRow& row : kActs) {
    if (row.act == act) return row;
  }
  refuse("an element-wise computation needs an activation, but has none");
}

// A negative slope maps two sources to one result, so the result does not tell the derivative.
bool result_tells(Activation act) {
  const bool slope = act.kind == Act::kRelu || act.kind == Act::kElu;
  return row_of(act.kind).backward_by_result != algorithm::undef && !(slope && act.alpha < 0);
}

std::unique_ptr<Primitive::State> prepare_forward(Activation act, const Shape& shape,
                                                  const Layout& layout) {
  const ActRow& row = row_of(act.kind);
  if (shape.numel() == 0) return nothing_to_do();
  const memory::desc desc = to_desc(shape, layout);
  const auto pd = create(fmt::format("{} of {} {}", row.name, shape, layout), [&] {
    return dnnl::eltwise_forward::primitive_desc(
        {dnnl::prop_kind::forward_training, row.forward, desc, act.alpha, act.beta}, user_scratch(),
        engine());
  });
  auto state = std::make_unique<Primitive::State>(dnnl::eltwise_forward(pd), pd);
  state->add(DNNL_ARG_SRC, desc);
  state->add(DNNL_ARG_DST, desc);
  return state;
}

std::unique_ptr<Primitive::State> prepare_backward(Activation act, const Shape& shape,
                                                   const Layout& layout) {
  const ActRow& row = row_of(act.kind);
  if (shape.numel() == 0) return nothing_to_do();
  const bool by_result = result_tells(act);
  const algorithm how = by_result ? row.backward_by_result : row.forward;
  const memory::desc desc = to_desc(shape, layout);
  const auto pd = create(fmt::format("the gradient of {} of {} {}", row.name, shape, layout), [&] {
    const dnnl::eltwise_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, how, desc, act.alpha, act.beta}, engine());
    return dnnl::eltwise_backward::primitive_desc({how, desc, desc, act.alpha, act.beta},
                                                  user_scratch(), engine(), forward);
  });
  auto state = std::make_unique<Primitive::State>(dnnl::eltwise_backward(pd), pd);
  state->add(by_result ? DNNL_ARG_DST : DNNL_ARG_SRC, desc);
  state->add(DNNL_ARG_DIFF_DST, desc);
  state->add(DNNL_ARG_DIFF_SRC, desc);
  return state;
}

std::unique_ptr<Primitive::State> prepare_binary(BinaryKind kind, const Shape& a, const Shape& b,
                                                 const Layout& layout_a, const Layout& layout_b) {
  constexpr algorithm kAlgorithms[] = {algorithm::binary_add, algorithm::binary_sub,
                                       algorithm::binary_mul, algorithm::binary_div,
                                       algorithm::binary_max, algorithm::binary_min};
  if (a.numel() == 0) return nothing_to_do();
  const memory::desc desc_a = to_desc(a, layout_a), desc_b = to_desc(b, layout_b);
  const auto pd = create(fmt::format("a binary operation of {} and {}", a, b), [&] {
    return dnnl::binary::primitive_desc(
        {kAlgorithms[static_cast<size_t>(kind)], desc_a, desc_b, desc_a}, user_scratch(), engine());
  });
  auto state = std::make_unique<Primitive::State>(dnnl::binary(pd), pd);
  state->add(DNNL_ARG_SRC_0, desc_a);
  state->add(DNNL_ARG_SRC_1, desc_b);
  state->add(DNNL_ARG_DST, desc_a);
  return state;
}

std::unique_ptr<Primitive::State> prepare_sum(int64_t inputs, const Shape& shape,
                                              const Layout& layout) {
  require(inputs > 0, "a sum needs at least one input");
  if (shape.numel() == 0) return nothing_to_do();
  const size_t count = static_cast<size_t>(inputs);
  const memory::desc desc = to_desc(shape, layout);
  const auto pd = create(fmt::format("a sum of {} tensors {} {}", inputs, shape, layout), [&] {
    return dnnl::sum::primitive_desc(desc, std::vector<float>(count, 1.0f),
                                     std::vector<memory::desc>(count, desc), engine(),
                                     user_scratch());
  });
  auto state = std::make_unique<Primitive::State>(dnnl::sum(pd), pd);
  for (int i = 0; i < static_cast<int>(inputs); ++i) state->add(DNNL_ARG_MULTIPLE_SRC + i, desc);
  state->add(DNNL_ARG_DST, desc);
  return state;
}

std::unique_ptr<Primitive::State> prepare_reduction(ReduceKind kind, const Shape& from,
                                                    const Shape& to) {
  constexpr algorithm kAlgorithms[] = {algorithm::reduction_sum, algorithm::reduction_mean,
                                       algorithm::reduction_max, algorithm::reduction_min,
                                       algorithm::reduction_mul};
  require(from.numel() > 0, "a reduction of {} has no elements to reduce", from);
  const memory::desc source = to_desc(from, {}), target = to_desc(to, {});
  const auto pd = create(fmt::format("a reduction from {} to {}", from, to), [&] {
    return dnnl::reduction::primitive_desc(
        {kAlgorithms[static_cast<size_t>(kind)], source, target, 0.0f, 0.0f}, user_scratch(),
        engine());
  });
  auto state = std::make_unique<Primitive::State>(dnnl::reduction(pd), pd);
  state->add(DNNL_ARG_SRC, source);
  state->add(DNNL_ARG_DST, target);
  return state;
}

}  // namespace

void append_act(dnnl::post_ops& post_ops, Activation act) {
  if (act.kind == Act::kNone) return;
  post_ops.append_eltwise(1.0f, row_of(act.kind).forward, act.alpha, act.beta);
}

EltwiseForward::EltwiseForward(Activation act, const Shape& shape, const Layout& layout)
    : Primitive(prepare_forward(act, shape, layout)) {}

void EltwiseForward::run(const float* x, float* y) { state_->run({x, y}, nullptr); }

EltwiseBackward::EltwiseBackward(Activation act, const Shape& shape, const Layout& layout)
    : Primitive(prepare_backward(act, shape, layout)), uses_result_(result_tells(act)) {}

void EltwiseBackward::run(const float* data, const float* dy, float* dx) {
  state_->run({data, dy, dx}, nullptr);
}

Binary::Binary(BinaryKind kind, const Shape& a, const Shape& b, const Layout& layout_a,
               const Layout& layout_b)
    : Primitive(prepare_binary(kind, a, b, layout_a, layout_b)) {}

void Binary::run(const float* a, const float* b, float* c) { state_->run({a, b, c}, nullptr); }

Sum::Sum(int64_t inputs, const Shape& shape, const Layout& layout)
    : Primitive(prepare_sum(inputs, shape, layout)),
      pointers_(static_cast<size_t>(inputs) + 1, nullptr) {}

void Sum::run(std::span<const float* const> inputs, float* y) {
  require(inputs.size() + 1 == pointers_.size(), "a sum of {} tensors got {}", pointers_.size() - 1,
          inputs.size());
  std::copy(inputs.begin(), inputs.end(), pointers_.begin());
  pointers_.back() = y;
  state_->run(pointers_, nullptr);
}

Reduction::Reduction(ReduceKind kind, const Shape& from, const Shape& to)
    : Primitive(prepare_reduction(kind, from, to)) {}

void Reduction::run(const float* x, float* y, void* scratch) { state_->run({x, y}, scratch); }

}  // namespace flotilla::onednn
