// Functions of Python that programs call.

#include "bind.h"
#include "flotilla/kernel/host_function.h"

namespace flotilla::python {
namespace {

// paddle's function that calls another by its number; kept until the interpreter ends.
nb::object& caller() {
  static auto* found = new nb::object();
  return *found;
}

std::vector<Tensor> call(int64_t number, const std::vector<Tensor>& inputs) {
  const nb::gil_scoped_acquire acquire;
  nb::list values;
  for (const Tensor& input : inputs) values.append(nb::cast(input));
  std::vector<Tensor> results;
  for (const nb::handle result : nb::cast<nb::list>(caller()(number, values))) {
    if (result.is_none()) {
      results.emplace_back();
    } else if (nb::isinstance<Tensor>(result)) {
      results.push_back(nb::cast<Tensor>(result));
    } else {
      results.push_back(from_numpy(result).clone());  // the array may die without the lock
    }
  }
  return results;
}

}  // namespace

void bind_function(nb::module_& m) {
  m.def(
      "use_python_functions",
      [](nb::object function) {
        caller() = std::move(function);
        set_host_caller(call);
      },
      nb::arg("function"), "Let programs call function(number, values) for what py_func made.");
}

}  // namespace flotilla::python
