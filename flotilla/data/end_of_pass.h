// flotilla/data/end_of_pass.h
//
// What a run throws whose program reads from a loader that has no more batches. Not an Error:
// programs wait for it, as paddle.fluid.core.EOFException.

#pragma once

#include <exception>

namespace flotilla::data {

class EndOfPass : public std::exception {
 public:
  const char* what() const noexcept override {
    return "There is no next data: the pass is over. reset() the loader, and start() another pass";
  }
};

}  // namespace flotilla::data
