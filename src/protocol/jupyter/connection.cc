#include "protocol/jupyter/connection.h"

#include <fmt/format.h>

#include "protocol/json_rpc.h"

namespace rldb::protocol::jupyter {

namespace {

constexpr std::string_view kScheme = "hmac-sha256";
constexpr std::int64_t kMaxPort = 65535;

using Text = support::Result<std::string, std::string>;

Text text_of(const Json& file, const char* key) {
  if (file.contains(key) && file[key].is_string()) return file[key].get<std::string>();
  return support::Failure(fmt::format("`{}` must be a string", key));
}

// `tcp://127.0.0.1:5555`, `ipc:///path-1`.
Text address_of(const Json& file, const std::string& transport, const std::string& ip, const char* key) {
  if (!file.contains(key) || !file[key].is_number_integer())
    return support::Failure(fmt::format("`{}` must be an integer", key));
  const auto port = file[key].get<std::int64_t>();
  if (port < 1 || port > kMaxPort) return support::Failure(fmt::format("`{}` is not a port: {}", key, port));
  return fmt::format("{}://{}{}{}", transport, ip, transport == "ipc" ? '-' : ':', port);
}

}  // namespace

support::Result<Connection, std::string> connection_of(const std::string& text) {
  const auto parsed = parse_bounded(text);
  const Json file = parsed.ok() ? *parsed : Json();
  if (!file.is_object()) return support::Failure(std::string("not an object of JSON"));
  RLDB_TRY(const std::string transport, text_of(file, "transport"));
  RLDB_TRY(const std::string ip, text_of(file, "ip"));
  RLDB_TRY(const std::string scheme, text_of(file, "signature_scheme"));
  Connection c;
  RLDB_TRY(c.key, text_of(file, "key"));
  if (transport != "tcp" && transport != "ipc")
    return support::Failure(fmt::format("transport `{}` is not supported: tcp and ipc are", transport));
  if (!c.key.empty() && scheme != kScheme)
    return support::Failure(fmt::format("signature scheme `{}` is not supported: {} is", scheme, kScheme));
  RLDB_TRY(c.shell, address_of(file, transport, ip, "shell_port"));
  RLDB_TRY(c.control, address_of(file, transport, ip, "control_port"));
  RLDB_TRY(c.stdin_, address_of(file, transport, ip, "stdin_port"));
  RLDB_TRY(c.iopub, address_of(file, transport, ip, "iopub_port"));
  RLDB_TRY(c.heartbeat, address_of(file, transport, ip, "hb_port"));
  return c;
}

}  // namespace rldb::protocol::jupyter
