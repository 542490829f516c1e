#include "python_caller.h"

#include <chrono>

#include "bind.h"
#include "gil.h"
#include "interruptibly.h"

namespace flotilla::python {
namespace {

using Clock = std::chrono::steady_clock;

class PythonCaller final : public Caller {
 public:
  void use(nb::object function) { function_ = std::move(function); }

  std::vector<Tensor> call(int64_t number, const std::vector<Tensor>& inputs) override {
    const GilHeld acquire;
    nb::list values;
    for (const Tensor& input : inputs) values.append(nb::cast(input));
    std::vector<Tensor> results;
    const nb::object made = unless_the_end([&] { return function_(number, values); });
    for (const nb::handle result : nb::cast<nb::list>(made)) {
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

  void check_interrupt() override {
    // The lock is too dear for every round of a loop. Only the main thread hears Ctrl-C.
    thread_local Clock::time_point next_look;
    const Clock::time_point now = Clock::now();
    if (now < next_look) return;
    next_look = now + kLongestWait;
    listen();
  }

 private:
  nb::object function_;  // calls another by its number
};

// Kept until the process ends: it must not die after the interpreter.
PythonCaller& caller() {
  static auto* made = new PythonCaller();
  return *made;
}

}  // namespace

Caller& python_caller() { return caller(); }

void bind_function(nb::module_& m) {
  m.def(
      "use_python_functions", [](nb::object function) { caller().use(std::move(function)); },
      nb::arg("function"), "Let programs call function(number, values) for what py_func made.");
}

}  // namespace flotilla::python
