// flotilla/job/rpc_channel.h
//
// Requests of workers and answers of servers (ps/channel.h), carried by the job's connections.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "flotilla/ps/channel.h"
#include "flotilla/ps/service.h"
#include "flotilla/rpc/data_client.h"
#include "flotilla/rpc/data_server.h"

namespace flotilla::job {

// Throws kUnavailable where nobody answers there for a while.
std::shared_ptr<ps::Channel> connect_channel(const rpc::DataClient::Options& options);

// What a DataServer calls: hands the requests to the threads of `service`, which outlives it.
std::function<void(std::shared_ptr<rpc::DataCall>)> serve_calls(ps::Service& service);

}  // namespace flotilla::job
