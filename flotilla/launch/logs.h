// flotilla/launch/logs.h
//
// The output of the processes: each writes its own file, so nothing is lost and nobody waits for
// the launcher; what the terminal shows is read back from there, in whole lines.

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "flotilla/base/fd.h"

namespace flotilla::launch {

// Makes the folder and opens a log in it. Refuses a folder that cannot be written.
Fd open_log(const std::filesystem::path& file, bool append);

// The last lines of a log, from byte `from` on.
std::vector<std::string> last_lines(const std::filesystem::path& file, int64_t from, size_t count);

// Shows what is appended to files.
class Mirror {
 public:
  Mirror();

  // From byte `from` on, each line behind `prefix`.
  void follow(const std::filesystem::path& file, int64_t from, std::string prefix);
  // Readable when some file has grown.
  int fd() const { return notify_.get(); }
  // Writes the whole lines that are new to stdout.
  void pump();
  // Writes the rest, whole lines or not.
  void drain();

 private:
  struct Followed {
    Fd file;
    std::string prefix;
    std::string pending;  // an unfinished line
  };

  void pump(Followed& followed) const;

  Fd notify_;
  std::vector<Followed> files_;
};

// Writes all of `text`.
void write_out(int fd, std::string_view text);

}  // namespace flotilla::launch
