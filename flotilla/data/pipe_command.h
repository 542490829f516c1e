// flotilla/data/pipe_command.h
//
// A shell command that reads a file and prints text. It runs in a process group of its own, which
// ends with this object and with this process: nothing is left running, whatever the command
// started.

#pragma once

#include <sys/types.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/process_group.h"
#include "flotilla/data/packed_file.h"

namespace flotilla::data {

// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

// Thread safety: none.
class PipeCommand {
 public:
  // Starts `sh -c <command>`. The file is its standard input, unpacked where it is packed;
  // `folder`, if any, comes first in its PATH.
  PipeCommand(const std::filesystem::path& file, const std::string& command,
              const std::string& folder = {}, const std::atomic<bool>* stop = nullptr);
  ~PipeCommand();
  PipeCommand(const PipeCommand&) = delete;
  PipeCommand& operator=(const PipeCommand&) = delete;

  // What the command has printed, as soon as there is any; 0 once it has ended well. Throws where
  // it ended with another exit status or by a signal, with the last lines it wrote to stderr, and
  // where the file cannot be unpacked; Unavailable once *stop is true. What it writes to
  // stderr goes to ours as well.
  size_t read(std::span<char> into);

 private:
  void start(const std::filesystem::path& file, const std::string& folder);
  // Waits until a descriptor is ready, feeds and drains; true: stdout can be read.
  bool wait();
  void give_up_if_stopped() const;
  void feed();
  void drain_errors();
  void remember(std::string_view text);
  // Reaps the command and judges how it ended.
  void finish();
  std::string last_words() const;

  const std::string file_;
  const std::string command_;
  const std::atomic<bool>* const stop_;
  std::unique_ptr<PackedFile> packed_;  // where it must be unpacked for the command
  std::vector<uint8_t> unpacked_;       // not yet written to the command
  size_t fed_ = 0;                      // of unpacked_
  Descriptor in_, out_, error_;         // our ends
  ProcessGroup group_;                  // of the command
  pid_t pid_ = -1;                      // -1: not running
  std::deque<std::string> lines_;       // the end of stderr; the last one may be unfinished
};

}  // namespace flotilla::data
