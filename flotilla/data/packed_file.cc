#include "flotilla/data/packed_file.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/regular_file.h"

namespace flotilla::data {

namespace fs = std::filesystem;

struct PackedFile::Stream {
  explicit Stream(Fd file) : gz(gzdopen(file.get(), "rb")) {
    if (gz != nullptr) file.release();
  }
  ~Stream() {
    if (gz != nullptr) gzclose(gz);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  gzFile gz;
};

PackedFile::PackedFile(const fs::path& file) : name_(file.string()) {
  Fd opened = open_regular_file(file);
  struct stat status = {};
  if (::fstat(opened.get(), &status) == 0) size_ = static_cast<uint64_t>(status.st_size);
  errno = 0;
  stream_ = std::make_unique<Stream>(std::move(opened));
  require(stream_->gz != nullptr, "{}: cannot read: {}", name_,
          std::generic_category().message(errno));
  gzbuffer(stream_->gz, 1 << 17);
  packed_ = gzdirect(stream_->gz) == 0;
}

PackedFile::~PackedFile() = default;

size_t PackedFile::read(std::span<uint8_t> into) {
  size_t done = 0;
  while (done < into.size()) {
    const size_t want = std::min<size_t>(into.size() - done, std::numeric_limits<int>::max());
    const int got = gzread(stream_->gz, into.data() + done, static_cast<unsigned>(want));
    if (got > 0) {
      done += got;
      position_ += got;
    }
    if (got < static_cast<int>(want)) {
      check();
      break;
    }
  }
  return done;
}

void PackedFile::check() const {
  int code = Z_OK;
  const std::string text = gzerror(stream_->gz, &code);
  if (code == Z_OK || code == Z_STREAM_END) return;
  require(code != Z_ERRNO, "{}: cannot read: {}", name_, std::generic_category().message(errno));
  require(code != Z_BUF_ERROR,
          "{}: the gzip data is cut short after {} packed and {} unpacked bytes", name_, size_,
          position_);
  // zlib puts "<fd:7>: " before its message, and knows where it stands in the packed bytes.
  const size_t colon = text.find(": ");
  const size_t prefix = text.starts_with('<') && colon != text.npos ? colon + 2 : 0;
  refuse("{}: the gzip data is corrupt at byte {}: {}", name_, gzoffset(stream_->gz),
         text.substr(prefix));
}

}  // namespace flotilla::data
