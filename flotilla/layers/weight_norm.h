// flotilla/layers/weight_norm.h
//
// Parameters whose length and direction are learnt apart (Salimans and Kingma, Weight
// Normalization, 2016).

#pragma once

#include "flotilla/layers/helper.h"

namespace flotilla::layers {

// g v / |v|, of the parameters <name>_g and <name>_v; it starts as the parameter itself would.
// REQUIRES: attr.weight_norm
Var& weight_normed(LayerHelper& helper, const ParamAttr& attr, const Shape& shape, DType dtype,
                   const Initializer& otherwise, std::string_view kind);

}  // namespace flotilla::layers
