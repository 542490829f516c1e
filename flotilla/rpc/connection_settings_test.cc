#include "flotilla/rpc/connection_settings.h"

#include <gmock/gmock.h>
#include <grpc/support/log.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace flotilla::rpc {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> lines_with(const std::string& part, const std::string& text) {
  std::vector<std::string> found;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) {
    if (line.find(part) != std::string::npos) found.push_back(line);
  }
  return found;
}

// In a process of its own: gRPC has one log, and its lines are counted.
[[noreturn]] void report_errors(int count) {
  ::unsetenv("GRPC_VERBOSITY");
  ::unsetenv("FLT_LOG_LEVEL");
  prepare_grpc();
  gpr_log_verbosity_init();  // as the first use of gRPC does
  gpr_log(GPR_INFO, "of no consequence");
  for (int i = 1; i <= count; ++i) gpr_log(GPR_ERROR, "trouble %d", i);
  std::_Exit(0);
}

class GrpcErrors : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(GrpcErrors, ArePassedOn) {
  EXPECT_EXIT(
      report_errors(1), testing::ExitedWithCode(0),
      testing::AllOf(HasSubstr("] gRPC: trouble 1\n"), Not(HasSubstr("of no consequence"))));
}

TEST_F(GrpcErrors, AreTwentyLinesAtMost) {
  const auto is_cut = [](const std::string& text) {
    const std::vector<std::string> lines = lines_with("gRPC: trouble", text);
    return lines.size() == 20 && lines.front().ends_with("] gRPC: trouble 1") &&
           lines.back().ends_with("] gRPC: trouble 20; GRPC_VERBOSITY=error shows what follows");
  };
  EXPECT_EXIT(report_errors(25), testing::ExitedWithCode(0), testing::Truly(is_cut));
}

}  // namespace
}  // namespace flotilla::rpc
