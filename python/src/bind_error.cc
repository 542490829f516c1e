#include <new>
#include <system_error>
#include <typeinfo>

#include "bind.h"
#include "flotilla/base/error.h"

namespace flotilla::python {
namespace {

// Names of files and what stands in them need not be UTF-8.
void raise(PyObject* type, std::string_view text) {
  const nb::object message = nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  if (message.is_valid()) PyErr_SetObject(type, message.ptr());
}

}  // namespace

// The caller's mistakes are ValueErrors; what is missing, gone or our own bug is a RuntimeError.
void bind_error(nb::module_& m) {
  (void)m;
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      PyObject* type =
          error.kind() == ErrorKind::kInvalidArgument ? PyExc_ValueError : PyExc_RuntimeError;
      raise(type, error.what());
    } catch (const std::system_error& error) {
      raise(PyExc_RuntimeError, error.what());
    } catch (const std::bad_cast&) {
      raise(PyExc_TypeError,
            "an argument is of a wrong type, or a number that does not fit into 64 bits");
    } catch (const std::bad_alloc&) {
      raise(PyExc_MemoryError, "there is no memory for what was asked for");
    }
  });
}

}  // namespace flotilla::python
