#include "bind.h"
#include "flotilla/base/error.h"

namespace flotilla::python {

// The caller's mistakes are ValueErrors; what is missing, gone or our own bug is a RuntimeError.
void bind_error(nb::module_& m) {
  (void)m;
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      PyObject* type =
          error.kind() == ErrorKind::kInvalidArgument ? PyExc_ValueError : PyExc_RuntimeError;
      PyErr_SetString(type, error.what());
    }
  });
}

}  // namespace flotilla::python
