// flotilla/base/regular_file.h
//
// Files that are read from beginning to end. Opening a pipe without a writer waits for ever, as
// reading a terminal does: what is not a regular file is refused instead. Only /dev/null is as good
// as an empty one: workers without files read it.

#pragma once

#include <filesystem>

#include "flotilla/base/fd.h"

namespace flotilla {

// "a directory", "a named pipe", "a device", ...; "" for a regular file, also behind a link, and
// for what does not exist.
const char* other_than_a_file(const std::filesystem::path& path);

// Opens for reading, and never waits. Refuses what is missing (kNotFound), is not a regular file or
// cannot be read, with its name.
Fd open_regular_file(const std::filesystem::path& path);

}  // namespace flotilla
