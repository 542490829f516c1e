#include "flotilla/op/take_in.h"

namespace flotilla {

std::shared_ptr<Program> take_in(std::shared_ptr<Program> program) {
  for (int32_t b = 0; b < program->num_blocks(); ++b) {
    Block& block = program->block(b);
    for (size_t i = 0; i < block.size(); ++i) {
      Op& op = block.op(i);
      // 2.x writes every attribute, and 1.x does not know this one.
      const bool old = !op.has_attr("multi_precision");
      if (op.type() == "adam" && old) op.set_attr("plain_epsilon", true);
      if (op.type() == "lamb" && old) op.set_attr("plain_moments", true);
    }
  }
  return program;
}

}  // namespace flotilla
