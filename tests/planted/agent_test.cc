// A planted miscompilation is found by an agent that has nothing but the tools of `rldb mcp`: that the pipeline is at
// fault, the pass, the rewrite, the tensor that was overwritten, and a small module that shows it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "rldb/protocol/mcp.h"
#include "rldb/support/planted.h"

using namespace rldb;
using Json = nlohmann::ordered_json;

namespace {

constexpr std::string_view kPasses =
    "LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite,StaticPlanBlockMemory";

// A chain of bindings, one of which reads a value from far before it.
std::string chain() {
  constexpr int kBindings = 40;
  constexpr std::string_view kType = "R.Tensor((4, 4), \"float32\")";
  std::string text = fmt::format(
      "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: {0}) -> {0}:\n        with R.dataflow():\n",
      kType);
  for (int i = 0; i < kBindings; ++i) {
    const std::string last = i == 0 ? "x" : fmt::format("v{}", i - 1);
    const std::string value = i == 20      ? "R.subtract(v19, v10)"
                              : i % 3 == 0 ? fmt::format("R.add({}, x)", last)
                              : i % 3 == 1 ? fmt::format("R.multiply({}, R.const(1.01, \"float32\"))", last)
                                           : fmt::format("R.negative({})", last);
    text += fmt::format("            v{} = {}\n", i, value);
  }
  return text + fmt::format("            R.output(v{0})\n        return v{0}\n", kBindings - 1);
}

struct Agent {
  // The data of a call.
  Json operator()(std::string_view tool, Json arguments) {
    const Json message{{"jsonrpc", "2.0"},
                       {"id", 1},
                       {"method", "tools/call"},
                       {"params", {{"name", tool}, {"arguments", std::move(arguments)}}}};
    const Json reply = Json::parse(server.answer(message.dump()), nullptr, false);
    INFO(reply.dump());
    REQUIRE(reply.contains("result"));
    REQUIRE(reply["result"]["isError"] == false);
    return reply["result"]["structuredContent"]["data"];
  }
  protocol::AgentServer server{900};  // seconds: a busy machine is slow, and the result has to be the same
};

}  // namespace

TEST_CASE("planted: with the tools of `rldb mcp` alone an agent finds the pass, the rewrite and the tensor") {
  Agent agent;
  const Json p = agent("open", {{"text", chain()}})["handle"];
  CHECK(agent("compare", {{"program", p}, {"passes", kPasses}})["verdict"] == "equal");
  support::planted_bug = support::Bug::EarlyRelease;
  CHECK(agent("compare", {{"program", p}, {"passes", kPasses}})["verdict"] == "differs");
  const Json found = agent("bisect", {{"program", p}, {"passes", kPasses}});
  CHECK(found["verdict"] == "found");
  CHECK(found["pass"] == "StaticPlanBlockMemory");
  CHECK(found["rewrite"]["number"] > 0);
  CHECK(found["comparison"]["first"]["inputs"].dump().find("v10") != std::string::npos);
  // The memory of which tensor: the checker of storage says it by itself.
  agent("run_passes", {{"program", p}, {"passes", kPasses}});
  const Json checked = agent("query", {{"program", p}, {"what", "sanitize"}, {"argument", "storage"}});
  REQUIRE(checked["findings"].size() > 0);
  CHECK(checked["findings"][0]["planner"] == "StaticPlanBlockMemory");
  // A small module, which the agent can show.
  const Json small = agent("open", {{"text", chain()}})["handle"];
  CHECK(agent("reduce", {{"program", small}, {"passes", kPasses}})["after"]["bindings"] <= 5);
  CHECK(agent("show", {{"program", small}})["text"].get<std::string>().find("R.subtract") != std::string::npos);
  support::planted_bug = support::Bug::None;
}
