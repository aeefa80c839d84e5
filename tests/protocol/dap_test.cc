// The debug adapter: dialogues in tests/protocol/dap/*.txt, and every request at every moment with every wrong
// argument.
#include "rldb/protocol/dap.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "golden/golden.h"
#include "protocol/dap_client.h"
#include "protocol/message_frames.h"
#include "rldb/support/text.h"

namespace rldb::protocol::dap {

namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; !from.empty() && (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// One dialogue. A request is a line `next {"threadId": 1}`. In it `$frame` is the first frame of the last stackTrace,
// `$frame1` the second one, `$NAME` the reference of the last scope or variable of that name (blanks are `_`),
// `$ip` the address of the first frame, `$version2` the source of the IR of that version, `$data` the last data id.
class Dialogue {
 public:
  explicit Dialogue(const golden::Case& c) {
    if (const golden::Part* part = c.find("MODULE")) file_ = folder_.write("module.py", part->text + "\n");
    if (const golden::Part* part = c.find("SCRIPT")) folder_.write("script.session", part->text + "\n");
  }

  std::string run(const std::string& requests) {
    std::string out;
    for (std::string_view rest = requests; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string line(support::trim(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (!line.empty()) out += "> " + line + "\n" + answer(line);
    }
    return out;
  }

 private:
  std::string answer(const std::string& line) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string command = line.substr(0, blank);
    std::string text = replaced(line.substr(blank), "FOLDER", folder_.path());
    for (auto it = names_.rbegin(); it != names_.rend(); ++it)
      text = replaced(std::move(text), "$" + it->first, it->second);
    Json arguments = support::trim(text).empty() ? Json::object() : Json::parse(text, nullptr, false);
    REQUIRE_MESSAGE(!arguments.is_discarded(), line);
    std::string out;
    std::size_t sources = 0;  // events about them; the texts are in the reply to loadedSources
    for (const Json& message : client_.send(command, std::move(arguments))) {
      if (message.value("event", "") == "loadedSource")
        ++sources;
      else
        out += shown(command, message);
    }
    if (sources > 0) out += fmt::format("<- loadedSource, {} times\n", sources);
    return replaced(std::move(out), folder_.path(), "FOLDER");
  }

  std::string shown(const std::string& command, const Json& message) {
    if (message["type"] == "event")
      return fmt::format("<- {} {}\n", message["event"].get<std::string>(), message["body"].dump());
    CHECK(message["command"] == command);
    if (message["success"] == false) return fmt::format("   refused: {}\n", message["message"].get<std::string>());
    const Json body = message.value("body", Json());
    if (body.is_null()) return "   done\n";
    learn(body);
    if (command == "initialize") return fmt::format("   {} capabilities\n", body.size());
    return listed(body);
  }

  // A list with an element a line.
  static std::string listed(const Json& body) {
    if (body.size() == 1 || (body.size() == 2 && body.contains("totalFrames"))) {
      const auto& [key, list] = *body.items().begin();
      if (list.is_array() && !list.empty()) {
        std::string out = fmt::format("   {}\n", key);
        for (const Json& one : list) out += fmt::format("     {}\n", one.dump());
        return out;
      }
    }
    return fmt::format("   {}\n", body.dump());
  }

  void learn(const Json& body) {
    if (body.contains("stackFrames")) {
      for (std::size_t i = 0; i < body["stackFrames"].size(); ++i) {
        const Json& frame = body["stackFrames"][i];
        names_[i == 0 ? "frame" : fmt::format("frame{}", i)] = frame["id"].dump();
        if (i == 0 && frame.contains("instructionPointerReference"))
          names_["ip"] = frame["instructionPointerReference"].get<std::string>();
      }
    }
    for (const char* list : {"scopes", "variables"})
      for (const Json& one : body.value(list, Json::array()))
        if (one["variablesReference"] != 0)
          names_[replaced(one["name"].get<std::string>(), " ", "_")] = one["variablesReference"].dump();
    if (body.contains("variablesReference") && body["variablesReference"] != 0)
      names_["result"] = body["variablesReference"].dump();
    for (const Json& one : body.value("sources", Json::array()))
      if (one.contains("adapterData")) names_["version" + one["adapterData"]["version"].dump()] = one.dump();
    if (body.contains("dataId") && body["dataId"].is_string()) names_["data"] = body["dataId"].get<std::string>();
    for (const Json& one : body.value("variables", Json::array()))
      if (one.contains("memoryReference")) names_["memory"] = one["memoryReference"].get<std::string>();
  }

  TestFolder folder_;
  std::string file_;
  TestClient client_;
  std::map<std::string, std::string> names_;
};

}  // namespace

TEST_CASE("dialogues with the debug adapter") {
  golden::check_cases("protocol/dap", [](golden::Case& c) {
    CAPTURE(c.name);
    Dialogue dialogue(c);
    const golden::Part* client = c.find("CLIENT");
    REQUIRE(client);
    c.set("GIVES", {}, dialogue.run(client->text));
  });
}

namespace {

constexpr std::string_view kModule = R"(from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def slow(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            y[i] = T.float32(0)
            for j in range(1000000000):
                for k in range(1000000000):
                    y[i] = y[i] + x[i]

    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        a: R.Tensor((n, 4), "float32") = R.multiply(x, x)
        b: R.Tensor((n, 4), "float32") = R.add(a, x)
        return b

    @R.function
    def forever(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y = R.call_tir(cls.slow, (x,), out_sinfo=R.Tensor((4,), "float32"))
        return y
)";

struct RequestName {
  std::string_view name;
};
constexpr RequestName kAllRequests[] = {
#define RLDB_DAP_REQUEST(id, spelled, needs, while_running) {spelled},
#include "rldb/protocol/dap_request.def"
    {"cancel"}, {"no such request"}};

// Arguments that some request takes, each with values of every type.
std::vector<Json> wrong_arguments() {
  std::vector<Json> list{Json::object(), Json::array(), nullptr, 7, "text"};
  const std::vector<Json> values{nullptr,
                                 true,
                                 -1,
                                 0,
                                 1,
                                 1.5,
                                 std::int64_t(1) << 62,
                                 std::uint64_t(-1),
                                 1e300,
                                 "",
                                 "x",
                                 "0x10005",
                                 Json::array(),
                                 Json::array({1, "x", nullptr, Json::object()}),
                                 Json::object(),
                                 Json{{"path", "/nowhere.py"}},
                                 Json{{"sourceReference", 99}},
                                 Json{{"adapterData", {{"hash", 1}, {"version", "x"}}}}};
  for (const char* key : {"threadId",
                          "frameId",
                          "variablesReference",
                          "expression",
                          "name",
                          "value",
                          "source",
                          "line",
                          "column",
                          "text",
                          "breakpoints",
                          "filters",
                          "filterOptions",
                          "memoryReference",
                          "instructionCount",
                          "instructionOffset",
                          "offset",
                          "count",
                          "start",
                          "levels",
                          "startFrame",
                          "targetId",
                          "granularity",
                          "context",
                          "program",
                          "inputs",
                          "passes",
                          "dims",
                          "engine",
                          "sourceReference",
                          "requestId",
                          "command",
                          "arguments",
                          "dataId"})
    for (const Json& value : values) {
      Json one{{key, value}};
      // And those that most of them need besides.
      one["threadId"] = key == std::string_view("threadId") ? value : Json(1);
      one["count"] = key == std::string_view("count") ? value : Json(3);
      list.push_back(std::move(one));
    }
  return list;
}

Json launch_of(const std::string& file) { return {{"program", file}, {"stopOnEntry", true}, {"dims", {{"n", 3}}}}; }

// Every `stride`th of them; no two requests have the same ones then.
constexpr std::size_t kSome = 13;

// Every request with every argument: one reply each, whatever it says, and the client goes on.
void walk(TestClient& client, const std::vector<Json>& arguments, std::size_t stride,
          std::initializer_list<std::string_view> without) {
  std::size_t turn = 0;
  for (const RequestName& request : kAllRequests) {
    if (std::find(without.begin(), without.end(), request.name) != without.end()) continue;
    for (const Json& one : arguments) {
      if (++turn % stride != 0) continue;
      INFO(request.name, " ", one.dump());
      std::size_t replies = 0;
      for (const Json& message : client.send(request.name, one)) replies += message["type"] == "response";
      CHECK(replies == 1);
    }
  }
}

}  // namespace

TEST_CASE("every request at every moment, with arguments of every type, has one reply") {
  const TestFolder folder;
  const std::string file = folder.write("module.py", kModule);
  const std::vector<Json> arguments = wrong_arguments();
  SUBCASE("before initialize") {
    TestClient client;
    walk(client, arguments, kSome, {"initialize"});
    CHECK(client.failure.empty());
  }
  SUBCASE("before launch") {
    TestClient client;
    client.body("initialize");
    walk(client, arguments, kSome, {"disconnect"});
    CHECK(client.body("launch", launch_of(file)).is_null() == false);
  }
  SUBCASE("stopped") {
    TestClient client;
    client.body("initialize");
    client.body("launch", launch_of(file));
    walk(client, arguments, kSome, {"configurationDone", "disconnect", "terminate", "restart"});
    client.body("configurationDone");
    // Requests that end the run are not among them.
    walk(client, arguments, 1,
         {"disconnect", "terminate", "restart", "continue", "next", "stepIn", "stepOut", "rldb/command", "evaluate"});
    CHECK(client.body("threads")["threads"].size() == 1);
    const Json frames = client.body("stackTrace", {{"threadId", 1}});
    INFO(client.failure);
    CHECK(frames["stackFrames"].size() == 1);
    walk(client, arguments, kSome, {"disconnect", "terminate", "restart"});
  }
  SUBCASE("after the end") {
    TestClient client;
    client.body("initialize");
    client.body("launch", launch_of(file));
    client.body("configurationDone");
    client.body("terminate");
    walk(client, arguments, kSome, {});
    CHECK(client.is_over());
  }
}

namespace {

// A client at the other end of two pipes.
class PipeClient {
 public:
  explicit PipeClient(OthersOutput others = OthersOutput::IsLeft) {
    REQUIRE(::pipe(to_) == 0);
    REQUIRE(::pipe(from_) == 0);
    server_ = std::thread([this, others] {
      serve_client({}, to_[0], from_[1], others);
      ::close(from_[1]);
    });
    splitter_ = split_frames(kMaxMessageBytes);
  }
  ~PipeClient() {
    if (to_[1] >= 0) ::close(to_[1]);
    server_.join();
    ::close(to_[0]);
    ::close(from_[0]);
  }
  void send(std::string_view command, Json arguments = Json::object()) {
    write(to_frame({{"seq", ++seq_}, {"type", "request"}, {"command", command}, {"arguments", std::move(arguments)}}));
  }
  void write(std::string_view bytes) { REQUIRE(::write(to_[1], bytes.data(), bytes.size()) == ssize_t(bytes.size())); }
  void hang_up() {
    ::close(to_[1]);
    to_[1] = -1;
  }
  // The next message of a kind; the others are dropped. Null: the server has gone.
  Json wait(std::string_view type, std::string_view name) {
    for (;;) {
      for (; next_ < found_.size(); ++next_) {
        const Json message = Json::parse(found_[next_].text);
        if (message["type"] != type || message.value(type == "event" ? "event" : "command", "") != name) continue;
        ++next_;
        return message;
      }
      char chunk[4096];
      const ssize_t n = ::read(from_[0], chunk, sizeof chunk);
      if (n <= 0) return Json();
      splitter_->feed({chunk, std::size_t(n)}, found_);
    }
  }

 private:
  int to_[2], from_[2];
  std::thread server_;
  std::unique_ptr<MessageSplitter> splitter_;
  std::vector<Message> found_;
  std::size_t next_ = 0;
  std::int64_t seq_ = 0;
};

void start_forever(PipeClient& client, const std::string& file) {
  client.send("initialize");
  client.send("launch", {{"program", file}, {"function", "forever"}});
  REQUIRE(client.wait("response", "launch")["success"] == true);
  client.send("configurationDone");
  REQUIRE(client.wait("response", "configurationDone")["success"] == true);
}

}  // namespace

TEST_CASE("a program that runs is paused, and meanwhile every request has its reply") {
  const TestFolder folder;
  PipeClient client;
  start_forever(client, folder.write("module.py", kModule));
  for (const RequestName& request : kAllRequests) {
    const std::string_view name = request.name;
    if (name == "disconnect" || name == "terminate" || name == "restart" || name == "pause") continue;
    client.send(name, {{"threadId", 1}, {"source", {{"path", "/nowhere.py"}}}, {"line", 1}});
    if (name == "no such request") continue;  // it waits for the stop
    CAPTURE(name);
    CHECK(client.wait("response", name)["type"] == "response");
  }
  client.send("threads");
  CHECK(client.wait("response", "threads")["body"]["threads"].size() == 1);
  client.send("pause", {{"threadId", 1}});
  CHECK(client.wait("response", "pause")["success"] == true);
  CHECK(client.wait("event", "stopped")["body"]["reason"] == "pause");
  client.send("stackTrace", {{"threadId", 1}});
  CHECK(client.wait("response", "stackTrace")["body"]["stackFrames"].size() == 1);
  client.send("continue", {{"threadId", 1}});
  client.send("pause", {{"threadId", 1}});
  CHECK(client.wait("event", "stopped")["body"]["reason"] == "pause");
  client.send("disconnect");
  CHECK(client.wait("response", "disconnect")["success"] == true);
}

TEST_CASE("a restart with a text that cannot be read keeps the run") {
  const TestFolder folder;
  const std::string file = folder.write("module.py", kModule);
  TestClient client;
  client.body("initialize");
  client.body("launch", launch_of(file));
  client.body("configurationDone");
  folder.write("module.py", replaced(std::string(kModule), "R.add(a, x)", "R.add(a, nowhere)"));
  client.body("restart");
  CHECK(client.failure == "`nowhere` is not defined");
  CHECK(client.body("stackTrace", {{"threadId", 1}})["stackFrames"].size() == 1);
  folder.write("module.py", kModule);
  client.body("restart");
  CHECK(client.failure.empty());
}

TEST_CASE("lines that are set after the file was written are those of the text that a restart reads") {
  const TestFolder folder;
  const std::string file = folder.write("module.py", kModule);
  TestClient client;
  client.body("initialize");
  client.body("launch", launch_of(file));
  client.body("configurationDone");
  folder.write("module.py", "# one\n# two\n" + std::string(kModule));
  const auto set = [&](int line) {
    return client.body("setBreakpoints", {{"source", {{"path", file}}},
                                          {"breakpoints", Json::array({Json{{"line", line}}})}})["breakpoints"][0];
  };
  CHECK(set(19)["verified"] == false);
  Json changed;
  for (const Json& m : client.send("restart"))
    if (m.value("event", "") == "breakpoint") changed = m["body"]["breakpoint"];
  CHECK(changed["verified"] == true);
  CHECK(changed["line"] == 19);
  CHECK(set(19)["verified"] == true);
}

TEST_CASE("a breakpoint at a return keeps the line that was asked for") {
  const TestFolder folder;
  const std::string text(kModule), file = folder.write("module.py", text);
  const auto line = std::count(text.begin(), text.begin() + std::ptrdiff_t(text.rfind("return ")), '\n') + 1;
  TestClient client;
  client.body("initialize");
  client.body("launch", launch_of(file));
  const Json set = client.body("setBreakpoints",
                               {{"source", {{"path", file}}}, {"breakpoints", Json::array({Json{{"line", line}}})}});
  CHECK(set["breakpoints"][0]["verified"] == true);
  CHECK(set["breakpoints"][0]["line"] == line);
}

TEST_CASE("a shell command's output is the console's") {
  const TestFolder folder;
  const std::string file = folder.write("module.py", kModule);
  PipeClient client(OthersOutput::IsSent);
  client.send("initialize");
  client.send("launch", launch_of(file));
  client.send("configurationDone");
  REQUIRE(client.wait("event", "stopped").is_object());
  client.send("evaluate", {{"expression", "!echo out"}, {"context", "repl"}});
  CHECK(client.wait("event", "output")["body"] == Json{{"category", "stdout"}, {"output", "out\n"}});
  client.send("evaluate", {{"expression", "!echo err >&2"}, {"context", "repl"}});
  CHECK(client.wait("event", "output")["body"] == Json{{"category", "stderr"}, {"output", "err\n"}});
}

TEST_CASE("a breakpoint is set while the program runs, which goes on") {
  const TestFolder folder;
  const std::string file = folder.write("module.py", kModule);
  PipeClient client;
  start_forever(client, file);
  client.send("setBreakpoints", {{"source", {{"path", file}}}, {"breakpoints", Json::array({Json{{"line", 17}}})}});
  const Json reply = client.wait("response", "setBreakpoints");
  CHECK(reply["body"]["breakpoints"][0]["verified"] == true);
  client.send("stackTrace", {{"threadId", 1}});
  CHECK(client.wait("response", "stackTrace")["success"] == false);  // it runs
  client.send("pause");
  CHECK(client.wait("event", "stopped")["body"]["reason"] == "pause");
}

TEST_CASE("a step that is interrupted for a breakpoint ends where it would have ended") {
  const TestFolder folder;
  const std::string file = folder.write("module.py", R"(from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def slow(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            y[i] = T.float32(0)
            for j in range(20000000):
                y[i] = y[i] * T.float32(0.5) + x[i]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        a = R.add(x, x)
        b = R.call_tir(cls.slow, (a,), out_ty=R.Tensor((4,), "float32"))
        c = R.negative(b)
        return c
)");
  constexpr int kFirst = 15, kLast = 17;
  PipeClient client;
  client.send("initialize");
  client.send("launch", {{"program", file}, {"stopOnEntry", true}});
  client.send("configurationDone");
  const auto line_of_stop = [&](std::string_view step, int interruptions = 1) {
    client.send(step, {{"threadId", 1}});
    for (int i = 0; i < interruptions; ++i)
      client.send("setBreakpoints", {{"source", {{"path", file}}}, {"breakpoints", Json::array()}});
    REQUIRE(client.wait("event", "stopped").is_object());
    client.send("stackTrace", {{"threadId", 1}});
    return client.wait("response", "stackTrace")["body"]["stackFrames"][0]["line"].get<int>();
  };
  REQUIRE(client.wait("event", "stopped").is_object());
  while (line_of_stop("next") < kFirst) continue;
  for (int line = kFirst + 1; line <= kLast; ++line) CHECK(line_of_stop("next") == line);
  for (int line = kLast - 1; line >= kFirst; --line) CHECK(line_of_stop("stepBack") == line);
  for (int line = kFirst + 1; line <= kLast; ++line) CHECK(line_of_stop("next", 9) == line);  // and its beginning, too
  for (int line = kLast - 1; line >= kFirst; --line) CHECK(line_of_stop("stepBack", 9) == line);
  client.send("disconnect");
  CHECK(client.wait("response", "disconnect")["success"] == true);
}

TEST_CASE("the session ends with its client, even while the program runs") {
  const TestFolder folder;
  PipeClient client;
  start_forever(client, folder.write("module.py", kModule));
  client.hang_up();
  CHECK(client.wait("event", "never").is_null());
}

TEST_CASE("damaged frames are reported, and the session goes on") {
  PipeClient client;
  client.write("Content-Length: 3\r\n\r\n{]}");
  CHECK(client.wait("event", "output")["body"]["category"] == "important");
  client.write("Content-Length: 99999999999999\r\n\r\n");
  client.hang_up();
  CHECK(client.wait("event", "output").is_object());
}

TEST_CASE("requests are cancelled while they wait") {
  const TestFolder folder;
  PipeClient client;
  start_forever(client, folder.write("module.py", kModule));
  client.send("no such request");
  client.send("cancel", {{"requestId", 4}});
  const Json reply = client.wait("response", "no such request");
  CHECK(reply["success"] == false);
  CHECK(reply["message"] == "cancelled");
}

TEST_CASE("a tensor of any size is listed in parts of a bounded number of rows") {
  const TestFolder folder;
  TestClient client;
  client.body("initialize");
  client.body("launch",
              {{"program", folder.write("module.py", kModule)}, {"stopOnEntry", true}, {"dims", {{"n", 3'000'000}}}});
  client.body("configurationDone");
  client.body("next", {{"threadId", 1}});
  const Json frame = client.body("stackTrace", {{"threadId", 1}})["stackFrames"][0]["id"];
  std::int64_t reference = client.body("scopes", {{"frameId", frame}})["scopes"][0]["variablesReference"];
  reference = client.body("variables", {{"variablesReference", reference}})["variables"][0]["variablesReference"];
  std::string name;
  for (int depth = 0; reference != 0; ++depth) {
    REQUIRE(depth < 10);
    const Json rows = client.body("variables", {{"variablesReference", reference}})["variables"];
    REQUIRE(rows.size() > 0);
    CHECK(rows.size() <= std::size_t(Variables::kMostRows));
    name += rows.back()["name"].get<std::string>();
    reference = rows.back()["variablesReference"];
  }
  CHECK(name == "[2000000..2999999][2990000..2999999][2999900..2999999][2999999][3]");
  CHECK(client.body("variables", {{"variablesReference", 123456}}).is_null());
  CHECK(client.failure == "the variables 123456 belong to an earlier stop");
}

TEST_CASE("a frame with thousands of locals lists the last ones, and the others in ranges") {
  constexpr int kCount = 2500;
  std::string text =
      "from tvm.script import ir as I, relax as R\n\n@I.ir_module\nclass M:\n    @R.function\n"
      "    def main(x: R.Tensor((2,), dtype=\"float32\")):\n";
  for (int i = 0; i < kCount; ++i)
    text += fmt::format("        v{} = R.exp({})\n", i, i == 0 ? "x" : fmt::format("v{}", i - 1));
  text += fmt::format("        return v{}\n", kCount - 1);
  const TestFolder folder;
  TestClient client;
  client.body("initialize");
  client.body("launch", {{"program", folder.write("module.py", text)}, {"stopOnExit", false}});
  client.body("setFunctionBreakpoints", {{"breakpoints", {{{"name", "main:v2400"}}}}});
  client.body("configurationDone");
  const Json frame = client.body("stackTrace", {{"threadId", 1}})["stackFrames"][0]["id"];
  const auto list = [&](const Json& reference) {
    return client.body("variables", {{"variablesReference", reference}})["variables"];
  };
  const Json rows = list(client.body("scopes", {{"frameId", frame}})["scopes"][0]["variablesReference"]);
  REQUIRE(rows.size() > 100);
  CHECK(rows.size() < 200);
  CHECK(rows.front()["name"] == "x .. v98");
  CHECK(rows.back()["name"] == "v2399");
  std::size_t count = 0;
  for (const Json& row : rows) count += row.contains("evaluateName") ? 1 : list(row["variablesReference"]).size();
  CHECK(count == 2401);
  const Json first = list(rows.front()["variablesReference"]);
  CHECK(first[0]["name"] == "x");
  const Json set = client.body(
      "setVariable", {{"variablesReference", rows.front()["variablesReference"]}, {"name", "v5"}, {"value", "1"}});
  CHECK_MESSAGE(client.failure.find("v5") != std::string::npos, client.failure);
}

}  // namespace rldb::protocol::dap
