// python/src/layer_function.h
//
// Binds functions of layers as they are: each argument is converted by its type in C++. Rows of the
// API hand over all of them, in order.

#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "flotilla/layers/context.h"
#include "flotilla/layers/forms.h"
#include "layers_convert.h"

namespace flotilla::python {

// How Python hands over an argument of a layer: by default as nanobind converts it.
template <typename T>
struct Handed {
  using Given = T;
  static T take(T value) { return value; }
};

// What is converted from any object by a function of ours.
template <auto convert>
struct Converted {
  using Given = nb::handle;
  static auto take(nb::handle value) { return convert(value); }
};
// As attributes: True, those of numpy, and 0 and 1.
inline bool to_truth(nb::handle value) {
  return std::get<bool>(convert(to_attr(value), false, "a truth value"));
}
// None stands for the default type.
inline DType to_any_dtype(nb::handle value) {
  return value.is_none() ? layers::context().default_dtype : to_dtype(value);
}
// One axis or several; None is none.
inline std::vector<int64_t> to_axes(nb::handle value) {
  return value.is_none() ? std::vector<int64_t>{} : to_shape(value).dims();
}
// One variable that holds them all, or one or several.
inline layers::Numbers to_numbers(nb::handle value) {
  if (nb::isinstance<Var>(value)) return layers::Variable(nb::cast<Var&>(value));
  return to_operands(value);
}
inline layers::Parts to_parts(nb::handle value) {
  if (PyIndex_Check(value.ptr()) != 0) return nb::cast<int64_t>(value);
  return to_axes(value);
}

template <>
struct Handed<layers::Variable> {
  using Given = Var&;
  static layers::Variable take(Var& value) { return value; }
};
template <>
struct Handed<std::optional<layers::Variable>> {
  using Given = Var*;
  static std::optional<layers::Variable> take(Var* value) {
    if (value == nullptr) return std::nullopt;
    return layers::Variable(*value);
  }
};
template <>
struct Handed<layers::Variables> : Converted<to_variables> {};
template <>
struct Handed<layers::Operand> : Converted<to_operand> {};
template <>
struct Handed<layers::Numbers> : Converted<to_numbers> {};
template <>
struct Handed<layers::Parts> : Converted<to_parts> {};
template <>
struct Handed<std::vector<int64_t>> : Converted<to_axes> {};
template <>
struct Handed<Shape> : Converted<to_shape> {};
template <>
struct Handed<DType> : Converted<to_any_dtype> {};
template <>
struct Handed<bool> : Converted<to_truth> {};
template <>
struct Handed<std::string> {
  using Given = Text;
  static std::string take(const Text& value) { return text(value); }
};

template <typename T>
struct Handed<std::optional<T>> {
  static constexpr bool kAny = std::is_same_v<typename Handed<T>::Given, nb::handle>;
  using Given = std::conditional_t<kAny, nb::handle, std::optional<T>>;
  static std::optional<T> take(const Given& value) {
    if constexpr (kAny) {
      if (value.is_none()) return std::nullopt;
      return Handed<T>::take(value);
    } else {
      return value;
    }
  }
};

// How a layer hands back what it made.
struct Plainly {
  static nb::object give(layers::Variable made) { return wrap(made); }
  static nb::object give(const std::pair<layers::Variable, layers::Variable>& made) {
    return nb::make_tuple(wrap(made.first), wrap(made.second));
  }
  // Always a list.
  static nb::object give(const layers::Variables& made) {
    nb::list list;
    for (const layers::Variable& var : made) list.append(wrap(static_cast<Var&>(var)));
    return list;
  }
};
struct OneOrList {
  static nb::object give(const layers::Variables& made) { return wrap_all(made); }
};

template <typename Back = Plainly, typename Made, typename... T>
void def_layer(nb::module_& m, const char* name, Made (*function)(T...)) {
  m.def(
      name,
      [function](typename Handed<std::decay_t<T>>::Given... values) {
        mark_user_line();
        return Back::give(function(Handed<std::decay_t<T>>::take(values)...));
      },
      nb::arg().none(!std::is_same_v<std::decay_t<T>, layers::Variable>)...);
}

}  // namespace flotilla::python
