#include "flotilla/op/infer.h"

#include "flotilla/base/element_count.h"

namespace flotilla {
namespace {

size_t count_of(const InferContext::Metas& metas, std::string_view slot) {
  const auto found = metas.find(slot);
  return found == metas.end() ? 0 : found->second.size();
}

}  // namespace

VarMeta like(const VarMeta& meta) {
  VarMeta made = meta;
  made.value.reset();
  return made;
}

VarMeta like(const VarMeta& meta, Shape shape) {
  VarMeta made = like(meta);
  made.shape = std::move(shape);
  return made;
}

InferContext::InferContext(const Op& op, const OpDef& def, Metas inputs, Metas outputs,
                           bool running)
    : op_(op),
      def_(def),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      running_(running) {}

size_t InferContext::in_count(std::string_view slot) const { return count_of(inputs_, slot); }
size_t InferContext::out_count(std::string_view slot) const { return count_of(outputs_, slot); }

const VarMeta& InferContext::find_in(std::string_view slot, size_t i) const {
  const auto found = inputs_.find(slot);
  require(found != inputs_.end() && i < found->second.size(),
          "{} needs a variable in slot {}, but holds {}", op_.type(), slot, in_count(slot));
  return found->second[i];
}

const VarMeta& InferContext::in(std::string_view slot, size_t i) const {
  const VarMeta& found = find_in(slot, i);
  looked_at_.insert(slot, i);
  return found;
}

DType InferContext::dtype(std::string_view slot, size_t i) const { return find_in(slot, i).dtype; }

VarMeta& InferContext::out(std::string_view slot, size_t i) {
  const auto found = outputs_.find(slot);
  if (found != outputs_.end() && i < found->second.size()) return found->second[i];
  return dropped_[{std::string(slot), i}];
}

const Attr& InferContext::find_attr(std::string_view name) const {
  return attr_or_default(op_, def_, name);
}

const Attr& attr_or_default(const Op& op, const OpDef& def, std::string_view name) {
  if (const Attr* found = op.find_attr(name)) return *found;
  const AttrSpec* spec = def.find_attr(name);
  invariant(spec != nullptr, "the definition of {} has no attribute \"{}\"", def.type, name);
  return spec->initial;
}

Shape broadcast(const Shape& x, const Shape& y, int64_t axis) {
  // Paddle lets the shorter one be either side when axis is -1.
  if (axis == -1 && y.rank() > x.rank()) return broadcast(y, x, -1);
  // Trailing ones of Y beyond X are dropped, as in Paddle: [2, 3] + [2, 1, 1] at axis 0.
  Shape trimmed = y;
  if (axis >= 0 && axis + y.rank() > x.rank()) {
    std::vector<int64_t> dims = y.dims();
    while (!dims.empty() && dims.back() == 1) dims.pop_back();
    trimmed = Shape(dims);
  }
  // Or Y is the larger one, and X's extents stand at `axis` of it: [1] + [2, 3] at axis 0.
  if (y.rank() > x.rank() && axis + trimmed.rank() > x.rank()) return broadcast(y, x, axis);
  const int64_t begin = axis == -1 ? x.rank() - trimmed.rank() : axis;
  require(begin >= 0 && begin + trimmed.rank() <= x.rank(),
          "Y of shape {} does not fit into X of shape {} at axis {}", y, x, axis);
  Shape out = x;
  for (int64_t a = 0; a < trimmed.rank(); ++a) {
    const int64_t have = x[begin + a], other = trimmed[a];
    require(have == other || have == 1 || other == 1 || have == -1 || other == -1,
            "X of shape {} and Y of shape {} do not broadcast at axis {}: {} does not match {}", x,
            y, axis, have, other);
    out[begin + a] = have == 1 ? other : have == -1 ? (other == 1 ? -1 : other) : have;
  }
  return out;
}

Shape resolve_reshape(const Shape& input, const std::vector<int64_t>& shape) {
  Shape out(shape);
  int64_t unknown = -1, product = 1;
  for (int64_t a = 0; a < out.rank(); ++a) {
    if (out[a] == 0) {
      require(a < input.rank(), "shape {} copies extent {} of X, but X is {}", Shape(shape), a,
              input);
      out[a] = input[a];
    } else if (out[a] == -1) {
      require(unknown == -1, "shape {} may hold -1 once", Shape(shape));
      unknown = a;
      continue;
    }
    require(out[a] >= -1, "shape {} holds {}; only -1 stands for an unknown extent", Shape(shape),
            out[a]);
    product = product < 0 || out[a] < 0 ? -1 : checked_product(product, out[a]);
  }
  if (!input.known() || product < 0) return out;
  const int64_t numel = input.numel();
  if (unknown >= 0) {
    require(product > 0 && numel % product == 0, "X of shape {} cannot take shape {}", input,
            Shape(shape));
    out[unknown] = numel / product;
  } else {
    require(product == numel, "X of shape {} holds {} elements, but shape {} asks for {}", input,
            numel, Shape(shape), product);
  }
  return out;
}

}  // namespace flotilla
