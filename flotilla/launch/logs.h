// flotilla/launch/logs.h
//
// The output of the processes: each writes its own file, so nothing is lost and nobody waits for
// the launcher; what the terminal shows is read back from there, in whole lines where they come.

#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/fd.h"
#include "flotilla/launch/output_writer.h"

namespace flotilla::launch {

// Makes the folder and opens a log in it. Refuses a folder that cannot be written. What stands
// there already may be a device, or a pipe that somebody reads: then nothing is read back from it.
Fd open_log(const std::filesystem::path& file, bool append);

// The last lines of a log, from byte `from` on, as a terminal would show them: UTF-8, of a line
// that was written over (\r) the last state, and no more than a screen of each.
std::vector<std::string> last_lines(const std::filesystem::path& file, int64_t from, size_t count);

// Whether nothing more can be written to a log: its process has met the same.
bool disk_is_full(const std::filesystem::path& file);

// Shows what is appended to files. A line that is not finished is shown after a moment, and goes on
// where nobody else has written meanwhile; "\r" goes back to the prefix.
class Mirror {
 public:
  using Clock = std::chrono::steady_clock;
  // How long an unfinished line is waited for.
  static constexpr std::chrono::milliseconds kHold{100};
  // So many bytes of a file are shown at once, and of an unfinished line held back.
  static constexpr size_t kAtOnce = 1 << 20;
  static constexpr size_t kHeld = 16 << 10;

  explicit Mirror(int output = STDOUT_FILENO);

  // From byte `from` on, each line behind `prefix`.
  void follow(const std::filesystem::path& file, int64_t from, std::string prefix);
  // Readable when some file has grown.
  int fd() const { return notify_.get(); }
  // When pump() must be called though fd() is not readable; nothing: it need not.
  std::optional<Clock::time_point> due() const;
  // Writes what is new to the output, as much as there is room for, and no more than kAtOnce.
  void pump(OutputWriter& writer);
  // Writes the rest, whole lines or not. False: nobody reads it. After `limit` all but the end is
  // left out, and that is said.
  bool drain(OutputWriter& writer, std::optional<std::chrono::milliseconds> limit = {});

 private:
  enum class Line { kNone, kReturned, kInside };  // what of it stands on the terminal

  struct Followed {
    Fd file;
    std::string path;
    std::string prefix;
    std::string pending;  // an unfinished line that is not shown yet
    Clock::time_point since = {};
    Line line = Line::kNone;
    bool broken = false;  // its line was ended for the sake of another
  };

  // False: there is more.
  bool pump(Followed& followed, OutputWriter& writer);
  void show(Followed& followed, std::string_view text, OutputWriter& writer);
  void skip_to_the_end();

  const int output_;
  Fd notify_;
  std::vector<Followed> files_;
  size_t last_ = 0;  // of files_: the one whose line the terminal shows
  bool behind_ = false;
  bool has_room_ = true;
};

}  // namespace flotilla::launch
