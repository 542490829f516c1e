#include "flotilla/op/take_in.h"

#include "flotilla/op/op_def.h"

namespace flotilla {

std::shared_ptr<Program> take_in(std::shared_ptr<Program> program) {
  for (int32_t b = 0; b < program->num_blocks(); ++b) {
    Block& block = program->block(b);
    for (size_t i = 0; i < block.size(); ++i) {
      const OpDef* def = find_op(block.op(i).type());
      if (def != nullptr && def->take_in != nullptr) def->take_in(block.op(i));
    }
  }
  return program;
}

}  // namespace flotilla
