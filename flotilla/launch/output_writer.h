// flotilla/launch/output_writer.h
//
// What the launcher writes, to whoever may have stopped reading: a full pipe, a terminal on which
// somebody has pressed Ctrl-S. The launcher never waits for them; a thread does. What is written to
// several descriptors comes out in the order in which it was written, as far as they are read.
//
// Thread safety: one thread uses it.

#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>
#include <thread>

namespace flotilla::launch {

class OutputWriter {
 public:
  // So many bytes may wait for each descriptor.
  static constexpr size_t kRoom = 1 << 20;
  // Who has read nothing for so long, while there was something to read, is not waited for at the
  // end.
  static constexpr std::chrono::milliseconds kPatience{5000};

  OutputWriter();
  // Waits for what is still to be written, as finish() does.
  ~OutputWriter();
  OutputWriter(const OutputWriter&) = delete;
  OutputWriter& operator=(const OutputWriter&) = delete;

  // Where there is no room the lines are left out, and their number is said once there is.
  void write(int fd, std::string_view text);
  // Whether nothing that is written now is left out.
  bool has_room(int fd);

  // Readable when there is room again where has_room() has said that there was none.
  int fd() const;
  void clear_fd();
  // Waits for that; false: nobody has read for `patience`.
  bool wait_for_room(int fd, std::chrono::milliseconds patience = kPatience);

  // Nobody will read it: what waits for it, or is written to it from now on, is left out.
  void give_up(int fd);

  // Waits until all is written; false: nobody has read for `patience`.
  bool settle(std::chrono::milliseconds patience = kPatience);
  // The same at the end: what nobody has read by then is left out.
  void finish(std::chrono::milliseconds patience = kPatience);

 private:
  struct State;

  // The thread may be left behind, in a write that never ends.
  const std::shared_ptr<State> state_;
  std::thread thread_;  // begins with the first write
};

}  // namespace flotilla::launch
