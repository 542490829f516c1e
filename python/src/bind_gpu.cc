#include "bind_gpu.h"

#include <map>
#include <mutex>

#include "bind.h"
#include "gil.h"

namespace flotilla::python {

std::shared_ptr<Gpu> shared_gpu(int number) {
  static std::mutex turn;
  static std::map<int, std::shared_ptr<Gpu>> opened;
  const std::lock_guard lock(turn);
  std::shared_ptr<Gpu>& gpu = opened[number];
  if (gpu == nullptr) gpu = open_gpu(number);
  return gpu;
}

void bind_gpu(nb::module_& m) {
  m.attr("with_cuda") = built_with_gpus();
  m.def("gpu_count", gpu_count, "How many GPUs programs of this process can run on.");
  nb::class_<Gpu>(m, "Gpu", "A GPU of this process.")
      .def_prop_ro("name", [](const Gpu& gpu) { return gpu.info().name; })
      .def_prop_ro("major", [](const Gpu& gpu) { return gpu.info().major; })
      .def_prop_ro("minor", [](const Gpu& gpu) { return gpu.info().minor; })
      .def_prop_ro("processors", [](const Gpu& gpu) { return gpu.info().processors; })
      .def_prop_ro("memory_bytes", [](const Gpu& gpu) { return gpu.info().memory_bytes; })
      .def("allocated", [](const Gpu& gpu) { return gpu.memory().live; })
      .def("most_allocated", [](const Gpu& gpu) { return gpu.memory().peak; })
      .def(
          "wait",
          [](Gpu& gpu) {
            const Backend::Turn turn = gpu.enter();
            gpu.wait();
          },
          nb::call_guard<GilReleased>(), "Returns when all that was asked of it is done.");
  m.def(
      "gpu", [](int number) { return shared_gpu(number); }, nb::arg("number"));
}

}  // namespace flotilla::python
