#include "flotilla/base/regular_file.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "flotilla/base/error.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla {
namespace {

class RegularFile : public testing::Test, protected TempDir {
 protected:
  std::string refusal(const std::filesystem::path& path) const {
    try {
      open_regular_file(path);
    } catch (const Error& error) {
      return error.sentence();
    }
    return "";
  }
};

TEST_F(RegularFile, OpensFilesAndLinksToThem) {
  const std::string file = put("a", "text");
  std::filesystem::create_symlink(file, dir_ / "link");
  for (const std::filesystem::path& path : {std::filesystem::path(file), dir_ / "link"}) {
    const Fd opened = open_regular_file(path);
    char bytes[8] = {};
    EXPECT_EQ(::read(opened.get(), bytes, sizeof bytes), 4);
    EXPECT_STREQ(other_than_a_file(path), "");
  }
}

TEST_F(RegularFile, TakesTheNullDeviceForAnEmptyFile) {
  char byte = 0;
  EXPECT_EQ(::read(open_regular_file("/dev/null").get(), &byte, 1), 0);
}

TEST_F(RegularFile, RefusesWhatWouldBeWaitedFor) {
  const std::string pipe = dir_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refusal(pipe), pipe + " is a named pipe, not a file");
  EXPECT_EQ(refusal(dir_), dir_.string() + " is a directory, not a file");
  EXPECT_EQ(refusal("/dev/zero"), "/dev/zero is a device, not a file");
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  const std::string place = dir_ / "socket";
  ASSERT_LT(place.size(), sizeof address.sun_path);
  place.copy(address.sun_path, place.size());
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(refusal(place), place + " is a socket, not a file");
}

TEST_F(RegularFile, RefusesWhatIsNotThere) {
  EXPECT_EQ(refusal(dir_ / "none"), (dir_ / "none").string() + ": no such file");
  EXPECT_STREQ(other_than_a_file(dir_ / "none"), "");
}

}  // namespace
}  // namespace flotilla
