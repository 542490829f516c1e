#include "flotilla/ir/attr.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "flotilla/ir/quote.h"

namespace flotilla {
namespace {

// In the order of the alternatives.
constexpr std::array<std::string_view, std::variant_size_v<Attr>> kKinds = {
    "none",  "bool", "int",   "long",   "float",   "double",  "string", "block", "var",    "scalar",
    "bools", "ints", "longs", "floats", "doubles", "strings", "blocks", "vars",  "scalars"};

template <typename T>
struct IsList : std::false_type {};
template <typename T>
struct IsList<std::vector<T>> : std::true_type {};

template <typename T>
constexpr bool kWhole = std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>;
template <typename T>
constexpr bool kReal = std::is_floating_point_v<T>;

// What is converted, in words that are put together only where an error needs them.
struct Place {
  std::string_view what = {};
  std::optional<size_t> element = {};

  std::string text() const {
    return element ? fmt::format("element {} of {}", *element, what) : std::string(what);
  }
};

[[noreturn]] void refuse_kind(const Attr& value, std::string_view wanted, const Place& place) {
  refuse("{} must be of kind {}, but is {} of kind {}", place.text(), wanted, to_string(value),
         kind_of(value));
}

template <typename To>
To to_whole(int64_t from, const Place& place) {
  if (from < std::numeric_limits<To>::min() || std::numeric_limits<To>::max() < from) {
    refuse("{} must fit into {} bits, but is {}", place.text(), 8 * sizeof(To), from);
  }
  return static_cast<To>(from);
}

// A finite double that is no finite float would become infinite.
template <typename To>
To to_real(double from, const Place& place) {
  const To to = static_cast<To>(from);
  if (std::isinf(to) && !std::isinf(from)) {
    refuse("{} must fit into a float, but is {}", place.text(), from);
  }
  return to;
}

// One value, or one element of a list, as To.
template <typename To, typename From>
To to_element(const From& from, const Place& place) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else if constexpr (kWhole<To> && (kWhole<From> || std::is_same_v<From, bool>)) {
    return to_whole<To>(from, place);
  } else if constexpr (kReal<To> && (kWhole<From> || kReal<From>)) {
    return to_real<To>(static_cast<double>(from), place);
  } else if constexpr (std::is_same_v<To, bool> && kWhole<From>) {
    if (from != 0 && from != 1) {
      refuse("{} must be true or false, but is {}", place.text(), from);
    }
    return from == 1;
  } else if constexpr (std::is_same_v<To, Scalar> && std::is_same_v<From, bool>) {
    return {.value = from};
  } else if constexpr (std::is_same_v<To, Scalar> && kWhole<From>) {
    return {.value = static_cast<int64_t>(from)};
  } else if constexpr (std::is_same_v<To, Scalar> && kReal<From>) {
    return {.value = static_cast<double>(from)};
  } else {
    refuse_kind(Attr(from), kind_of(Attr(To{})), place);
  }
}

template <typename To, typename From>
To to_kind(const From& from, std::string_view what) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else if constexpr (IsList<To>::value && IsList<From>::value) {
    To list;
    list.reserve(from.size());
    for (size_t i = 0; i < from.size(); ++i) {
      const typename From::value_type element = from[i];  // vector<bool> has proxies
      list.push_back(to_element<typename To::value_type>(element, {.what = what, .element = i}));
    }
    return list;
  } else if constexpr (!IsList<To>::value && !IsList<From>::value &&
                       !std::is_same_v<To, std::monostate> &&
                       !std::is_same_v<From, std::monostate>) {
    return to_element<To>(from, {.what = what});
  } else {
    refuse_kind(Attr(from), kind_of(Attr(To{})), {.what = what});
  }
}

template <typename To>
To convert_to(const Attr& value, std::string_view what) {
  return std::visit([&](const auto& from) { return to_kind<To>(from, what); }, value);
}

// Shortest text that reads back as the same number, and never as a whole one.
template <typename T>
std::string real_text(T value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

struct ToText {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int32_t value) const { return fmt::format("{}", value); }
  std::string operator()(int64_t value) const { return fmt::format("{}L", value); }
  std::string operator()(float value) const { return real_text(value); }
  std::string operator()(double value) const { return real_text(value) + "d"; }
  std::string operator()(const std::string& value) const { return in_quotes(value); }
  std::string operator()(const BlockRef& value) const {
    return fmt::format("block {}", value.index);
  }
  std::string operator()(const VarRef& value) const { return "var " + bare_or_quoted(value.name); }
  std::string operator()(const Scalar& scalar) const {
    return "scalar(" + std::visit(ScalarText{}, scalar.value) + ")";
  }
  template <typename T>
  std::string operator()(const std::vector<T>& list) const {
    // Only an empty list does not show its kind.
    if (list.empty()) return fmt::format("{}[]", kind_of(Attr(list)));
    std::string out = "[";
    for (size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out += ", ";
      out += (*this)(static_cast<const T&>(list[i]));
    }
    return out += ']';
  }

  struct ScalarText {
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const { return real_text(value); }
    std::string operator()(std::complex<double> value) const {
      return real_text(value.real()) + ", " + real_text(value.imag());
    }
  };
};

}  // namespace

std::string_view kind_of(const Attr& attr) { return kKinds[attr.index()]; }

Attr convert(const Attr& value, const Attr& model, std::string_view what) {
  if (value.index() == model.index() || std::holds_alternative<std::monostate>(model)) return value;
  return std::visit([&]<typename To>(const To&) -> Attr { return convert_to<To>(value, what); },
                    model);
}

template <typename T>
T attr_as(const Attr& attr, std::string_view name) {
  if (const T* exact = std::get_if<T>(&attr)) return *exact;
  return convert_to<T>(attr, fmt::format("attribute \"{}\"", name));
}

template bool attr_as<bool>(const Attr&, std::string_view);
template int64_t attr_as<int64_t>(const Attr&, std::string_view);
template int32_t attr_as<int32_t>(const Attr&, std::string_view);
template float attr_as<float>(const Attr&, std::string_view);
template double attr_as<double>(const Attr&, std::string_view);
template std::string attr_as<std::string>(const Attr&, std::string_view);
template BlockRef attr_as<BlockRef>(const Attr&, std::string_view);
template std::vector<bool> attr_as<std::vector<bool>>(const Attr&, std::string_view);
template std::vector<int64_t> attr_as<std::vector<int64_t>>(const Attr&, std::string_view);
template std::vector<int32_t> attr_as<std::vector<int32_t>>(const Attr&, std::string_view);
template std::vector<float> attr_as<std::vector<float>>(const Attr&, std::string_view);
template std::vector<double> attr_as<std::vector<double>>(const Attr&, std::string_view);
template std::vector<std::string> attr_as<std::vector<std::string>>(const Attr&, std::string_view);
template std::vector<BlockRef> attr_as<std::vector<BlockRef>>(const Attr&, std::string_view);

std::string to_string(const Attr& attr) { return std::visit(ToText{}, attr); }

}  // namespace flotilla
