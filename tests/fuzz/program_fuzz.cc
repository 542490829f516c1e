// tests/fuzz/program_fuzz.cc
//
// Any bytes are a program or an Error. What was read as a program can be walked, printed, written
// and copied, and what was written reads back the same.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flotilla/ir/proto.h"
#include "flotilla/ir/text.h"
#include "flotilla/ir/verify.h"

namespace flotilla {
namespace {

void check(bool ok) {
  if (!ok) __builtin_trap();
}

void expect_sound(const Program& program) {
  const std::string bytes = serialize(program);
  check(serialize(*deserialize(bytes)) == bytes);
  const std::string text = print(program);
  const auto parsed = parse(text);
  check(print(*parsed) == text);
  // Which of the many NaNs it was is lost in the text.
  if (text.find("nan") == std::string::npos) check(serialize(*parsed) == bytes);
}

// What may be refused for good reasons, but only so.
template <typename F>
void may_refuse(F f) {
  try {
    f();
  } catch (const Error&) {
  }
}

}  // namespace
}  // namespace flotilla

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace flotilla;
  std::shared_ptr<Program> program;
  may_refuse([&] { program = deserialize({reinterpret_cast<const char*>(data), size}); });
  if (program == nullptr) return 0;
  expect_sound(*program);
  expect_sound(*program->clone());
  may_refuse([&] { verify(*program, Stage::kParallel); });
  std::shared_ptr<Program> copy;
  may_refuse([&] { copy = program->clone(true); });
  if (copy != nullptr) expect_sound(*copy);
  if (!program->global_block().vars().empty()) {
    expect_sound(*program->prune({}, {program->global_block().vars().back()->name}));
  }
  return 0;
}
