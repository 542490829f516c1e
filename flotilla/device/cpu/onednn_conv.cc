// Two things stand between our weights and oneDNN's; where they matter, each run reorders the
// weights into or out of scratch memory, which costs little beside the convolution.
// - Grouped weights are [O, C / groups, kernel...] for us and [groups, O / groups, C / groups,
//   kernel...] for oneDNN. Where oneDNN's layout reads the same with the first two axes as one, it
//   is ours too; where it does not, ours is plain.
// - The source gradient wants the blocks of forward's weights transposed ("ABcd16a16b", not
//   "ABcd16b16a") and otherwise falls to reference code, a thousand times slower.

#include <algorithm>
#include <type_traits>

#include "flotilla/device/cpu/onednn_internal.h"

namespace flotilla::onednn {
namespace {

constexpr int64_t kAlign = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

void* at(void* scratch, int64_t offset) { return static_cast<char*>(scratch) + offset; }

std::string describe(const ConvProblem& p) {
  return fmt::format(
      "a convolution of {} with weights {} to {} (strides {}, pads {} and {}, "
      "dilations {}, groups {})",
      p.src, p.weights, p.dst, fmt::join(p.strides, "x"), fmt::join(p.pads_begin, "x"),
      fmt::join(p.pads_end, "x"), fmt::join(p.dilations, "x"), p.groups);
}

void check(const ConvProblem& p) {
  const int64_t rank = p.src.rank();
  const size_t spatial = static_cast<size_t>(rank - 2);
  const bool ranks_fit = rank >= 3 && rank <= 5 && p.weights.rank() == rank &&
                         p.dst.rank() == rank && p.strides.size() == spatial &&
                         p.pads_begin.size() == spatial && p.pads_end.size() == spatial &&
                         p.dilations.size() == spatial;
  require(ranks_fit, "the ranks do not fit in {}", describe(p));
  require(p.src.numel() > 0 && p.weights.numel() > 0, "there are no elements in {}", describe(p));
  require(p.groups > 0 && p.src[1] == p.weights[1] * p.groups && p.weights[0] % p.groups == 0 &&
              p.dst[1] == p.weights[0] && p.dst[0] == p.src[0],
          "the channels do not fit in {}", describe(p));
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t axis = static_cast<int64_t>(i) + 2;
    const int64_t window = (p.weights[axis] - 1) * p.dilations[i] + 1;
    const int64_t extent = (p.src[axis] + p.pads_begin[i] + p.pads_end[i] - window) / p.strides[i];
    require(extent + 1 == p.dst[axis], "axis {} of the result must be {} in {}", axis, extent + 1,
            describe(p));
  }
}

// The weights as oneDNN sees them.
Shape grouped_shape(const ConvProblem& p) {
  if (p.groups == 1) return p.weights;
  std::vector<int64_t> dims = p.weights.dims();
  dims[0] /= p.groups;
  dims.insert(dims.begin(), p.groups);
  return Shape(std::move(dims));
}

// [groups, O / groups, ...] to [O, ...]; nullopt where the two lie differently.
std::optional<Layout> merge_groups(const Layout& layout, int64_t outputs_per_group) {
  if (layout.plain()) return layout;
  const std::vector<int32_t>& order = layout.order();
  const auto group = std::find(order.begin(), order.end(), 0);
  const bool adjacent = group + 1 != order.end() && *(group + 1) == 1;
  const bool single = outputs_per_group == 1;
  if (!adjacent && !single) return {};
  std::vector<Layout::Inner> inner;
  for (Layout::Inner block : layout.inner()) {
    if (block.axis == 0 && !single) return {};
    if (block.axis == 1 && outputs_per_group % block.size != 0) return {};
    block.axis = std::max(0, block.axis - 1);
    inner.push_back(block);
  }
  std::vector<int32_t> merged;
  for (const int32_t axis : order) {
    if (axis != 1) merged.push_back(std::max(0, axis - 1));
  }
  return Layout(std::move(merged), std::move(inner));
}

// [O, ...] to [groups, O / groups, ...].
Layout split_groups(const Layout& layout, const ConvProblem& p) {
  if (layout.plain() || p.groups == 1) return layout;
  const int64_t outputs_per_group = p.weights[0] / p.groups;
  const bool single = outputs_per_group == 1;
  std::vector<Layout::Inner> inner;
  for (Layout::Inner block : layout.inner()) {
    require(block.axis != 0 || single || outputs_per_group % block.size == 0,
            "weights in layout {} cannot be cut into groups in {}", layout, describe(p));
    if (block.axis != 0 || !single) ++block.axis;
    inner.push_back(block);
  }
  std::vector<int32_t> order;
  for (const int32_t axis : layout.order()) {
    if (axis == 0) order.push_back(0);
    order.push_back(axis + 1);
  }
  return Layout(std::move(order), std::move(inner));
}

struct Descs {
  dnnl::algorithm algorithm = dnnl::algorithm::convolution_direct;
  memory::desc src, weights, bias, dst;
  memory::dims strides, dilations, pads_begin, pads_end;
};

Descs descs_of(const ConvProblem& p, const ConvLayouts& given) {
  Descs d = {
      .src = given_or_any(p.src, given.src),
      .weights = any_desc(grouped_shape(p)),
      .bias = {},
      .dst = given_or_any(p.dst, given.dst),
      .strides = p.strides,
      .dilations = p.dilations,
      .pads_begin = p.pads_begin,
      .pads_end = p.pads_end,
  };
  if (p.has_bias) d.bias = to_desc({p.weights[0]}, {});
  for (int64_t& dilation : d.dilations) --dilation;  // oneDNN counts the gap
  return d;
}

dnnl::convolution_forward::primitive_desc forward_desc(const ConvProblem& p, const Descs& d,
                                                       const dnnl::primitive_attr& attr) {
  using Desc = dnnl::convolution_forward::desc;
  const dnnl::prop_kind kind = p.act.kind == Act::kNone ? dnnl::prop_kind::forward_training
                                                        : dnnl::prop_kind::forward_inference;
  const Desc desc = p.has_bias ? Desc(kind, d.algorithm, d.src, d.weights, d.bias, d.dst, d.strides,
                                      d.dilations, d.pads_begin, d.pads_end)
                               : Desc(kind, d.algorithm, d.src, d.weights, d.dst, d.strides,
                                      d.dilations, d.pads_begin, d.pads_end);
  return dnnl::convolution_forward::primitive_desc(desc, attr, engine());
}

// Winograd's F(4x4, 3x3) needs 36 multiplications for a tile of 16 results instead of 144. By the
// clock it wins, by up to three times, from 32 channels and some 48 tiles on, unless the tiles
// stand out far over the edge; its gain does not depend on the direction.
bool winograd_pays(const ConvProblem& p) {
  const auto all = [](const std::vector<int64_t>& values, int64_t least, int64_t most) {
    return std::all_of(values.begin(), values.end(),
                       [=](int64_t value) { return least <= value && value <= most; });
  };
  const bool fits = p.winograd && p.src.rank() == 4 && p.groups == 1 && p.weights[2] == 3 &&
                    p.weights[3] == 3 && all(p.strides, 1, 1) && all(p.dilations, 1, 1) &&
                    all(p.pads_begin, 0, 1) && all(p.pads_end, 0, 1);
  if (!fits) return false;
  const int64_t tiles = p.dst[0] * ((p.dst[2] + 3) / 4) * ((p.dst[3] + 3) / 4);
  return p.src[1] >= 32 && p.dst[1] >= 32 && tiles >= 48 &&
         p.dst[0] * p.dst[2] * p.dst[3] >= 8 * tiles;
}

// Code that no weights layout deserves: plain loops, and matrix products group by group.
bool is_slow(const std::string& implementation, const ConvProblem& p) {
  return implementation.starts_with("ref") ||
         (p.groups > 1 && implementation.find("gemm") != std::string::npos);
}

template <typename PrimitiveDesc>
bool has_named_weights(const PrimitiveDesc& pd) {
  if constexpr (std::is_same_v<PrimitiveDesc, dnnl::convolution_backward_weights::primitive_desc>) {
    return to_layout(pd.diff_weights_desc()).has_value();
  } else {
    return to_layout(pd.weights_desc()).has_value();
  }
}

// The descriptor that `make` gives for d: Winograd's where it pays, then the direct one; the given
// weights layout where oneDNN has good code for it, then the one that it chooses.
template <typename Make>
auto choose(const ConvProblem& p, const ConvLayouts& given, Descs& d, std::string_view what,
            Make&& make) {
  parallel_detail::use_in_libraries(threads());
  std::vector<memory::desc> weights = {d.weights};
  if (given.weights) {
    const Layout layout = split_groups(*given.weights, p);
    weights.insert(weights.begin(), to_desc(grouped_shape(p), layout));
  }
  for (const bool winograd : {true, false}) {
    if (winograd && !winograd_pays(p)) continue;
    d.algorithm =
        winograd ? dnnl::algorithm::convolution_winograd : dnnl::algorithm::convolution_direct;
    for (const memory::desc& candidate : weights) {
      d.weights = candidate;
      try {
        auto pd = make();
        if (!is_slow(pd.impl_info_str(), p) && has_named_weights(pd)) return pd;
      } catch (const dnnl::error&) {
        // The next one.
      }
    }
  }
  d.weights = weights.front();
  return create(fmt::format("{}{}", what, describe(p)), make);
}

// A given layout keeps the name it was given, whatever else the same memory could be called.
Layout layout_of(const memory::desc& desc, const std::optional<Layout>& given,
                 const ConvProblem& p) {
  if (given) return *given;
  const std::optional<Layout> layout = to_layout(desc);
  require(layout.has_value(), "oneDNN chose a layout without a name for {}", describe(p));
  return *layout;
}

}  // namespace

