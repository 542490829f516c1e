#include "flotilla/op/spell_out.h"

#include "flotilla/op/op_def.h"

namespace flotilla {

std::shared_ptr<Program> spell_out_attrs(const Program& program) {
  std::shared_ptr<Program> copy = program.clone();
  for (int32_t b = 0; b < copy->num_blocks(); ++b) {
    for (const auto& op : copy->block(b).ops()) {
      const OpDef* def = find_op(op->type());
      const bool is_gradient = op->type().ends_with("_grad") || op->type().ends_with("_grad2");
      if (def == nullptr || !is_gradient) continue;
      for (const AttrSpec& spec : def->attrs) {
        const bool has_default = !std::holds_alternative<std::monostate>(spec.initial);
        if (has_default && !op->has_attr(spec.name)) op->set_attr(spec.name, spec.initial);
      }
      // 1.8 asks for this hint too.
      if (!op->has_attr("use_mkldnn")) op->set_attr("use_mkldnn", false);
    }
  }
  return copy;
}

}  // namespace flotilla
