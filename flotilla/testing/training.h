// flotilla/testing/training.h
//
// What the tests of distributed passes share: small training programs, and their ops as text.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flotilla/ir/verify.h"
#include "flotilla/layers/functions.h"
#include "flotilla/layers/nn.h"
#include "flotilla/layers/optimizer.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"

namespace flotilla::passes {

class TrainingTest : public layers::LayersTest {
 protected:
  // mean(x w + b)
  layers::Variable linear(const layers::ParamAttr& weight = {}) {
    return layers::mean(layers::fc(layers::data("x", {-1, 3}), 1, {.weight = weight}));
  }

  // The ops of a block from the first with one of the roles on, one line each, without op_role.
  static std::string lines_from(const Block& block, int32_t role) {
    std::string lines;
    for (const auto& op : block.ops()) {
      if (lines.empty() && (op->role() & role) == 0) continue;
      Op plain = *op;
      plain.remove_attr("op_role");
      lines += print(plain) + "\n";
    }
    return lines;
  }
  std::string training_ops() const { return lines_from(main_->global_block(), kBackwardRole); }

  static std::vector<std::string> types_of(const Block& block) {
    std::vector<std::string> types;
    for (const auto& op : block.ops()) types.push_back(op->type());
    return types;
  }
};

}  // namespace flotilla::passes