Convolution::Convolution() : Primitive(nullptr) {}

void Convolution::adopt(std::unique_ptr<State> state, Layout src, Layout dst) {
  state_ = std::move(state);
  // Winograd's transforms write past the cache, which x86 does at whole lines only.
  if (state_->implementation.find("wino") != std::string::npos) state_->alignment = kAlign;
  src_ = std::move(src);
  dst_ = std::move(dst);
}

void Convolution::adopt_weights(const ConvProblem& p, const ConvLayouts& given,
                                const Layout& inside, bool weights_are_output) {
  const Shape shape = grouped_shape(p);
  Layout outside = inside;
  if (given.weights) {
    weights_ = *given.weights;
    outside = split_groups(weights_, p);
  } else if (p.groups == 1) {
    weights_ = inside;
  } else if (const auto merged = merge_groups(inside, p.weights[0] / p.groups)) {
    weights_ = *merged;
  } else {
    weights_ = outside = Layout();
  }
  if (to_desc(shape, outside) == to_desc(shape, inside)) return;
  if (weights_are_output) {
    reorder_.emplace(shape, f32, inside, outside);
  } else {
    reorder_.emplace(shape, f32, outside, inside);
  }
  reorder_scratch_ = aligned(state_->scratch_bytes);
  reordered_ = reorder_scratch_ + aligned(reorder_->scratch_bytes());
  state_->scratch_bytes = reordered_ + inside.physical_numel(shape) * size_of(f32);
}

