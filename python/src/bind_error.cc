#include <cctype>
#include <new>
#include <system_error>
#include <typeinfo>

#include "bind.h"
#include "bind_job.h"
#include "flotilla/base/error.h"
#include "flotilla/job/membership.h"

namespace flotilla::python {
namespace {

// Names of files and what stands in them need not be UTF-8.
void raise(PyObject* type, std::string_view text) {
  const nb::object message = nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  if (message.is_valid()) PyErr_SetObject(type, message.ptr());
}

// Where `word` stands in `text` by itself and outside of quotes.
size_t find_word(std::string_view text, std::string_view word) {
  const auto inside = [&](size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  bool quoted = false;
  for (size_t at = 0; at + word.size() <= text.size(); ++at) {
    if (text[at] == '"') quoted = !quoted;
    if (quoted || text.substr(at, word.size()) != word) continue;
    if ((at == 0 || !inside(at - 1)) && !inside(at + word.size())) return at;
  }
  return std::string_view::npos;
}

// Kernels speak of slots, which users do not know: "Label must have ..." becomes
// "label" (Label) must have ..., by the note `op   softmax(Label=label, Logits=fc_1.tmp_1) -> ...`.
std::string with_names(std::string_view what) {
  constexpr std::string_view kNote = "\n  op    ";
  const size_t end = std::min(what.find('\n'), what.size());
  std::string sentence(what.substr(0, end));
  const size_t note = what.find(kNote);
  const size_t open = note == what.npos ? what.npos : what.find('(', note);
  const size_t line = note == what.npos ? what.npos : what.find('\n', note + 1);
  if (open == what.npos || open > line) return std::string(what);
  std::string_view inputs = what.substr(open + 1, what.find(") ->", open) - open - 1);
  while (!inputs.empty()) {
    const std::string_view part = inputs.substr(0, inputs.find(", "));
    inputs.remove_prefix(std::min(part.size() + 2, inputs.size()));
    const size_t equals = part.find('=');
    if (equals == part.npos || part[equals + 1] == '[') continue;  // one of several variables
    const std::string_view slot = part.substr(0, equals);
    const std::string_view variable = part.substr(equals + 1);
    const size_t at = find_word(sentence, slot);
    if (at == std::string::npos) continue;
    sentence.replace(at, slot.size(), fmt::format("\"{}\" ({})", variable, slot));
  }
  return sentence + std::string(what.substr(end));
}

// A function of the core whose refusals of wrong types are explained. It is not a Python function,
// so that tracebacks end in the user's call.
struct Plain {
  nb::object function;
  nb::object explain;  // (function, what it said, args, kwargs) -> a sentence, or None
};

nb::object call_plainly(const Plain& plain, const nb::args& args, const nb::kwargs& kwargs) {
  PyObject* result = PyObject_Call(plain.function.ptr(), args.ptr(), kwargs.ptr());
  if (result != nullptr) return nb::steal(result);
  nb::python_error error;
  // What has a traceback comes from Python: a function of the user's that the core called.
  if (!error.matches(PyExc_TypeError) || error.traceback().is_valid()) throw error;
  const nb::object sentence =
      plain.explain(plain.function, nb::str(nb::handle(error.value())), args, kwargs);
  if (sentence.is_none()) throw error;
  PyErr_SetObject(PyExc_TypeError, sentence.ptr());
  throw nb::python_error();
}

}  // namespace

// The caller's mistakes are ValueErrors; what is missing, gone or our own bug is a RuntimeError.
void bind_error(nb::module_& m, job::Fleet& fleet) {
  nb::class_<Plain>(m, "Plain", nb::dynamic_attr(), "A function that speaks plainly.")
      .def(nb::init<nb::object, nb::object>(), nb::arg("function"), nb::arg("explain"))
      .def("__call__", &call_plainly)
      .def(
          "__get__",
          [](nb::object self, nb::handle object, nb::handle) {
            if (object.is_none()) return self;
            return nb::steal(PyMethod_New(self.ptr(), object.ptr()));
          },
          nb::arg("object").none(), nb::arg("type").none() = nb::none());
  const auto translate = [](const std::exception_ptr& thrown, void* payload) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      // What was given up because of Ctrl-C is no error of ours.
      if (error.kind() == ErrorKind::kUnavailable && PyErr_CheckSignals() != 0) return;
      // Another worker may have heard of it, and told this one, before this one's own connection.
      const bool told = error.sentence().find(job::kInterrupted) != std::string::npos;
      if (error.kind() == ErrorKind::kUnavailable &&
          (told || static_cast<const job::Fleet*>(payload)->interrupted())) {
        PyErr_SetNone(PyExc_KeyboardInterrupt);
        return;
      }
      PyObject* type =
          error.kind() == ErrorKind::kInvalidArgument ? PyExc_ValueError : PyExc_RuntimeError;
      raise(type, with_names(error.what()));
    } catch (const std::system_error& error) {
      raise(PyExc_RuntimeError, error.what());
    } catch (const std::bad_cast&) {
      raise(PyExc_TypeError,
            "an argument has the wrong type, or is a number that does not fit into 64 bits");
    } catch (const std::bad_alloc&) {
      raise(PyExc_MemoryError, "out of memory");
    }
  };
  nb::register_exception_translator(translate, &fleet);
}

}  // namespace flotilla::python
