// flotilla/comm/processes.h
//
// Ranks as processes, of one host or of several: they find each other through the store of their
// job. Ranks of one host share memory; between hosts Gloo carries the bytes.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "flotilla/comm/world.h"
#include "flotilla/rpc/store_client.h"

namespace flotilla::comm {

struct ProcessOptions {
  std::shared_ptr<rpc::StoreClient> store = {};
  int rank = 0;
  int size = 1;

  // Tells meetings of one job apart: all ranks say the same. A group that is started again meets
  // under another name.
  std::string name = "comm/0";

  // Under which other hosts reach this one.
  std::string address = "127.0.0.1";

  // Why a rank is gone that others wait for, as far as somebody knows; "": nobody does. Asked from
  // the thread that makes the calls.
  std::function<std::string(int rank)> why_gone = {};

  // For tests: ranks of one host that give different numbers act as if on different ones.
  int apart = 0;
};

// Waits until all ranks are here; throws where the job ends meanwhile.
std::unique_ptr<World> make_processes(const ProcessOptions& options);

}  // namespace flotilla::comm
