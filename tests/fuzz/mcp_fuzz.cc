// Fuzz target: a client of the Model Context Protocol. An input is the text of a module, about which every tool is
// asked with arguments that suit its schema, chosen by the text's bytes; or a message, well made or not. Each request
// gets one reply.
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "fuzz/mutate.h"
#include "rldb/protocol/mcp.h"

namespace rldb::fuzz {

const std::vector<std::string> kSeedEndings{".py", ".relay"};

namespace {

using Json = nlohmann::ordered_json;

constexpr int kCalls = 12;
constexpr double kSeconds = 2;  // for each

std::string request(std::string_view method, Json params) {
  const Json message{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", std::move(params)}};
  return message.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string call(std::string_view tool, Json arguments) {
  return request("tools/call", {{"name", tool}, {"arguments", std::move(arguments)}});
}

class Agent {
 public:
  explicit Agent(const std::string& text) : text_(text), server_(kSeconds) {
    std::uint64_t seed = 1469598103934665603ULL;
    for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    rng_.seed(seed);
  }
  void ask_everything() {
    send(call("open", {{"text", text_}}));
    const Json listed = Json::parse(server_.answer(request("tools/list", Json::object())));
    const Json& tools = listed["result"]["tools"];
    for (int i = 0; i < kCalls; ++i) {
      const Json& tool = tools[below(rng_, tools.size())];
      send(call(tool["name"].get<std::string>(), arguments_for(tool["inputSchema"])));
    }
  }
  void send(const std::string& message) {
    if (server_.answer(message).empty()) ++unanswered_;
  }
  std::string problem() const { return unanswered_ == 0 ? "" : "a request without a reply"; }

 private:
  std::string piece() {
    const std::size_t at = below(rng_, text_.size() + 1);
    return text_.substr(at, below(rng_, 24));
  }
  Json value_for(std::string_view name, const Json& schema) {
    if (below(rng_, 12) == 0) return Json::array({nullptr, 7});  // of a wrong type
    if (schema.contains("enum")) return schema["enum"][below(rng_, schema["enum"].size())];
    if (name == "program") return below(rng_, 8) == 0 ? "p9" : "p1";
    if (name == "passes" && below(rng_, 2) == 0) return "LegalizeOps,FuseOps";
    const Json& type = schema["type"];
    if (type == "integer") return std::int64_t(below(rng_, 5));
    if (type == "array") return Json::array({piece(), piece()});
    return piece();
  }
  Json arguments_for(const Json& schema) {
    Json arguments = Json::object();
    for (const auto& [name, of] : schema["properties"].items()) {
      const Json& needed = schema["required"];
      const bool must = std::find(needed.begin(), needed.end(), Json(name)) != needed.end();
      if (must || below(rng_, 3) == 0) arguments[name] = value_for(name, of);
    }
    return arguments;
  }

  const std::string& text_;
  Rng rng_;
  int unanswered_ = 0;
  protocol::AgentServer server_;
};

}  // namespace

std::string run_one(const std::string& input) {
  Agent agent(input);
  if (input.starts_with('{')) {
    agent.send(input);  // a notification has no reply
    return {};
  }
  agent.ask_everything();
  return agent.problem();
}

// A text, or a message that carries one.
std::string mutate_one(const std::string& input, const Pool& pool, Rng& rng) {
  if (input.starts_with('{')) return mutate_bytes(input, pool, rng);
  std::string text = mutate_text(input, pool, rng);
  if (below(rng, 4) != 0) return text;
  std::string message = call("open", {{"text", std::move(text)}});
  return below(rng, 2) == 0 ? message : mutate_bytes(std::move(message), pool, rng);
}

}  // namespace rldb::fuzz
