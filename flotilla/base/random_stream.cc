#include "flotilla/base/random_stream.h"

namespace flotilla {

std::array<uint32_t, 4> RandomStream::at(uint64_t index) const {
  const Words found = words(index);
  return {found.word[0], found.word[1], found.word[2], found.word[3]};
}

}  // namespace flotilla
