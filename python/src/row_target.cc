#include "row_target.h"

#include <algorithm>
#include <cctype>

namespace flotilla::python {
namespace {

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \n");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \n") - first + 1);
}

// The parts of `text` between the separators that stand in no bracket and no quotes.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  char quote = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == separator && depth == 0) {
      parts.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    } else {
      depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    }
  }
  if (!trim(text.substr(begin)).empty()) parts.push_back(trim(text.substr(begin)));
  return parts;
}

// "dtype(x)" is what stands between the brackets of the word "dtype"; nothing if it does not.
std::optional<std::string_view> inside(std::string_view text, std::string_view word) {
  if (!text.starts_with(word) || !text.substr(word.size()).starts_with('(')) return {};
  const size_t end = text.rfind(')');
  return text.substr(word.size() + 1, end - word.size() - 1);
}

// Reads the text of a target with the names of the parameters before it.
class Reader {
 public:
  Reader(const std::vector<std::string>& parameters, std::string_view text)
      : parameters_(parameters), used_(parameters.size(), false) {
    const std::vector<std::string_view> parts = split(text, ';');
    for (size_t i = 1; i < parts.size(); ++i) read_option(parts[i]);
    const size_t arrow = parts.front().find("->");
    const std::string_view call = trim(parts.front().substr(0, arrow));
    if (arrow != parts.front().npos) read_outputs(parts.front().substr(arrow + 2));
    const std::string_view callee = call.substr(0, call.find('('));
    const auto arguments = split(inside(call, callee).value_or(""), ',');
    if (callee.find('.') != callee.npos) {
      read_function(callee, arguments);
    } else {
      read_op(callee, arguments);
    }
    for (size_t i = 0; i < used_.size(); ++i) {
      require(used_[i], "nothing takes the argument {}", parameters_[i]);
    }
  }

  RowTarget target() && { return std::move(target_); }

 private:
  void read_option(std::string_view option) {
    if (option == "stop_gradient") {
      target_.stop_gradient = true;
    } else if (option == "number") {
      target_.takes_numbers = true;
    } else if (option.starts_with("layer=")) {
      target_.layer = option.substr(option.find('=') + 1);
    } else if (option.starts_with("into ")) {
      target_.into = Given{argument(trim(option.substr(5)))};
    } else if (option.starts_with("stop_gradient=")) {
      target_.stops = Given{argument(option.substr(option.find('=') + 1))};
    } else {
      require(option.starts_with("unused "), "there is no option \"{}\"", option);
      for (const std::string_view name : split(option.substr(7), ',')) argument(name);
    }
  }

  void read_outputs(std::string_view text) {
    for (std::string_view out : split(text, ',')) {
      const bool dropped = out.starts_with('[');
      if (dropped) out = out.substr(1, out.size() - 2);
      if (!dropped) target_.returned.push_back(target_.outputs.size());
      target_.outputs.emplace_back(std::string(out));
    }
  }

  void read_function(std::string_view callee, const std::vector<std::string_view>& arguments) {
    const size_t dot = callee.rfind('.');
    const std::string module(callee.substr(0, dot));
    target_.function = nb::module_::import_(module == "core" ? "_flotilla" : module.c_str())
                           .attr(std::string(callee.substr(dot + 1)).c_str());
    for (const std::string_view part : arguments) {
      const size_t equals = split(part, '=').size() == 2 ? part.find('=') : part.npos;
      if (equals == part.npos) {
        target_.entries.push_back({{{Place::kPositional}}, value(part)});
      } else {
        const std::string name(trim(part.substr(0, equals)));
        target_.entries.push_back(
            {{{Place::kKeyword, name}}, value(trim(part.substr(equals + 1)))});
      }
    }
  }

  void read_op(std::string_view type, const std::vector<std::string_view>& arguments) {
    target_.def = &op_def(type);
    for (const std::string_view part : arguments) {
      const size_t equals = part.find('=');
      require(equals != part.npos, "\"{}\" is not PLACE=VALUE", part);
      Entry entry;
      for (const std::string_view name : split(part.substr(0, equals), '|')) {
        entry.places.push_back(place(name));
      }
      entry.value = value(trim(part.substr(equals + 1)));
      target_.entries.push_back(std::move(entry));
    }
    for (const std::string& parameter : parameters_) {
      if (target_.into && target_.into->argument == argument_of(parameter)) continue;
      const std::optional<Place> found = find_place(parameter);
      if (found && !is_given(*found)) target_.entries.push_back({{*found}, value(parameter)});
    }
  }

  bool is_given(const Place& place) const {
    for (const Entry& entry : target_.entries) {
      for (const Place& one : entry.places) {
        if (one.kind == place.kind && one.name == place.name) return true;
      }
    }
    return false;
  }

  Place place(std::string_view name) const {
    if (name.ends_with("[]")) {
      return {Place::kExtents, std::string(name.substr(0, name.size() - 2))};
    }
    const std::optional<Place> found = find_place(name);
    require(found.has_value(), "{} has neither an input nor an attribute \"{}\"", target_.def->type,
            name);
    return *found;
  }

  std::optional<Place> find_place(std::string_view name) const {
    if (target_.def->find_attr(name) != nullptr) return Place{Place::kAttr, std::string(name)};
    const auto same = [](unsigned char a, unsigned char b) {
      return std::tolower(a) == std::tolower(b);
    };
    for (const Slot& slot : target_.def->inputs) {
      if (std::equal(slot.name.begin(), slot.name.end(), name.begin(), name.end(), same)) {
        return Place{Place::kInput, slot.name};
      }
    }
    if (name == "name") return Place{Place::kName};
    if (name == "act") return Place{Place::kAct};
    if (name == "out") return Place{Place::kOut};
    return {};
  }

  int argument_of(std::string_view name) const {
    const auto found = std::find(parameters_.begin(), parameters_.end(), name);
    require(found != parameters_.end(), "there is no argument \"{}\"", name);
    return static_cast<int>(found - parameters_.begin());
  }
  int argument(std::string_view name) {
    const int found = argument_of(name);
    used_[static_cast<size_t>(found)] = true;
    return found;
  }

  Given given(std::string_view text) {
    if (std::find(parameters_.begin(), parameters_.end(), text) != parameters_.end()) {
      return {argument(text)};
    }
    return {.constant = nb::module_::import_("ast").attr("literal_eval")(std::string(text))};
  }

  Value value(std::string_view text, Value::Form form = Value::kAsIs) {
    if (const auto inner = inside(text, "dtype")) return value(*inner, Value::kDtype);
    if (const auto inner = inside(text, "missing")) return value(*inner, Value::kMissing);
    if (text.starts_with("not ")) return value(text.substr(4), Value::kNot);
    if (const auto inner = inside(text, "cast")) {
      const std::vector<std::string_view> both = split(*inner, ',');
      return {Value::kCast, given(both.at(0)), {}, given(both.at(1))};
    }
    const size_t either = text.find(" or ");
    Value made = {form, given(trim(text.substr(0, either)))};
    if (either != text.npos) made.otherwise = given(trim(text.substr(either + 4)));
    return made;
  }

  const std::vector<std::string>& parameters_;
  std::vector<bool> used_;
  RowTarget target_ = {};
};

}  // namespace

RowTarget read_target(const std::vector<std::string>& parameters, std::string_view text) {
  return Reader(parameters, text).target();
}

}  // namespace flotilla::python
