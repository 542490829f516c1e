#include "alone.h"

#include <fmt/format.h>

#include <algorithm>

#include "bind.h"
#include "bind_comm.h"
#include "bind_job.h"
#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/fleet/role.h"
#include "flotilla/runtime/schedule.h"

namespace flotilla::python {
namespace {

bool updates_parameters(const Program& program) {
  return std::ranges::any_of(program.blocks(), [](const auto& block) {
    return std::ranges::any_of(block->ops(), [](const auto& op) {
      return op->inputs().contains("Param") && op->inputs().contains("Grad");
    });
  });
}

// The worker that this process is among several without servers; nothing: it is none, or belongs to
// no job of its own, as a program that a worker has started.
std::optional<fleet::Role> one_of_several() {
  if (env::text("FLT_STORE") && !in_job()) return std::nullopt;
  try {
    fleet::Role role = fleet::data_role_from_environment();
    if (role.workers > 1 && role.servers() == 0) return role;
  } catch (const Error&) {
    // Whoever needs the variables says what is wrong with them.
  }
  return std::nullopt;
}

}  // namespace

void warn_if_alone(const Program& program) {
  static bool warned = false;
  if (warned || !updates_parameters(program)) return;
  const bool met = world() != nullptr && world()->size() > 1;
  if (met && !collective_schedule(program).empty()) return;
  const std::optional<fleet::Role> role = one_of_several();
  if (!role) return;
  warned = true;
  progress()->reach(Progress::Mark::kAlone);
  const std::string why =
      met ? "its program exchanges nothing with the other workers. Let "
            "fleet.distributed_optimizer(...) minimize the loss"
          : "it has not joined the other workers. Call fleet.init(is_collective=True), and let "
            "fleet.distributed_optimizer(...) minimize the loss";
  const std::string text =
      fmt::format("worker {} of {} trains a model of its own: {}", role->index, role->workers, why);
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 2) != 0) throw nb::python_error();
}

}  // namespace flotilla::python
