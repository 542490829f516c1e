#include "flotilla/data/text_source.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "flotilla/base/error.h"
#include "flotilla/data/packed_file.h"
#include "flotilla/data/pipe_command.h"

namespace flotilla::data {
namespace {

// Cuts what read_some() gives into pieces that end with a line.
class Pieces : public TextSource {
 public:
  Pieces(std::string name, const TextOptions& options)
      : name_(std::move(name)),
        options_(options),
        capacity_(std::max<size_t>(options.piece_bytes, 1)),
        buffer_(std::make_unique_for_overwrite<char[]>(capacity_)) {}

  const std::string& name() const override { return name_; }

  std::string_view next() override {
    if (options_.stop != nullptr && *options_.stop) {
      throw Error(ErrorKind::kUnavailable, fmt::format("{}: reading was stopped", name_));
    }
    std::memmove(buffer_.get(), buffer_.get() + given_, filled_ - given_);
    filled_ -= given_;
    given_ = 0;
    size_t searched = 0;
    while (!ended_) {
      if (filled_ == capacity_) grow();
      const size_t got = read_some({buffer_.get() + filled_, capacity_ - filled_});
      ended_ = got == 0;
      filled_ += got;
      const void* newline = memrchr(buffer_.get() + searched, '\n', filled_ - searched);
      searched = filled_;
      if (newline != nullptr) {
        given_ = static_cast<size_t>(static_cast<const char*>(newline) + 1 - buffer_.get());
        return {buffer_.get(), given_};
      }
    }
    given_ = filled_;
    return {buffer_.get(), given_};
  }

 protected:
  // 0: the end.
  virtual size_t read_some(std::span<char> into) = 0;

 private:
  void grow() {
    require(filled_ < options_.max_line_bytes,
            "{}: expected lines of at most {} bytes, found a longer one; is this a text file?",
            name_, options_.max_line_bytes);
    auto larger = std::make_unique_for_overwrite<char[]>(capacity_ * 2);
    std::memcpy(larger.get(), buffer_.get(), filled_);
    buffer_ = std::move(larger);
    capacity_ *= 2;
  }

  const std::string name_;
  const TextOptions options_;
  size_t capacity_;
  std::unique_ptr<char[]> buffer_;
  size_t filled_ = 0;
  size_t given_ = 0;  // of filled_, by the last call
  bool ended_ = false;
};

class FileSource : public Pieces {
 public:
  FileSource(const std::filesystem::path& file, const TextOptions& options)
      : Pieces(file.string(), options), file_(file) {}

 private:
  size_t read_some(std::span<char> into) override {
    return file_.read({reinterpret_cast<uint8_t*>(into.data()), into.size()});
  }

  PackedFile file_;
};

class CommandSource : public Pieces {
 public:
  CommandSource(const std::filesystem::path& file, const TextOptions& options)
      : Pieces(fmt::format("{} | {}", file.string(), options.pipe_command), options),
        command_(file, options.pipe_command, options.command_folder, options.stop) {}

 private:
  size_t read_some(std::span<char> into) override { return command_.read(into); }

  PipeCommand command_;
};

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == text.npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\n") + 1 - begin);
}

}  // namespace

std::unique_ptr<TextSource> open_text(const std::filesystem::path& file,
                                      const TextOptions& options) {
  const std::string_view command = trimmed(options.pipe_command);
  if (command.empty() || command == "cat") return std::make_unique<FileSource>(file, options);
  return std::make_unique<CommandSource>(file, options);
}

}  // namespace flotilla::data
