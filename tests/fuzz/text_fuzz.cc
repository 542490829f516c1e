// tests/fuzz/text_fuzz.cc
//
// Any text is a program or an Error, and a program prints to a text that reads back the same.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flotilla/ir/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::shared_ptr<flotilla::Program> program;
  try {
    program = flotilla::parse({reinterpret_cast<const char*>(data), size});
  } catch (const flotilla::Error&) {
    return 0;
  }
  const std::string text = print(*program);
  if (print(*flotilla::parse(text)) != text) __builtin_trap();
  return 0;
}
