// flotilla/data/split.h
//
// What a set of samples is for.

#pragma once

namespace flotilla::data {

enum class Split { kTrain, kTest };

}  // namespace flotilla::data
