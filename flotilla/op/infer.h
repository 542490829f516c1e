// flotilla/op/infer.h
//
// What an operator's `infer` sees: what is known of its inputs, and what it must say of its
// outputs. It runs when an op is appended (extents may be -1) and again when a plan is made (all
// extents are known, save those that depend on data).

#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/ir/program.h"
#include "flotilla/op/op_def.h"

namespace flotilla {

// VarMeta::lod_source of an output whose LoD its own op makes while it runs.
inline constexpr int32_t kOwnLod = -2;

// What is known of a variable before its elements are.
struct VarMeta {
  VarKind kind = VarKind::kTensor;
  DType dtype = f32;
  Shape shape = {};
  int32_t lod_level = 0;
  int64_t rows = -1;        // kSelectedRows: number of rows; shape is that of the dense tensor
  int64_t sequences = -1;   // with a LoD: how many sequences its last level holds, where known
  int32_t lod_source = -1;  // whose LoD it shares; the planner's affair: copy it with the rest
  // The elements of a small integer tensor, where a plan knows them (the shape of a variable, a
  // constant): what lets `full(shape=[shape(x)[0], 1])` have a size when the plan is made.
  std::optional<std::vector<int64_t>> value = {};

  static VarMeta tensor(DType dtype, Shape shape) {
    return {.dtype = dtype, .shape = std::move(shape)};
  }
};

// The description of `meta` for other elements: same kind, dtype and LoD, nothing known.
VarMeta like(const VarMeta& meta);
// The same with other extents.
VarMeta like(const VarMeta& meta, Shape shape);

// Variables of an op, each by its slot and its place in it.
class SlotVars {
 public:
  void insert(std::string_view slot, size_t i) { vars_.emplace(slot, i); }
  void insert(const SlotVars& others) { vars_.insert(others.vars_.begin(), others.vars_.end()); }
  bool contains(const std::string& slot, size_t i) const { return vars_.contains({slot, i}); }
  auto begin() const { return vars_.begin(); }
  auto end() const { return vars_.end(); }

 private:
  std::set<std::pair<std::string, size_t>> vars_;
};

class InferContext {
 public:
  using Metas = std::map<std::string, std::vector<VarMeta>, std::less<>>;

  // `inputs` holds a meta for each variable of each input slot; outputs start as given.
  InferContext(const Op& op, const OpDef& def, Metas inputs, Metas outputs, bool running);

  const Op& op() const { return op_; }
  const OpDef& def() const { return def_; }
  // Whether all extents are known: a plan is being made.
  bool running() const { return running_; }

  bool has_in(std::string_view slot) const { return in_count(slot) > 0; }
  size_t in_count(std::string_view slot) const;
  // Refuses a slot that holds no variable. Whoever asks for an input is taken to compare its size;
  // who wants only its dtype asks for that.
  const VarMeta& in(std::string_view slot, size_t i = 0) const;
  DType dtype(std::string_view slot, size_t i = 0) const;

  bool has_out(std::string_view slot) const { return out_count(slot) > 0; }
  size_t out_count(std::string_view slot) const;
  // To be assigned. An output that the op leaves out may be asked for, too: it holds what was
  // assigned to it, and goes nowhere.
  VarMeta& out(std::string_view slot, size_t i = 0);
  const Metas& outputs() const { return outputs_; }
  // The inputs that in() was asked for.
  const SlotVars& looked_at() const { return looked_at_; }

  template <typename T>
  T attr(std::string_view name) const {
    return attr_as<T>(find_attr(name), name);
  }

 private:
  const Attr& find_attr(std::string_view name) const;
  const VarMeta& find_in(std::string_view slot, size_t i) const;

  const Op& op_;
  const OpDef& def_;
  Metas inputs_;
  Metas outputs_;
  bool running_;
  mutable SlotVars looked_at_;
  std::map<std::pair<std::string, size_t>, VarMeta> dropped_;
};

// The attribute of `op`, or the default of its definition. Refuses a name that neither knows.
const Attr& attr_or_default(const Op& op, const OpDef& def, std::string_view name);

// Numpy's rule with Paddle's `axis`: Y's extents stand at [axis, axis + rank) of X's, or X's at
// those of Y where that has more; -1 aligns the last ones. Refuses shapes that do not broadcast.
Shape broadcast(const Shape& x, const Shape& y, int64_t axis);

// The extents named by `shape` for `numel` elements: 0 copies from `input`, one -1 is worked out.
Shape resolve_reshape(const Shape& input, const std::vector<int64_t>& shape);

}  // namespace flotilla
