#include "flotilla/passes/strategy.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <limits>

#include "flotilla/base/error.h"
#include "flotilla/passes/strategy.pb.h"
#include "flotilla/passes/strategy_field.h"

namespace flotilla::passes {
namespace {

namespace pb = google::protobuf;

// Sets one element: add() for lists, set() for single values.
struct Writer {
  pb::Message& message;
  const pb::FieldDescriptor& field;
  const std::string& path;  // for sentences, e.g. a_sync_configs.k_steps

  const pb::Reflection& reflection() const { return *message.GetReflection(); }

  [[noreturn]] void wrong(std::string_view expected, const Setting& found) const {
    refuse("{} must be {}, but is {}", path, expected, describe(found));
  }

  template <typename T>
  T whole_number(const Setting& given) const {
    const int64_t* number = std::get_if<int64_t>(&given.value);
    if (number == nullptr) wrong("a whole number", given);
    require(std::in_range<T>(*number), "{} must be from {} to {}, but is {}", path,
            std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), *number);
    return static_cast<T>(*number);
  }

  bool flag(const Setting& given) const {
    if (const bool* value = std::get_if<bool>(&given.value)) return *value;
    const int64_t* number = std::get_if<int64_t>(&given.value);
    if (number == nullptr || (*number != 0 && *number != 1)) wrong("True or False", given);
    return *number == 1;
  }

  double number(const Setting& given) const {
    if (const double* value = std::get_if<double>(&given.value)) return *value;
    const int64_t* whole = std::get_if<int64_t>(&given.value);
    if (whole == nullptr) wrong("a number", given);
    return static_cast<double>(*whole);
  }

  const pb::EnumValueDescriptor& word(const Setting& given) const {
    const pb::EnumValueDescriptor* found = nullptr;
    if (const std::string* name = std::get_if<std::string>(&given.value)) {
      found = field.enum_type()->FindValueByName(*name);
    } else if (const int64_t* number = std::get_if<int64_t>(&given.value)) {
      found = field.enum_type()->FindValueByNumber(static_cast<int>(*number));
    }
    if (found == nullptr) {
      std::vector<std::string> words;
      for (int i = 0; i < field.enum_type()->value_count(); ++i) {
        words.push_back(field.enum_type()->value(i)->name());
      }
      wrong(fmt::format("one of {}", fmt::join(words, ", ")), given);
    }
    return *found;
  }

  const std::string& text(const Setting& given) const {
    const std::string* value = std::get_if<std::string>(&given.value);
    if (value == nullptr) wrong("a text", given);
    return *value;
  }

  void write(const Setting& given) const;
};

void set_options(pb::Message& message, const std::string& path, const Setting& given) {
  const auto* options = std::get_if<std::vector<NamedSetting>>(&given.value);
  require(options != nullptr, "{} must be a dict of options, but is {}", path, describe(given));
  for (const NamedSetting& option : *options) {
    set_field(message, field_of(message, option.name, path), path + "." + option.name,
              option.value);
  }
}

void Writer::write(const Setting& given) const {
  const pb::Reflection& r = reflection();
  pb::Message* m = &message;
  const pb::FieldDescriptor* f = &field;
  const auto put = [&](auto add, auto set, auto value) {
    if (f->is_repeated()) {
      (r.*add)(m, f, value);
    } else {
      (r.*set)(m, f, value);
    }
  };
  using R = pb::Reflection;
  switch (field.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return put(&R::AddBool, &R::SetBool, flag(given));
    case pb::FieldDescriptor::CPPTYPE_INT32:
      return put(&R::AddInt32, &R::SetInt32, whole_number<int32_t>(given));
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return put(&R::AddInt64, &R::SetInt64, whole_number<int64_t>(given));
    case pb::FieldDescriptor::CPPTYPE_UINT32:
      return put(&R::AddUInt32, &R::SetUInt32, whole_number<uint32_t>(given));
    case pb::FieldDescriptor::CPPTYPE_UINT64:
      return put(&R::AddUInt64, &R::SetUInt64, whole_number<uint64_t>(given));
    case pb::FieldDescriptor::CPPTYPE_FLOAT:
      return put(&R::AddFloat, &R::SetFloat, static_cast<float>(number(given)));
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
      return put(&R::AddDouble, &R::SetDouble, number(given));
    case pb::FieldDescriptor::CPPTYPE_ENUM:
      return put(&R::AddEnum, &R::SetEnum, &word(given));
    case pb::FieldDescriptor::CPPTYPE_STRING:
      return put(&R::AddString, &R::SetString, text(given));
    case pb::FieldDescriptor::CPPTYPE_MESSAGE:
      return set_options(f->is_repeated() ? *r.AddMessage(m, f) : *r.MutableMessage(m, f), path,
                         given);
  }
}

// Keeps the first complaint: the others follow from it.
class FirstComplaint : public pb::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text.empty()) text = fmt::format("line {}, column {}: {}", line + 1, column + 1, message);
  }
  void AddWarning(int, int, const std::string&) override {}

  std::string text = {};
};

}  // namespace

