// The kernel of notebooks: signatures, messages and damaged ones, connection files, requests, and what cells show.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>

#include "protocol/jupyter/connection.h"
#include "protocol/jupyter/hmac.h"
#include "protocol/jupyter/install.h"
#include "protocol/jupyter/kernel.h"
#include "protocol/standard_streams.h"

namespace rldb::protocol::jupyter {

namespace {

constexpr const char* kNotebookModule = R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        a: R.Tensor((n, 4), "float32") = R.multiply(x, x)
        b: R.Tensor((n, 4), "float32") = R.add(a, x)
        return b
)";

// Keeps what it was sent, and answers each question with the next answer.
class Recorder : public Client {
 public:
  void publish(std::string_view type, Json content) override { sent.emplace_back(type, std::move(content)); }
  std::optional<std::string> ask(const std::string& question) override {
    questions.push_back(question);
    return answer;
  }
  void publish_standard_streams() override {}

  const Json* last(std::string_view type) const {
    for (auto at = sent.rbegin(); at != sent.rend(); ++at)
      if (at->first == type) return &at->second;
    return nullptr;
  }
  std::string streamed(std::string_view name) const {
    std::string text;
    for (const auto& [type, content] : sent)
      if (type == "stream" && content["name"] == name) text += content["text"].get<std::string>();
    return text;
  }
  std::vector<std::pair<std::string, Json>> sent;
  std::vector<std::string> questions;
  std::optional<std::string> answer;
};

struct Notebook {
  explicit Notebook(ui::CommandLine line = plain()) : kernel(line, client) {}
  static ui::CommandLine plain() {
    ui::CommandLine line;
    line.color = ui::Color::Never;
    return line;
  }
  Json request(std::string type, Json content) {
    client.sent.clear();
    Message message;
    message.header = {{"msg_type", std::move(type)}};
    message.content = std::move(content);
    const auto reply = kernel.answer(message);
    return reply ? *reply : Json();
  }
  Json cell(const std::string& code, Json more = Json::object()) {
    more["code"] = code;
    return request("execute_request", std::move(more));
  }
  Recorder client;
  Kernel kernel;
};

std::string hmac_of(std::string_view key, std::string text) {
  const std::string parts[] = {std::move(text)};
  return hmac_sha256(key, parts);
}

}  // namespace

