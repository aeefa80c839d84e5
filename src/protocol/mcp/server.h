// The methods of the Model Context Protocol, for clients of 2026-07-28 (no session: each request carries its version)
// and of 2025-11-25 and before (a handshake by `initialize`). Source: modelcontextprotocol.io/specification.
#pragma once

#include <string>

#include "protocol/json_rpc.h"
#include "protocol/mcp/tools.h"

namespace rldb::protocol::mcp {

class Server {
 public:
  Server(const ui::CommandLine& line, Roots roots) : programs_(line), roots_(std::move(roots)) {}

  RpcResult<Json> answer(const Request& request);

 private:
  RpcResult<Json> result_of(const Request& request);
  RpcResult<Json> initialize(const Json& params) const;
  Json discover() const;
  Json list_tools() const;
  RpcResult<Json> call(const Json& params);
  Json list_resources() const;
  RpcResult<Json> read_resource(const Json& params);

  Programs programs_;
  Roots roots_;
};

}  // namespace rldb::protocol::mcp
