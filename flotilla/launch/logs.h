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
#include "flotilla/launch/outlet.h"

namespace flotilla::launch {

// Makes the folder and opens a log in it. Refuses a folder that cannot be written. What stands
// there already may be a device, or a pipe that somebody reads: then nothing is read back from it.
Fd open_log(const std::filesystem::path& file, bool append);

// The last lines of a log, from byte `from` on.
std::vector<std::string> last_lines(const std::filesystem::path& file, int64_t from, size_t count);

// Whether nothing more can be written to a log: its process has met the same.
bool disk_is_full(const std::filesystem::path& file);

// Shows what is appended to files.
class Mirror {
 public:
  Mirror();

  // From byte `from` on, each line behind `prefix`.
  void follow(const std::filesystem::path& file, int64_t from, std::string prefix);
  // Readable when some file has grown.
  int fd() const { return notify_.get(); }
  // Writes the whole lines that are new to stdout, as many as there is room for; the others are
  // read when there is.
  void pump(Outlet& outlet);
  // Writes the rest, whole lines or not. False: nobody reads it.
  bool drain(Outlet& outlet);

 private:
  struct Followed {
    Fd file;
    std::string prefix;
    std::string pending;  // an unfinished line
  };

  // False: there is more.
  static bool pump(Followed& followed, Outlet& outlet);

  Fd notify_;
  std::vector<Followed> files_;
  bool behind_ = false;
};

}  // namespace flotilla::launch
