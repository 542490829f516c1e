#include "flotilla/kernel/host_function.h"

#include <atomic>

namespace flotilla {
namespace {

std::atomic<HostCaller> caller = nullptr;

}  // namespace

void set_host_caller(HostCaller found) { caller = found; }

std::vector<Tensor> call_host(int64_t number, const std::vector<Tensor>& inputs) {
  const HostCaller call = caller;
  require(call != nullptr, "the program calls function {}, but only Python programs have functions",
          number);
  return call(number, inputs);
}

}  // namespace flotilla
