#include "flotilla/op/import_from_paddle.h"

#include "flotilla/op/op_def.h"

namespace flotilla {

std::shared_ptr<Program> import_from_paddle(std::shared_ptr<Program> program) {
  for (int32_t b = 0; b < program->num_blocks(); ++b) {
    Block& block = program->block(b);
    for (size_t i = 0; i < block.size(); ++i) {
      const OpDef* def = find_op(block.op(i).type());
      if (def != nullptr && def->from_paddle != nullptr) def->from_paddle(block.op(i));
    }
  }
  return program;
}

}  // namespace flotilla