TEST_CASE("signatures are those of the vectors in RFC 4231") {
  CHECK(hmac_of(std::string(20, '\x0b'), "Hi There") ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hmac_of("Jefe", "what do ya want for nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hmac_of(std::string(20, '\xaa'), std::string(50, '\xdd')) ==
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  CHECK(hmac_of(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First") ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  const std::string parts[] = {"what do ya ", "want for ", "nothing?"};
  CHECK(hmac_sha256("Jefe", parts) == hmac_of("Jefe", "what do ya want for nothing?"));
}

TEST_CASE("a message is read as it was written, and only with the key") {
  Message message;
  message.identities = {"client", std::string("\0\1", 2)};
  message.header = new_header("execute_request", "s");
  message.content = {{"code", "x"}};
  const Frames frames = frames_of(message, "key");
  const auto read = message_of(frames, "key");
  REQUIRE(read.ok());
  CHECK(read->identities == message.identities);
  CHECK(read->type() == "execute_request");
  CHECK(read->content == message.content);
  CHECK(!message_of(frames, "another key").ok());
  CHECK(message_of(frames_of(message, ""), "").ok());
}

TEST_CASE("damaged messages are refused") {
  Message message;
  message.header = new_header("kernel_info_request", "s");
  const Frames frames = frames_of(message, "");
  for (std::size_t i = 0; i < frames.size(); ++i) {
    Frames fewer = frames;
    fewer.erase(fewer.begin() + std::ptrdiff_t(i));
    CHECK(!message_of(fewer, "").ok());
  }
  for (const std::string bad : {"", "{", "[]", "7", "null", "{\"a\":", "\xff\xfe"}) {
    Frames damaged = frames;
    damaged[2] = bad;
    CHECK(!message_of(damaged, "").ok());
  }
  Frames deep = frames;
  deep[5] = "{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}";
  CHECK(!message_of(deep, "").ok());
  CHECK(!message_of({}, "").ok());
}

TEST_CASE("connection files are read, and refused with the reason") {
  Json file{{"transport", "tcp"}, {"ip", "127.0.0.1"}, {"signature_scheme", "hmac-sha256"},
            {"key", "k"},         {"shell_port", 1},   {"control_port", 2},
            {"stdin_port", 3},    {"iopub_port", 4},   {"hb_port", 65535}};
  const auto good = connection_of(file.dump());
  REQUIRE(good.ok());
  CHECK(good->shell == "tcp://127.0.0.1:1");
  CHECK(good->heartbeat == "tcp://127.0.0.1:65535");
  const auto why = [&](const char* key, Json value) {
    Json other = file;
    other[key] = std::move(value);
    const auto read = connection_of(other.dump());
    return read.ok() ? std::string() : read.error();
  };
  CHECK(why("transport", "udp") == "transport `udp` is not supported: tcp and ipc are");
  CHECK(why("signature_scheme", "hmac-md5") == "signature scheme `hmac-md5` is not supported: hmac-sha256 is");
  CHECK(why("shell_port", 65536) == "`shell_port` is not a port: 65536");
  CHECK(why("hb_port", "5") == "`hb_port` must be an integer");
  CHECK(why("key", 7) == "`key` must be a string");
  CHECK(connection_of("[]").error() == "not an object of JSON");
  CHECK(spec_folder("/usr") == "/usr/share/jupyter/kernels/rldb");
  CHECK(Json::parse(spec_text("/bin/rldb"))["argv"] == Json({"/bin/rldb", "jupyter", "{connection_file}"}));
}

TEST_CASE("cells share a session, and the last value is the result") {
  Notebook notebook;
  CHECK(notebook.cell(kNotebookModule)["status"] == "ok");
  CHECK(notebook.cell("x = R.const([[1.0, 2.0, 3.0, 4.0]], \"float32\")\nmain(x)")["execution_count"] == 2);
  const Json* display = notebook.client.last("display_data");
  const Json* result = notebook.client.last("execute_result");
  REQUIRE(display);
  REQUIRE(result);
  CHECK((*display)["data"]["text/plain"] == "x =\nTensor[(1, 4), \"float32\"]\n[[1. 2. 3. 4.]]\n");
  CHECK((*result)["data"]["text/plain"] == "Tensor[(1, 4), \"float32\"]\n[[ 2.  6. 12. 20.]]\n");
  CHECK((*result)["execution_count"] == 2);
  const std::string html = (*result)["data"]["text/html"];
  CHECK(html.find("<td class=\"num\">12.0</td>") != std::string::npos);
  CHECK(notebook.client.sent.front().first == "execute_input");
}

TEST_CASE("a cell that fails says why, and those after it may be left out") {
  Notebook notebook;
  const Json reply = notebook.cell("R.add(1\n\n:show nothing");
  CHECK(reply["status"] == "error");
  const Json* error = notebook.client.last("error");
  REQUIRE(error);
  CHECK((*error)["evalue"] == reply["evalue"]);
  CHECK(!(*error)["traceback"].empty());
  CHECK(notebook.kernel.leaves_out_others());
  notebook.cell(":show nothing", {{"stop_on_error", false}});
  CHECK(!notebook.kernel.leaves_out_others());
  CHECK(notebook.cell("1 + 1")["status"] == "ok");
}

TEST_CASE("listings, pictures and differences have a form of their own") {
  Notebook notebook;
  notebook.cell(kNotebookModule);
  notebook.cell(":show main");
  const Json* listing = notebook.client.last("display_data");
  REQUIRE(listing);
  CHECK((*listing)["data"]["text/html"].get<std::string>().find("<span class=\"k\">def</span>") != std::string::npos);
  notebook.cell(":type main:a");
  const Json* type = notebook.client.last("display_data");
  REQUIRE(type);
  CHECK((*type)["data"]["text/plain"].get<std::string>() == "R.Tensor((n, 4), dtype=\"float32\")\n");
  CHECK((*type)["data"]["text/html"].get<std::string>().find("<span class=\"s\">&quot;float32&quot;</span>") !=
        std::string::npos);
  notebook.cell(":graph main");
  const Json* graph = notebook.client.last("display_data");
  REQUIRE(graph);
  CHECK((*graph)["data"]["image/svg+xml"].get<std::string>().starts_with("<svg"));
  CHECK(!(*graph)["data"]["text/plain"].get<std::string>().empty());
  notebook.cell(":run-pass LegalizeOps\n:diff");
  const Json* diff = notebook.client.last("display_data");
  REQUIRE(diff);
  CHECK((*diff)["data"]["text/html"].get<std::string>().find("<table class=\"diff\">") != std::string::npos);
}

TEST_CASE("a stopped run is there for the next cell, and leaving it is asked") {
  Notebook notebook;
  notebook.cell(kNotebookModule);
  CHECK(notebook.cell(":break main:b\n:run main")["status"] == "ok");
  notebook.cell("stepi");
  CHECK(notebook.cell("print a")["status"] == "ok");
  notebook.client.answer = "n";
  notebook.cell(":quit", {{"allow_stdin", true}});
  CHECK(notebook.client.questions.size() == 1);
  notebook.client.answer = "y";
  const Json reply = notebook.cell(":quit", {{"allow_stdin", true}});
  REQUIRE(reply["payload"].size() == 1);
  CHECK(reply["payload"][0]["source"] == "ask_exit");
}

TEST_CASE("silent cells publish nothing, and expressions are evaluated after a cell") {
  Notebook notebook;
  const Json reply = notebook.cell("y = 2 + 3", {{"silent", true}, {"user_expressions", {{"v", "y"}, {"w", "zz"}}}});
  CHECK(notebook.client.sent.empty());
  CHECK(reply["execution_count"] == 0);
  CHECK(reply["user_expressions"]["v"]["data"]["text/plain"] == "5\n");
  CHECK(reply["user_expressions"]["w"]["status"] == "error");
}

TEST_CASE("the text of a cell is completed, explained and judged as at the prompt") {
  Notebook notebook;
  const Json completed = notebook.request("complete_request", {{"code", "\xc3\xa9 = R.matm"}, {"cursor_pos", 10}});
  CHECK(completed["cursor_start"] == 4);
  CHECK(completed["cursor_end"] == 10);
  const auto& matches = completed["matches"];
  CHECK(std::find(matches.begin(), matches.end(), "R.matmul") != matches.end());
  const Json commands = notebook.request("complete_request", {{"code", "x = 1\n:hist"}, {"cursor_pos", 11}});
  CHECK(commands["matches"] == Json::array({"history"}));
  CHECK(commands["cursor_start"] == 7);
  const Json inspected = notebook.request("inspect_request", {{"code", "R.matmul(x, y)"}, {"cursor_pos", 4}});
  CHECK(inspected["found"] == true);
  CHECK(inspected["data"]["text/plain"].get<std::string>().find("matmul") != std::string::npos);
  CHECK(notebook.request("inspect_request", {{"code", ""}, {"cursor_pos", 0}})["found"] == false);
  const Json more =
      notebook.request("is_complete_request", {{"code", "@R.function\ndef f(x: R.Tensor((2,), \"float32\")):"}});
  CHECK(more["status"] == "incomplete");
  CHECK(more["indent"] == "    ");
  CHECK(notebook.request("is_complete_request", {{"code", "1 + 1"}})["status"] == "complete");
}

TEST_CASE("the history has the cells") {
  Notebook notebook;
  notebook.cell("1 + 1");
  notebook.cell("2 + 2");
  CHECK(notebook.request("history_request", {{"hist_access_type", "tail"}, {"n", 1}})["history"] ==
        Json::array({{0, 2, "2 + 2"}}));
  CHECK(notebook.request("history_request", {{"hist_access_type", "range"}, {"start", 1}, {"stop", 2}})["history"] ==
        Json::array({{0, 1, "1 + 1"}}));
  CHECK(notebook.request("history_request", {{"hist_access_type", "search"}, {"pattern", "2*"}})["history"].size() ==
        1);
  notebook.cell("1 + 1");
  const Json unique = notebook.request(
      "history_request",
      {{"hist_access_type", "search"}, {"pattern", "1*"}, {"unique", true}, {"output", true}})["history"];
  REQUIRE(unique.size() == 1);
  CHECK(unique[0] == Json({0, 3, Json::array({"1 + 1", "2\n"})}));
}

TEST_CASE("requests with members that are missing or of other types do no harm") {
  Notebook notebook;
  for (const char* type : {"execute_request", "complete_request", "inspect_request", "is_complete_request",
                           "history_request", "comm_info_request", "kernel_info_request"})
    for (const Json& value : {Json(), Json(7), Json(-7), Json("x"), Json::array(), Json::object(), Json(1e300)}) {
      Json content;
      for (const char* key : {"code", "cursor_pos", "silent", "store_history", "user_expressions", "allow_stdin", "n",
                              "hist_access_type", "start", "stop", "pattern", "stop_on_error"})
        content[key] = value;
      CHECK(notebook.request(type, content).is_object());
      CHECK(notebook.request(type, Json::object()).is_object());
    }
  CHECK(notebook.request("debug_request", Json::object()).is_null());
}

TEST_CASE("what others write to the standard streams is seen") {
  std::string seen;
  {
    StandardStreams streams([&](std::string_view name, std::string_view text) {
      if (name == "stdout") seen += text;
    });
    std::fputs("from a library\n", stdout);
    streams.drain();
    CHECK(seen == "from a library\n");
  }
}

}  // namespace rldb::protocol::jupyter
