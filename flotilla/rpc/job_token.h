// flotilla/rpc/job_token.h
//
// The secret of a job as its user gave it (FLT_JOB_TOKEN), and what it means that none was given.

#pragma once

#include <optional>
#include <string>

namespace flotilla::rpc {

// What the user set; nothing: no secret. Nobody prints or logs it, nor a part of it. A token that a
// launcher made for its processes (FLT_MADE_TOKEN) is none, for a job that one of them starts.
std::optional<std::string> job_secret();

// The warning of a job without a secret: what `who` ("any user of 10.0.0.1, 10.0.0.2") can do to
// it, and the line that makes a secret. With FLT_REQUIRE_TOKEN=1 the job is refused for it.
// REQUIRES: there is no secret
std::string without_secret(const std::string& who);

}  // namespace flotilla::rpc
