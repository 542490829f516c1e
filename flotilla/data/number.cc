#include "flotilla/data/number.h"

#include <cmath>
#include <string_view>

namespace flotilla::data {

const char* read_f32_exactly(const char* p, const char* end, float& out) {
  if (end - p > 1 && *p == '+' && p[1] != '-') ++p;
  const auto parsed = std::from_chars(p, end, out);
  if (parsed.ec == std::errc()) return parsed.ptr;
  if (parsed.ec != std::errc::result_out_of_range) return nullptr;
  // Too large or too small? A double tells, and where it cannot either, the sign of the exponent.
  double wide = 0;
  const auto again = std::from_chars(p, end, wide);
  const std::string_view text(p, static_cast<size_t>(again.ptr - p));
  const bool tiny = again.ec == std::errc()
                        ? std::abs(wide) < 1
                        : text.find("e-") != text.npos || text.find("E-") != text.npos;
  if (!tiny) return nullptr;
  out = static_cast<float>(again.ec == std::errc() ? wide : 0.0);
  return again.ptr;
}

}  // namespace flotilla::data
