// flotilla/ir/op.h
//
// One operator of a block: a type, variables by slot, attributes by name. It holds names only; what
// they mean is said by op/op_def.h.

#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/ir/attr.h"

namespace flotilla {

class Block;

using Slots = std::map<std::string, std::vector<std::string>, std::less<>>;

// The bits of the attribute op_role.
enum OpRole : int32_t {
  kForwardRole = 0,
  kBackwardRole = 1,
  kOptimizeRole = 2,
  kRpcRole = 4,
  kDistRole = 8,
  kLrSchedRole = 16,
  kLossRole = 256,
};

// What stands in the place of a gradient that nobody needs.
inline constexpr std::string_view kEmptyVar = "@EMPTY@";
inline constexpr std::string_view kGradSuffix = "@GRAD";
inline std::string grad_name(std::string_view name) {
  return std::string(name) + std::string(kGradSuffix);
}

class Op {
 public:
  Op() = default;
  Op(std::string type, Slots inputs, Slots outputs, Attrs attrs = {});

  const std::string& type() const { return type_; }
  const Slots& inputs() const { return inputs_; }
  const Slots& outputs() const { return outputs_; }
  const Attrs& attrs() const { return attrs_; }

  // The variables of a slot; empty where the slot is absent.
  std::span<const std::string> input_list(std::string_view slot) const;
  std::span<const std::string> output_list(std::string_view slot) const;
  // The only variable of a slot. REQUIRES: there is exactly one.
  const std::string& input(std::string_view slot) const;
  const std::string& output(std::string_view slot) const;
  bool has_input(std::string_view slot) const { return !input_list(slot).empty(); }
  bool has_output(std::string_view slot) const { return !output_list(slot).empty(); }

  bool reads(std::string_view var) const;
  bool writes(std::string_view var) const;

  const Attr* find_attr(std::string_view name) const;
  // REQUIRES: the attribute is there and converts to T.
  template <typename T>
  T attr(std::string_view name) const {
    const Attr* found = find_attr(name);
    require(found != nullptr, "{} has no attribute \"{}\"", type_, name);
    return attr_as<T>(*found, name);
  }
  template <typename T>
  T attr_or(std::string_view name, T otherwise) const {
    const Attr* found = find_attr(name);
    return found == nullptr ? otherwise : attr_as<T>(*found, name);
  }
  int32_t role() const { return attr_or<int32_t>("op_role", kForwardRole); }

  void set_attr(std::string_view name, Attr value);
  void remove_attr(std::string_view name);
  void set_type(std::string type);
  void set_input(std::string_view slot, std::vector<std::string> vars);
  void set_output(std::string_view slot, std::vector<std::string> vars);
  // In every slot.
  void rename(std::string_view from, std::string_view to);

  // The block that holds the op; null for one that stands alone.
  Block* block() const { return block_; }

 private:
  friend class Block;
  void touch();

  std::string type_;
  Slots inputs_;
  Slots outputs_;
  Attrs attrs_;
  Block* block_ = nullptr;
};

// The variables of all slots, which are in alphabetical order.
std::vector<std::string> names_in(const Slots& slots);
// The user's file and line, "" where unknown: the last entry of op_callstack.
std::string user_line(const Op& op);

}  // namespace flotilla
