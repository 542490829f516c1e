#include "flotilla/kernel/host.h"

namespace flotilla {

void PrepareHost::resize_rows(int32_t /*value*/, int64_t /*count*/) {
  refuse("sparse rows of a dynamic number are not supported here");
}

void PrepareHost::set_lod(int32_t /*value*/, LoD /*lod*/) {
  refuse("operators that create sequences are not supported here");
}

const Cell* PrepareHost::random_stream(int64_t) {
  refuse("this host draws nothing for kernels of GPUs");
}

std::vector<Exchanged> PrepareHost::exchange(const std::vector<int32_t>& /*ins*/,
                                             const std::vector<int32_t>& /*outs*/) {
  refuse("there are no other processes to exchange variables with");
}

}  // namespace flotilla
