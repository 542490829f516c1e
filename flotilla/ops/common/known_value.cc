#include "flotilla/ops/common/known_value.h"

#include "flotilla/op/needs_value.h"

namespace flotilla::ops {
namespace {

// A plan is no place for data; shapes have a handful of extents.
constexpr int64_t kMostElements = 64;

bool is_whole(DType dtype) { return dtype == i32 || dtype == i64; }

template <typename Context>
MaybeInts read_ints(const Context& c, const IntSource& source) {
  if (!source.tensor.empty() && count_at(c, source.tensor) > 0) {
    const VarMeta& meta = meta_at(c, source.tensor, 0);
    if (meta.value) return MaybeInts(meta.value->begin(), meta.value->end());
    require(meta.shape.known(), "{} must have a known number of elements, but has shape {}",
            source.tensor, meta.shape);
    require(meta.shape.numel() <= kMostElements, "{} may hold {} numbers at most, but has shape {}",
            source.tensor, kMostElements, meta.shape);
    return MaybeInts(static_cast<size_t>(meta.shape.numel()));
  }
  const size_t listed = source.list.empty() ? 0 : count_at(c, source.list);
  if (listed > 0) {
    // While a program is built, the attribute still tells the numbers among the variables.
    const Ints given = source.attr.empty() ? Ints{} : c.template attr<Ints>(source.attr);
    MaybeInts ints(listed);
    for (size_t i = 0; i < listed; ++i) {
      const VarMeta& meta = meta_at(c, source.list, i);
      if (meta.value && meta.value->size() == 1) {
        ints[i] = meta.value->front();
      } else if (given.size() == listed && given[i] > 0) {
        ints[i] = given[i];
      }
    }
    return ints;
  }
  if (source.attr.empty()) return {};
  const Ints given = c.template attr<Ints>(source.attr);
  return MaybeInts(given.begin(), given.end());
}

std::optional<Ints> all_known(const MaybeInts& maybe) {
  Ints ints;
  for (const std::optional<int64_t>& one : maybe) {
    if (!one) return std::nullopt;
    ints.push_back(*one);
  }
  return ints;
}

void require_known(bool known, const Op& op, const IntSource& source) {
  if (!known) throw NeedsValue(source.tensor.empty() ? source.list : source.tensor, op.type());
}

}  // namespace

void remember(VarMeta& out, std::optional<Ints> value) {
  out.value.reset();
  if (!value || !out.shape.known() || out.shape.numel() > kMostElements) return;
  if (static_cast<int64_t>(value->size()) != out.shape.numel()) return;
  out.value = std::move(value);
}

void remember_same(VarMeta& out, const VarMeta& in) {
  out.value.reset();
  if (is_whole(out.dtype) || out.dtype == in.dtype) remember(out, in.value);
}

void remember_binary(VarMeta& out, const VarMeta& x, const VarMeta& y,
                     const std::function<int64_t(int64_t, int64_t)>& f) {
  out.value.reset();
  if (!x.value || !y.value || !is_whole(x.dtype) || !is_whole(y.dtype)) return;
  const Ints &a = *x.value, &b = *y.value;
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return;
  Ints made(a.size() == 1 ? b.size() : a.size());
  for (size_t i = 0; i < made.size(); ++i) {
    made[i] = f(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
  }
  remember(out, std::move(made));
}

std::vector<Slot> with_slots_of(std::initializer_list<IntSource> sources, std::vector<Slot> first) {
  for (const IntSource& source : sources) {
    for (const std::string_view slot : {source.tensor, source.list}) {
      if (slot.empty()) continue;
      const bool list = slot == source.list;
      first.push_back({.name = std::string(slot),
                       .doc = fmt::format("{}instead of `{}`",
                                          list ? "one tensor for each number, " : "", source.attr),
                       .optional = true,
                       .list = list,
                       .no_grad = true});
    }
  }
  return first;
}

std::vector<Use> shape_and_others(const std::vector<Slot>& inputs) {
  std::vector<Use> uses;
  for (const Slot& slot : inputs) uses.push_back(slot.name);
  uses.at(0).shape_only = true;
  return uses;
}

MaybeInts ints_of(const InferContext& c, const IntSource& source) { return read_ints(c, source); }
MaybeInts ints_of(const PrepareContext& c, const IntSource& source) { return read_ints(c, source); }

Ints extents_of(const InferContext& c, const IntSource& source) {
  Ints extents;
  for (const std::optional<int64_t>& extent : read_ints(c, source)) {
    if (c.running()) require_known(extent.has_value(), c.op(), source);
    extents.push_back(extent.value_or(-1));
  }
  return extents;
}

std::optional<Ints> known_ints(const InferContext& c, const IntSource& source) {
  std::optional<Ints> ints = all_known(read_ints(c, source));
  if (c.running()) require_known(ints.has_value(), c.op(), source);
  return ints;
}

Ints known_ints(const PrepareContext& c, const IntSource& source) {
  std::optional<Ints> ints = all_known(read_ints(c, source));
  require_known(ints.has_value(), c.op(), source);
  return *ints;
}

std::optional<int64_t> known_int(const InferContext& c, const IntSource& source) {
  if (count_at(c, source.tensor) == 0) return c.attr<int64_t>(source.attr);
  const std::optional<Ints> ints = known_ints(c, {source.tensor});
  if (!ints) return std::nullopt;
  require(ints->size() == 1, "{} of {} must hold one number, but holds {}", source.tensor,
          c.op().type(), ints->size());
  return ints->front();
}

int64_t known_int(const PrepareContext& c, const IntSource& source) {
  if (count_at(c, source.tensor) == 0) return c.attr<int64_t>(source.attr);
  return known_ints(c, {source.tensor}).at(0);
}

}  // namespace flotilla::ops
