// flotilla/passes/strategy.h
//
// DistributedStrategy: the options of a distributed job, by name. The list of options, with their
// types and defaults, is strategy.proto; nothing else keeps one.
//
//   passes::DistributedStrategy strategy;
//   strategy.set("a_sync", true);
//   strategy.set("a_sync_configs", {{"k_steps", 100}});   // names that are left out keep their
//   value
//
// A name that does not exist is refused with the nearest one, a value of the wrong type with what
// was expected and found.

#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace google::protobuf {
class Message;
}
namespace flotilla::strategy {
class DistributedStrategy;
class FluidStrategy;
}  // namespace flotilla::strategy

namespace flotilla::passes {

struct NamedSetting;

// The value of an option: nothing, a flag, a number, a text, a list, or a configuration, which is a
// list of named values.
struct Setting {
  std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<Setting>,
               std::vector<NamedSetting>>
      value = {};

  Setting() = default;
  Setting(bool flag) : value(flag) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Setting(T number) : value(static_cast<int64_t>(number)) {}
  Setting(double number) : value(number) {}
  Setting(const char* text) : value(std::string(text)) {}
  Setting(std::string text) : value(std::move(text)) {}
  Setting(std::vector<Setting> list) : value(std::move(list)) {}
  Setting(std::vector<NamedSetting> configuration);
  Setting(std::initializer_list<NamedSetting> configuration);

  bool operator==(const Setting&) const;
};

struct NamedSetting {
  std::string name = {};
  Setting value = {};

  bool operator==(const NamedSetting&) const = default;
};

// Thread safety: none; a strategy is a value.
class Strategy {
 public:
  Strategy(const Strategy&);
  Strategy& operator=(const Strategy&);
  virtual ~Strategy();

  // The value of an option, its default where it was not set.
  Setting get(std::string_view name) const;
  virtual void set(std::string_view name, const Setting& value);
  // Whether the option was set, by set() or from a file.
  bool is_set(std::string_view name) const;
  // In the order of strategy.proto.
  std::vector<std::string> names() const;

  // What was set, in protobuf's text format, as Paddle's save_to_prototxt() writes it.
  std::string prototxt() const;
  // Adds what such a text sets. `file` is named where the text is refused; nothing is changed then.
  void merge_prototxt(const std::string& text, std::string_view file);

  bool operator==(const Strategy& other) const { return prototxt() == other.prototxt(); }

 protected:
  explicit Strategy(std::unique_ptr<google::protobuf::Message> message, std::string_view title);

  std::unique_ptr<google::protobuf::Message> message_;  // never null

 private:
  std::string title_;  // for sentences
};

// fleet.DistributedStrategy of 2.x.
class DistributedStrategy : public Strategy {
 public:
  DistributedStrategy();

  // a_sync sets a_sync_configs.k_steps to 0, as in Paddle; a k_steps above 0 after it means geo.
  void set(std::string_view name, const Setting& value) override;

  // The box that Paddle prints.
  std::string overview() const;

  // For passes, which include strategy.pb.h.
  const strategy::DistributedStrategy& message() const;
};

// paddle.fluid.incubate.fleet.collective.DistributedStrategy of 1.8.
class FluidStrategy : public Strategy {
 public:
  FluidStrategy();

  const strategy::FluidStrategy& message() const;
};

}  // namespace flotilla::passes