const float* Convolution::weights_inside(const float* weights, void* scratch) {
  if (!reorder_) return weights;
  reorder_->run(weights, at(scratch, reordered_), at(scratch, reorder_scratch_));
  return static_cast<const float*>(at(scratch, reordered_));
}

ConvForward::ConvForward(const ConvProblem& p, const ConvLayouts& given) : has_bias_(p.has_bias) {
  check(p);
  Descs d = descs_of(p, given);
  dnnl::primitive_attr attr = user_scratch();
  dnnl::post_ops post_ops;
  append_act(post_ops, p.act);
  attr.set_post_ops(post_ops);
  const auto pd = choose(p, given, d, "", [&] { return forward_desc(p, d, attr); });
  auto state = std::make_unique<State>(dnnl::convolution_forward(pd), pd);
  state->add(DNNL_ARG_SRC, pd.src_desc());
  state->add(DNNL_ARG_WEIGHTS, pd.weights_desc());
  if (p.has_bias) state->add(DNNL_ARG_BIAS, d.bias);
  state->add(DNNL_ARG_DST, pd.dst_desc());
  adopt(std::move(state), layout_of(pd.src_desc(), given.src, p),
        layout_of(pd.dst_desc(), given.dst, p));
  adopt_weights(p, given, layout_of(pd.weights_desc(), {}, p), false);
}

