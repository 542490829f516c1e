// flotilla/data/text_source.h
//
// Text in large pieces that end where a line ends: from a file, plain or packed with gzip, or from
// a command that is given the file on its standard input.

#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace flotilla::data {

struct TextOptions {
  // Run as `sh -c <command>` with the file on its standard input; what it prints is the text. Empty
  // or "cat": the file itself is the text, and no process is started.
  std::string pipe_command = {};

  // Where the command's programs are looked for first, before the PATH: the interpreter of a
  // virtual environment, say, that nobody has activated.
  std::string command_folder = {};

  // About how many bytes a piece has; one that ends within a line is longer. Pieces that stay in
  // the cache are parsed fastest.
  size_t piece_bytes = size_t{1} << 19;

  // A line longer than this is refused, so that a file without newlines does not fill the memory.
  size_t max_line_bytes = size_t{1} << 28;

  // Where this turns true, next() gives up within a tenth of a second, also while it waits for a
  // command: it throws ErrorKind::kUnavailable. It outlives the source.
  const std::atomic<bool>* stop = nullptr;
};

// Thread safety: none.
class TextSource {
 public:
  // Ends what it runs: no process is left when a source is abandoned.
  virtual ~TextSource() = default;

  // Whole lines, valid until the next call; empty at the end. Throws where the file cannot be read,
  // where packed data is corrupt or cut short, and where a command fails, with its exit status or
  // signal and the end of what it wrote to stderr.
  virtual std::string_view next() = 0;

  // What to call the text in errors: the file, or "<file> | <command>".
  virtual const std::string& name() const = 0;
};

std::unique_ptr<TextSource> open_text(const std::filesystem::path& file,
                                      const TextOptions& options = {});

}  // namespace flotilla::data