const pb::FieldDescriptor& field_of(const pb::Message& message, std::string_view name,
                                    std::string_view owner) {
  const pb::Descriptor& type = *message.GetDescriptor();
  const pb::FieldDescriptor* field = type.FindFieldByName(std::string(name));
  if (field == nullptr) {
    std::vector<std::string> known;
    for (int i = 0; i < type.field_count(); ++i) known.push_back(type.field(i)->name());
    refuse("\"{}\" is not an option of {}.{}", name, owner, did_you_mean(name, known));
  }
  return *field;
}

void set_field(pb::Message& message, const pb::FieldDescriptor& field, const std::string& path,
               const Setting& value) {
  const pb::Reflection& reflection = *message.GetReflection();
  if (std::holds_alternative<std::monostate>(value.value)) {
    reflection.ClearField(&message, &field);
    return;
  }
  const Writer writer = {message, field, path};
  if (!field.is_repeated()) return writer.write(value);
  const auto* list = std::get_if<std::vector<Setting>>(&value.value);
  if (list == nullptr) writer.wrong("a list", value);
  reflection.ClearField(&message, &field);
  for (const Setting& element : *list) writer.write(element);
}

Setting::Setting(std::vector<NamedSetting> configuration) : value(std::move(configuration)) {}
Setting::Setting(std::initializer_list<NamedSetting> configuration)
    : value(std::vector<NamedSetting>(configuration)) {}
bool Setting::operator==(const Setting&) const = default;

Strategy::Strategy(std::unique_ptr<pb::Message> message, std::string_view title)
    : message_(std::move(message)), title_(title) {}
Strategy::~Strategy() = default;

Strategy::Strategy(const Strategy& other) : message_(other.message_->New()), title_(other.title_) {
  message_->CopyFrom(*other.message_);
}

Strategy& Strategy::operator=(const Strategy& other) {
  message_->CopyFrom(*other.message_);
  return *this;
}

Setting Strategy::get(std::string_view name) const {
  return get_field(*message_, field_of(*message_, name, title_));
}

void Strategy::set(std::string_view name, const Setting& value) {
  // What is refused half way leaves nothing behind.
  const std::unique_ptr<pb::Message> changed(message_->New());
  changed->CopyFrom(*message_);
  set_field(*changed, field_of(*message_, name, title_), std::string(name), value);
  message_->CopyFrom(*changed);
}

bool Strategy::is_set(std::string_view name) const {
  const pb::FieldDescriptor& field = field_of(*message_, name, title_);
  const pb::Reflection& reflection = *message_->GetReflection();
  return field.is_repeated() ? reflection.FieldSize(*message_, &field) > 0
                             : reflection.HasField(*message_, &field);
}

std::vector<std::string> Strategy::names() const {
  std::vector<std::string> names;
  const pb::Descriptor& type = *message_->GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return names;
}

std::string Strategy::prototxt() const { return text_of(*message_); }

void Strategy::merge_prototxt(const std::string& text, std::string_view file) {
  FirstComplaint complaint;
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&complaint);
  const std::unique_ptr<pb::Message> merged(message_->New());
  merged->CopyFrom(*message_);
  require(parser.MergeFromString(text, merged.get()), "{} does not hold a {}: {}", file, title_,
          complaint.text);
  message_->CopyFrom(*merged);
}

DistributedStrategy::DistributedStrategy()
    : Strategy(std::make_unique<strategy::DistributedStrategy>(), "DistributedStrategy") {}

void DistributedStrategy::set(std::string_view name, const Setting& value) {
  if (name == "last_comm_group_size_MB") {
    const double* number = std::get_if<double>(&value.value);
    const int64_t* whole = std::get_if<int64_t>(&value.value);
    require((number == nullptr || *number > 0) && (whole == nullptr || *whole > 0),
            "last_comm_group_size_MB must be positive, but is {}", describe(value));
  }
  Strategy::set(name, value);
  if (name == "a_sync") Strategy::set("a_sync_configs", {{"k_steps", 0}});
}

const strategy::DistributedStrategy& DistributedStrategy::message() const {
  return static_cast<const strategy::DistributedStrategy&>(*message_);
}

FluidStrategy::FluidStrategy()
    : Strategy(std::make_unique<strategy::FluidStrategy>(), "DistributedStrategy") {}

const strategy::FluidStrategy& FluidStrategy::message() const {
  return static_cast<const strategy::FluidStrategy&>(*message_);
}

}  // namespace flotilla::passes
