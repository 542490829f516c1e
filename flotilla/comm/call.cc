#include "flotilla/comm/call.h"

#include <fmt/format.h>

#include <array>

#include "flotilla/comm/group.h"

namespace flotilla::comm {
namespace {

constexpr std::array<std::string_view, 12> kVerbs = {
    "nothing", "all_reduce", "reduce",     "reduce_scatter", "broadcast", "all_gather",
    "gather",  "scatter",    "all_to_all", "send",           "recv",      "barrier"};
static_assert(kVerbs[static_cast<size_t>(Verb::kBarrier)] == "barrier");

constexpr std::array<std::string_view, 5> kReductions = {"sum", "max", "min", "prod", "avg"};
static_assert(kReductions[static_cast<size_t>(Reduce::kAverage)] == "avg");

}  // namespace

std::string_view name_of(Verb verb) {
  const auto i = static_cast<size_t>(verb);
  return i < kVerbs.size() ? kVerbs[i] : "something unknown";
}

Element::Element(DType dtype) : bytes(static_cast<uint8_t>(size_of(dtype))) {
  switch (dtype) {
    case DType::kBool:
      kind = 'b';
      break;
    case DType::kUint8:
      kind = 'u';
      break;
    case DType::kBF16:
      kind = 'r';
      break;
    default:
      kind = is_floating(dtype) ? 'f' : 'i';
  }
}

std::string Element::text() const {
  if (kind == 'b') return "bool";
  return fmt::format("{}{}", kind == 'r' ? "bf" : std::string(1, kind), 8 * bytes);
}

bool Call::fits(const Call& theirs) const {
  Call expected = *this;
  if (verb == Verb::kSend || verb == Verb::kRecv) {
    expected.verb = verb == Verb::kSend ? Verb::kRecv : Verb::kSend;
    expected.root = theirs.root;  // this one: it would not be seen here otherwise
  }
  return theirs == expected;
}

std::string Call::text() const {
  if (verb == Verb::kBarrier) return "barrier";
  const std::string what = fmt::format("{} of {} bytes {}", name_of(verb), bytes, element.text());
  switch (verb) {
    case Verb::kReduce:
    case Verb::kAllReduce:
    case Verb::kReduceScatter: {
      const std::string to = verb == Verb::kReduce ? fmt::format(" to {}", root) : "";
      return fmt::format("{} ({}){}", what, kReductions[how], to);
    }
    case Verb::kBroadcast:
    case Verb::kScatter:
      return fmt::format("{} from {}", what, root);
    case Verb::kGather:
      return fmt::format("{} to {}", what, root);
    default:
      return what;
  }
}

}  // namespace flotilla::comm
