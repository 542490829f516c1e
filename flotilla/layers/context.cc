#include "flotilla/layers/context.h"

#include <utility>

namespace flotilla::layers {

Context& context() {
  static Context of_the_process;
  return of_the_process;
}

ProgramGuard::ProgramGuard(std::shared_ptr<Program> main, std::shared_ptr<Program> startup)
    : main_(std::exchange(context().main, std::move(main))), startup_(context().startup) {
  if (startup != nullptr) context().startup = std::move(startup);
}

ProgramGuard::~ProgramGuard() {
  context().main = std::move(main_);
  context().startup = std::move(startup_);
}

NameGuard::NameGuard() : saved_(std::exchange(context().names, UniqueNames{})) {}
NameGuard::~NameGuard() { context().names = std::move(saved_); }

}  // namespace flotilla::layers
