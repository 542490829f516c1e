// flotilla/launch/voice.h
//
// What the launcher says, and to whom: people, whoever started it (--events_fd), and, of what the
// processes print, what the terminal shows. It never waits for readers (output_writer.h).
//
// Thread safety: one thread uses it.

#pragma once

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "flotilla/launch/logs.h"
#include "flotilla/launch/options.h"
#include "flotilla/launch/output_writer.h"

namespace flotilla::launch {

class Voice {
 public:
  // Refuses an --events_fd that no descriptor has.
  explicit Voice(const JobOptions& options);

  // To people, unless they want it quiet.
  void say(std::string_view text) {
    if (!quiet_) explain(text);
  }
  // The same also where they do: why the job fails.
  void explain(std::string_view text) { writer_.write(STDERR_FILENO, text); }
  void print(std::string_view text) { writer_.write(STDOUT_FILENO, text); }
  // Whoever has started the launcher.
  void tell(std::string_view event);
  bool is_heard() const { return events_fd_ >= 0; }

  // Shows what is appended to a log, as Mirror does.
  void follow(const std::filesystem::path& log, int64_t from, std::string prefix) {
    mirror_.follow(log, from, std::move(prefix));
  }
  // Readable when there is more to show, and when there is room again; then, and when it is due,
  // show_more() is to be called.
  int log_fd() const { return mirror_.fd(); }
  int room_fd() const { return writer_.fd(); }
  std::optional<Mirror::Clock::time_point> due() const { return mirror_.due(); }
  void clear_room_fd() { writer_.clear_fd(); }
  void show_more() { mirror_.pump(writer_); }
  // Shows the rest; false: nobody reads it, and it may be given up.
  bool show_rest(std::optional<std::chrono::milliseconds> limit) {
    return mirror_.drain(writer_, limit);
  }
  void give_up_rest() { writer_.give_up(STDOUT_FILENO); }

  // What was said so far stands before what others write to the same place.
  void settle(std::chrono::milliseconds patience) { writer_.settle(patience); }
  void finish() { writer_.finish(); }

 private:
  const bool quiet_;
  const int events_fd_;  // -1: nobody
  OutputWriter writer_;
  Mirror mirror_;
};

}  // namespace flotilla::launch
