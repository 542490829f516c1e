// Strategies as values and as text: get(), the overview, the text format.

#include <fmt/format.h>
#include <google/protobuf/text_format.h>

#include "flotilla/passes/strategy.pb.h"
#include "flotilla/passes/strategy_field.h"

namespace flotilla::passes {
namespace {

namespace pb = google::protobuf;

Setting options_of(const pb::Message& message) {
  std::vector<NamedSetting> options;
  const pb::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    options.push_back({type.field(i)->name(), get_field(message, *type.field(i))});
  }
  return options;
}

// Element `i` of a list, or the single value where `i` is negative.
Setting element_of(const pb::Message& m, const pb::FieldDescriptor& field, int i) {
  const pb::Reflection& r = *m.GetReflection();
  const pb::FieldDescriptor* f = &field;
  switch (field.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return i < 0 ? r.GetBool(m, f) : r.GetRepeatedBool(m, f, i);
    case pb::FieldDescriptor::CPPTYPE_INT32:
      return i < 0 ? r.GetInt32(m, f) : r.GetRepeatedInt32(m, f, i);
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return i < 0 ? r.GetInt64(m, f) : r.GetRepeatedInt64(m, f, i);
    case pb::FieldDescriptor::CPPTYPE_UINT32:
      return i < 0 ? r.GetUInt32(m, f) : r.GetRepeatedUInt32(m, f, i);
    case pb::FieldDescriptor::CPPTYPE_UINT64:
      return i < 0 ? r.GetUInt64(m, f) : r.GetRepeatedUInt64(m, f, i);
    case pb::FieldDescriptor::CPPTYPE_FLOAT:
      return static_cast<double>(i < 0 ? r.GetFloat(m, f) : r.GetRepeatedFloat(m, f, i));
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
      return i < 0 ? r.GetDouble(m, f) : r.GetRepeatedDouble(m, f, i);
    case pb::FieldDescriptor::CPPTYPE_ENUM:
      return i < 0 ? r.GetEnumValue(m, f) : r.GetRepeatedEnumValue(m, f, i);
    case pb::FieldDescriptor::CPPTYPE_STRING:
      return i < 0 ? r.GetString(m, f) : r.GetRepeatedString(m, f, i);
    case pb::FieldDescriptor::CPPTYPE_MESSAGE:
      return options_of(i < 0 ? r.GetMessage(m, f) : r.GetRepeatedMessage(m, f, i));
  }
  return {};
}

// A number as Python prints it.
std::string python_text(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string python_text(const Setting& setting) {
  if (const bool* flag = std::get_if<bool>(&setting.value)) return *flag ? "True" : "False";
  if (const auto* whole = std::get_if<int64_t>(&setting.value)) return fmt::format("{}", *whole);
  if (const double* number = std::get_if<double>(&setting.value)) return python_text(*number);
  if (const auto* text = std::get_if<std::string>(&setting.value)) return *text;
  return "";
}

// What the overview shows of a field that is no list of plain values.
std::string shown(const pb::Message& message, const pb::FieldDescriptor& field) {
  const pb::Reflection& r = *message.GetReflection();
  if (field.cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) {
    return python_text(element_of(message, field, -1));
  }
  if (!field.is_repeated()) return text_of(r.GetMessage(message, &field));
  std::vector<std::string> elements;
  for (int i = 0; i < r.FieldSize(message, &field); ++i) {
    elements.push_back(text_of(r.GetRepeatedMessage(message, &field, i)));
  }
  return fmt::format("[{}]", fmt::join(elements, ", "));
}

// The box: titles in the middle, names on the right of the left half, values in the middle of the
// right one.
class Box {
 public:
  void border() { text_ += fmt::format("    +{:=^78}+\n", ""); }
  void rule() { text_ += fmt::format("    +{:-^78}+\n", ""); }
  void title(std::string_view title) { text_ += fmt::format("    |{:^78}|\n", title); }
  void row(std::string_view name, std::string_view value) {
    text_ += fmt::format("    |{:>38}  {:^38}|\n", name, value);
  }
  void rows(const pb::Message& message) {
    const pb::Descriptor& type = *message.GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i) rows_of(message, *type.field(i));
  }
  const std::string& text() const { return text_; }

 private:
  void rows_of(const pb::Message& message, const pb::FieldDescriptor& field) {
    const bool plain_list =
        field.is_repeated() && field.cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE;
    if (!plain_list) return row(field.name(), shown(message, field));
    const int size = message.GetReflection()->FieldSize(message, &field);
    for (int i = 0; i < size; ++i) {
      row(i == 0 ? field.name() : "", python_text(element_of(message, field, i)));
    }
  }

  std::string text_;
};

}  // namespace

Setting get_field(const pb::Message& message, const pb::FieldDescriptor& field) {
  if (!field.is_repeated()) return element_of(message, field, -1);
  std::vector<Setting> list;
  const int size = message.GetReflection()->FieldSize(message, &field);
  for (int i = 0; i < size; ++i) list.push_back(element_of(message, field, i));
  return list;
}

std::string describe(const Setting& setting) {
  if (std::holds_alternative<std::monostate>(setting.value)) return "nothing";
  if (const auto* text = std::get_if<std::string>(&setting.value)) {
    return fmt::format("\"{}\"", *text);
  }
  if (const auto* list = std::get_if<std::vector<Setting>>(&setting.value)) {
    return fmt::format("a list of {}", list->size());
  }
  if (std::holds_alternative<std::vector<NamedSetting>>(setting.value)) return "a dict";
  return python_text(setting);
}

std::string text_of(const pb::Message& message) {
  std::string text;
  pb::TextFormat::PrintToString(message, &text);
  return text;
}

std::string DistributedStrategy::overview() const {
  const strategy::DistributedStrategy& s = message();
  const pb::Descriptor& type = *s.GetDescriptor();
  Box switches, flags;
  switches.border();
  for (const char* line : {"", "DistributedStrategy Overview", ""}) switches.title(line);
  for (int i = 0; i < type.field_count(); ++i) {
    const pb::FieldDescriptor& field = *type.field(i);
    const std::string& name = field.name();
    if (name.find("_configs") != std::string::npos || name == "build_strategy" ||
        name == "execution_strategy") {
      continue;
    }
    const pb::FieldDescriptor* configs = type.FindFieldByName(name + "_configs");
    if (configs == nullptr) {
      flags.row(name, shown(s, field));
    } else if (s.GetReflection()->GetBool(s, &field)) {
      switches.border();
      switches.title(fmt::format("{0}=True <-> {0}_configs", name));
      switches.rule();
      switches.rows(s.GetReflection()->GetMessage(s, configs));
    }
  }
  Box rest;
  rest.border();
  rest.title("Environment Flags, Communication Flags");
  rest.rule();
  Box ends;
  ends.border();
  ends.title("Build Strategy");
  ends.rule();
  ends.rows(s.build_strategy());
  ends.border();
  ends.title("Execution Strategy");
  ends.rule();
  ends.rows(s.execution_strategy());
  ends.border();
  return switches.text() + rest.text() + flags.text() + ends.text();
}

}  // namespace flotilla::passes
