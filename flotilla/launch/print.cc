#include "flotilla/launch/print.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>

namespace flotilla::launch {
namespace {

// As Python prints them.
std::string shown(const std::optional<int64_t>& number) {
  return number ? fmt::to_string(*number) : "None";
}
std::string shown(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    const char quote = word.find('\'') != std::string::npos ? '"' : '\'';
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", quote, word, quote);
  }
  return "[" + text + "]";
}

constexpr size_t kKeyWidth = 40;
constexpr size_t kValueWidth = 45;

// A value too long for its column is shown by its end.
std::string shortened(const std::string& value) {
  constexpr size_t kKept = kValueWidth - 4;
  return value.size() < kValueWidth ? value : "... " + value.substr(value.size() - kKept);
}

}  // namespace

std::string configuration_block(const JobOptions& options) {
  const std::vector<std::pair<const char*, std::string>> rows = {
      {"gpus", options.gpus.value_or("None")},
      {"heter_worker_num", shown(options.heter_worker_num)},
      {"heter_workers", options.heter_workers.value_or("")},
      {"http_port", shown(options.http_port)},
      {"ips", options.ips.value_or("127.0.0.1")},
      {"log_dir", options.log_dir.value_or("log")},
      {"nproc_per_node", shown(options.nproc_per_node)},
      {"server_num", shown(options.server_num)},
      {"servers", options.servers.value_or("")},
      {"training_script", options.script},
      {"training_script_args", shown(options.script_args)},
      {"worker_num", shown(options.worker_num)},
      {"workers", options.workers.value_or("")},
  };
  std::string text = "-----------  Configuration Arguments -----------\n";
  for (const auto& [key, value] : rows) text += fmt::format("{}: {}\n", key, value);
  return text + std::string(48, '-') + "\n";
}

std::string environment_table(const Variables& variables) {
  constexpr size_t kInside = kKeyWidth + 2 + kValueWidth;
  const std::string border = fmt::format("    +{}+\n", std::string(kInside, '='));
  const auto row = [](const std::string& key, const std::string& value) {
    return fmt::format("    |{:>{}}  {:^{}}|\n", key, kKeyWidth, value, kValueWidth);
  };
  std::string text = border + row("Distributed Envs", "Value");
  text += fmt::format("    +{}+\n", std::string(kInside, '-'));
  for (const auto& [key, value] : variables) text += row(key, shortened(value));
  return text + border;
}

std::string log_line(std::string_view level, std::string_view text, std::source_location where) {
  const auto now = std::chrono::system_clock::now();
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::string_view file = where.file_name();
  file.remove_prefix(file.rfind('/') + 1);
  return fmt::format("{} {:%Y-%m-%d %H:%M:%S},{:03} {}:{}] {}\n", level,
                     fmt::localtime(std::chrono::system_clock::to_time_t(now)), milliseconds, file,
                     where.line(), text);
}

}  // namespace flotilla::launch
