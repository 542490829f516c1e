#include "flotilla/rpc/connection_settings.h"

#include <grpc/support/log.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "flotilla/base/env.h"
#include "flotilla/base/log.h"
#include "flotilla/base/thread.h"
#include "flotilla/rpc/one_thread_engine.h"

namespace flotilla::rpc {
namespace {

// gRPC also writes about what is of no consequence, such as every failed attempt to connect.
void pass_on_errors(gpr_log_func_args* args) {
  constexpr int kMost = 20;
  static std::atomic<int> count = 0;
  if (args->severity != GPR_LOG_SEVERITY_ERROR || count >= kMost) return;
  const bool last = ++count == kMost;
  log::warning("gRPC: {}{}", args->message,
               last ? "; GRPC_VERBOSITY=error shows what follows" : "");
}

}  // namespace

// Two executors, two for timers (one of them the engine's, which is there only now and then), and
// those that wait for connections.
int grpc_threads() {
  return 4 + static_cast<int>(std::clamp(sysconf(_SC_NPROCESSORS_CONF) / 2, 2L, 16L));
}

void prepare_grpc() {
  static std::once_flag once;
  std::call_once(once, [] {
    require_threads(grpc_threads(), "connections need");
    if (!env::text("GRPC_VERBOSITY")) gpr_set_log_function(pass_on_errors);
    grpc_event_engine::experimental::SetEventEngineFactory([] { return one_thread_engine(); });
  });
}

}  // namespace flotilla::rpc
