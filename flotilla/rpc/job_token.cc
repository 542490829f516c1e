#include "flotilla/rpc/job_token.h"

#include "flotilla/base/env.h"
#include "flotilla/base/error.h"

namespace flotilla::rpc {

std::optional<std::string> job_secret() {
  std::optional<std::string> said = env::text("FLT_JOB_TOKEN");
  if (said && said == env::text("FLT_MADE_TOKEN")) return std::nullopt;
  return said;
}

std::string without_secret(const std::string& who) {
  const std::string text = fmt::format(
      "FLT_JOB_TOKEN is not set: {} can join this job, read and change what it trains, and end it. "
      "Make a secret with `export FLT_JOB_TOKEN=$(openssl rand -hex 32)` and set the same one on "
      "every host",
      who);
  require(!env::flag_or("FLT_REQUIRE_TOKEN", false), "FLT_REQUIRE_TOKEN is 1, but {}", text);
  return text;
}

}  // namespace flotilla::rpc