void ConvForward::run(const float* src, const float* weights, const float* bias, float* dst,
                      void* scratch) {
  weights = weights_inside(weights, scratch);
  if (has_bias_) {
    state_->run({src, weights, bias, dst}, scratch);
  } else {
    state_->run({src, weights, dst}, scratch);
  }
}

ConvBackwardData::ConvBackwardData(const ConvProblem& p, const ConvLayouts& given) {
  check(p);
  Descs d = descs_of(p, given);
  const auto pd = choose(p, given, d, "the source gradient of ", [&] {
    return dnnl::convolution_backward_data::primitive_desc(
        {d.algorithm, d.src, d.weights, d.dst, d.strides, d.dilations, d.pads_begin, d.pads_end},
        user_scratch(), engine(), forward_desc(p, d, {}));
  });
  auto state = std::make_unique<State>(dnnl::convolution_backward_data(pd), pd);
  state->add(DNNL_ARG_DIFF_DST, pd.diff_dst_desc());
  state->add(DNNL_ARG_WEIGHTS, pd.weights_desc());
  state->add(DNNL_ARG_DIFF_SRC, pd.diff_src_desc());
  adopt(std::move(state), layout_of(pd.diff_src_desc(), given.src, p),
        layout_of(pd.diff_dst_desc(), given.dst, p));
  adopt_weights(p, given, layout_of(pd.weights_desc(), {}, p), false);
}

void ConvBackwardData::run(const float* diff_dst, const float* weights, float* diff_src,
                           void* scratch) {
  state_->run({diff_dst, weights_inside(weights, scratch), diff_src}, scratch);
}

ConvBackwardWeights::ConvBackwardWeights(const ConvProblem& p, const ConvLayouts& given)
    : has_bias_(p.has_bias) {
  check(p);
  Descs d = descs_of(p, given);
  const auto pd = choose(p, given, d, "the weight gradient of ", [&] {
    using Desc = dnnl::convolution_backward_weights::desc;
    const Desc desc = p.has_bias ? Desc(d.algorithm, d.src, d.weights, d.bias, d.dst, d.strides,
                                        d.dilations, d.pads_begin, d.pads_end)
                                 : Desc(d.algorithm, d.src, d.weights, d.dst, d.strides,
                                        d.dilations, d.pads_begin, d.pads_end);
    return dnnl::convolution_backward_weights::primitive_desc(desc, user_scratch(), engine(),
                                                              forward_desc(p, d, {}));
  });
  auto state = std::make_unique<State>(dnnl::convolution_backward_weights(pd), pd);
  state->add(DNNL_ARG_SRC, pd.src_desc());
  state->add(DNNL_ARG_DIFF_DST, pd.diff_dst_desc());
  state->add(DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc());
  if (p.has_bias) state->add(DNNL_ARG_DIFF_BIAS, d.bias);
  adopt(std::move(state), layout_of(pd.src_desc(), given.src, p),
        layout_of(pd.diff_dst_desc(), given.dst, p));
  adopt_weights(p, given, layout_of(pd.diff_weights_desc(), {}, p), true);
}

void ConvBackwardWeights::run(const float* src, const float* diff_dst, float* diff_weights,
                              float* diff_bias, void* scratch) {
  float* inside = reorder_ ? static_cast<float*>(at(scratch, reordered_)) : diff_weights;
  if (has_bias_) {
    state_->run({src, diff_dst, inside, diff_bias}, scratch);
  } else {
    state_->run({src, diff_dst, inside}, scratch);
  }
  if (reorder_) reorder_->run(inside, diff_weights, at(scratch, reorder_scratch_));
}

}  // namespace flotilla::onednn
