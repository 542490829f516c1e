// flotilla/kernel/ports.h
//
// The variables of an op, by slot, as a plan knows them when its kernel is prepared: what they are,
// and what a kernel may do with them. It asks nothing of the plan.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/op/infer.h"
#include "flotilla/op/op_def.h"

namespace flotilla {

class OpPorts {
 public:
  struct Port {
    int32_t value = -1;  // -1: nobody needs it (@EMPTY@)
    VarMeta meta = {};
  };
  using Ports = std::map<std::string, std::vector<Port>, std::less<>>;

  // `looked_at`: the inputs whose sizes something has compared already.
  OpPorts(const Op& op, const OpDef& def, Ports inputs, Ports outputs, SlotVars looked_at);

  const Op& op() const { return op_; }
  template <typename T>
  T attr(std::string_view name) const {
    return attr_as<T>(attr_or_default(op_, def_, name), name);
  }

  // Input slots and output slots; an input hides an output of the same name.
  bool has(std::string_view slot, size_t i = 0) const;
  size_t count(std::string_view slot) const;
  const VarMeta& meta(std::string_view slot, size_t i = 0) const;
  const Shape& shape(std::string_view slot, size_t i = 0) const { return meta(slot, i).shape; }
  DType dtype(std::string_view slot, size_t i = 0) const { return there(slot, i).meta.dtype; }
  bool is_sparse(std::string_view slot, size_t i = 0) const {
    return there(slot, i).meta.kind == VarKind::kSelectedRows;
  }

 protected:
  const Port& port(std::string_view slot, size_t i) const;
  const Port& output_port(std::string_view slot, size_t i) const;
  // Refuses @EMPTY@ where a kernel needs a variable.
  const Port& check_there(const Port& port, std::string_view slot) const;
  const Port& there(std::string_view slot, size_t i) const {
    return check_there(port(slot, i), slot);
  }
  // Refuses an output of which the definition says that its elements are never written.
  const Port& written_port(std::string_view slot, size_t i) const;
  // Refuses a size that is not even known when the kernel runs.
  void check_size(const VarMeta& meta, std::string_view slot) const;
  // Refuses sparse rows, whose memory has not the extents of their shape.
  void check_dense(const Port& port, std::string_view slot) const;
  void check_dtype(const Port& port, std::string_view slot, DType dtype) const;
  // Refuses what is no sparse rows of `dtype`.
  const VarMeta& sparse_meta(std::string_view slot, size_t i, DType dtype) const;
  // Refuses an output that cannot take the bytes of the input, which are another number.
  void check_same_bytes(const Port& from, const Port& to, std::string_view in,
                        std::string_view out) const;
  // The values of a list slot.
  std::vector<int32_t> input_values(std::string_view slot) const;
  std::vector<int32_t> output_values(std::string_view slot) const;
  // Whether anything has compared the size of an input.
  bool is_looked_at(const std::string& slot, size_t i) const {
    return looked_at_.contains(slot, i);
  }

 private:
  const Op& op_;
  const OpDef& def_;
  Ports inputs_;
  Ports outputs_;
  mutable SlotVars looked_at_;
};

}  // namespace flotilla
