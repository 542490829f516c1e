// flotilla/rpc/statuses.h
//
// Errors of a server's handler as gRPC statuses, and back. Not for headers that others include.

#pragma once

#include <grpcpp/support/status.h>

#include <optional>
#include <string>

#include "flotilla/base/error.h"

namespace flotilla::rpc {

// Tells a status of ours from one that gRPC made; the kind follows as a digit.
inline constexpr char kErrorMark[] = "flotilla-error-";

// Statuses travel in headers, which are limited.
inline constexpr size_t kMaxSentence = 1500;

inline grpc::Status to_status(const Error& error) {
  grpc::StatusCode code = grpc::StatusCode::INTERNAL;
  if (error.kind() == ErrorKind::kInvalidArgument) code = grpc::StatusCode::INVALID_ARGUMENT;
  if (error.kind() == ErrorKind::kNotFound) code = grpc::StatusCode::NOT_FOUND;
  if (error.kind() == ErrorKind::kUnavailable) code = grpc::StatusCode::UNAVAILABLE;
  return {code, error.sentence().substr(0, kMaxSentence),
          kErrorMark + std::to_string(static_cast<int>(error.kind()))};
}

// Nothing where no handler of ours made this status.
inline std::optional<Error> to_error(const grpc::Status& status) {
  for (const ErrorKind kind : {ErrorKind::kInvalidArgument, ErrorKind::kNotFound,
                               ErrorKind::kUnavailable, ErrorKind::kInternal}) {
    if (status.error_details() == kErrorMark + std::to_string(static_cast<int>(kind))) {
      return Error(kind, status.error_message());
    }
  }
  return std::nullopt;
}

}  // namespace flotilla::rpc
