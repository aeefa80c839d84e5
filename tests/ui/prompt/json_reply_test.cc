// `--format=json`: whatever the arguments of a command with data, its reply is one object on one line.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "golden/json_schema.h"
#include "rldb/ui/prompt/reply_schema.h"
#include "rldb/ui/prompt/state.h"

using namespace rldb::ui;

namespace {

rldb::test::JsonSchema of_type(std::string_view type) {
  auto schema = type_schema(type);
  schema["$defs"] = shape_schemas({type}, reply_keys());
  return rldb::test::JsonSchema(schema);
}

struct Replies {
  Replies() : repl(line, console) { run(":load " RLDB_SOURCE_DIR "/docs/examples/mlp.py"); }
  std::string run(const std::string& entry) {
    repl.execute(entry);
    return console.take();
  }
  // Commands of breakpoints would write after the reply.
  void check_one_object(const std::string& entry) {
    const std::string text = run(entry);
    INFO(entry, " -> ", text);
    REQUIRE(text.ends_with('\n'));
    CHECK(text.find('\n') + 1 == text.size());
    const auto object = nlohmann::json::parse(text, nullptr, false);
    REQUIRE(object.is_object());
    for (const char* key : {"command", "ok", "data", "diagnostics"}) CHECK(object.contains(key));
    // A failed command reports why.
    const bool well = object["ok"].get<bool>();
    CHECK((well || !object["diagnostics"].empty() || !object["data"].is_null()));
    CHECK((!well || !object["data"].is_null()));
    if (object["data"].is_null()) return;
    const std::string_view type = reply_type(object["command"].get<std::string>());
    REQUIRE(!type.empty());
    CHECK(of_type(type).problem(object["data"]) == "");
  }
  CommandLine line;
  CapturedConsole console;
  Repl repl;
};

constexpr const char* kArguments[] = {"", "main", "lv1", "main:lv1", "lv1 main", "0", "1", "n > 1", "vm", "Normalize"};

bool can_be_tried(const Command& command) {
  // `:time` runs for a second, `:reduce` and `:bisect` start processes, `:report` and `:save-run` write files; text
  // after
  // `:alias NAME` is the alias's text.
  constexpr std::string_view kNot[] = {"time", "reduce", "bisect", "report", "save-run", "alias"};
  return (command.flags & kData) != 0 && std::find(std::begin(kNot), std::end(kNot), command.name) == std::end(kNot);
}

}  // namespace

TEST_CASE("json replies: every command, with all kinds of arguments, without a run and at a stop") {
  for (const bool stopped : {false, true})
    for (const Command& command : commands()) {
      if (!can_be_tried(command)) continue;
      Replies r;
      r.run(":engine vm");
      for (const char* arguments : kArguments) {
        if (stopped && !r.repl.debugger().active()) {
          r.run(":load " RLDB_SOURCE_DIR "/docs/examples/mlp.py");
          r.run(":break main:lv1");
          r.run(":run");
        }
        r.check_one_object(":" + std::string(command.name) + " " + arguments + " --format=json");
      }
    }
}

TEST_CASE("json replies: each command with data has a type, and each type is well formed") {
  for (const Command& command : commands())
    CHECK_MESSAGE(((command.flags & kData) != 0) == !reply_type(command.name).empty(), command.name);
  for (const ReplyKey& k : reply_keys()) CHECK_MESSAGE(type_schema(k.type).is_object(), k.key);
}

// Not in a session: the bytes of a history depend on where checkpoints are, which depends on the speed of the machine.
TEST_CASE("json replies: checkpoints") {
  Replies r;
  r.run(":start");
  const auto reply = nlohmann::json::parse(r.run(":checkpoint here --format=json"), nullptr, false);
  REQUIRE(reply.is_object());
  const auto& data = reply["data"];
  REQUIRE(data["checkpoints"].size() == 1);
  CHECK(data["checkpoints"][0]["name"] == "here");
  CHECK(data["checkpoints"][0]["time"] == data["time"]);
  CHECK(data["bytes"].get<std::uint64_t>() > 0);
  CHECK(data["limit"].get<std::uint64_t>() > data["bytes"].get<std::uint64_t>());
  CHECK(data["recorded_calls"] == 0);
  CHECK(data["calls_not_recorded"] == 0);
}

TEST_CASE("json replies: a report") {
  Replies r;
  r.check_one_object(":report --format=json");
  r.run(":start");
  r.check_one_object(":report --format=json");
}

TEST_CASE("json replies: an empty line repeats a step in the same form") {
  Replies r;
  r.run(":start");
  r.check_one_object(":next --format=json");
  REQUIRE(r.repl.can_repeat());
  r.repl.repeat_last();
  CHECK(nlohmann::json::parse(r.console.take(), nullptr, false).is_object());
}

TEST_CASE("json replies: with --format=json every entry replies with one object") {
  CapturedConsole console;
  CommandLine line;
  line.format = Format::Json;
  Repl repl(line, console);
  const auto reply = [&](const char* entry) {
    repl.execute(entry);
    const std::string text = console.take();
    INFO(entry, " -> ", text);
    REQUIRE(text.find('\n') + 1 == text.size());
    auto object = nlohmann::json::parse(text, nullptr, false);
    REQUIRE(object.is_object());
    return object;
  };
  auto value = reply("v = R.const(7)");
  CHECK(value["command"].is_null());
  CHECK(value["ok"] == true);
  CHECK(value["data"]["values"][0]["name"] == "v");
  CHECK(value["data"]["values"][0]["value"]["elements"] == nlohmann::json::array({7}));
  CHECK(reply("v + 1")["data"]["values"][0]["value"]["elements"] == nlohmann::json::array({8}));
  const auto defined = reply("@R.function\ndef f(x: R.Tensor((2,), \"float32\")):\n    return x");
  CHECK(defined["data"]["defined"] == nlohmann::json::array({"f"}));
  CHECK(reply("f")["data"]["name"] == "f");
  for (const char* wrong : {"nothing", ":nothing", "watsh v", ":delete 7", ":expect value == 9", ":list --format=",
                            ":list --format=xml", ":expect \x1b[2J", ":\xff\xfe", ":delete \x7f\xc2\x9b"}) {
    const auto object = reply(wrong);
    CHECK(object["ok"] == false);
    CHECK(!object["diagnostics"].empty());
  }
  CHECK(reply(":bookmark here")["command"] == "bookmark");
  CHECK(reply(":help undo")["text"].get<std::string>().find(":undo") == 0);
}
