// Fuzz target: sequences of requests to the debug adapter over a module. An input is the module's text, a line
// `#### requests`, and a message per line; a seed without messages gets some. Whatever is requested, there is a reply,
// and the session goes on.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "fuzz/mutate.h"
#include "rldb/protocol/dap.h"

namespace rldb::fuzz {

const std::vector<std::string> kSeedEndings{".py", ".requests"};

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMark = "\n#### requests\n";
constexpr std::string_view kFile = "MODULE";  // in a message: the file of the module
constexpr std::size_t kMostRequests = 60;

constexpr const char* kNames[] = {
#define RLDB_DAP_REQUEST(id, name, needs, while_running) name,
#include "rldb/protocol/dap_request.def"
    "cancel", "nothing"};
constexpr const char* kKeys[] = {"threadId",
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
                                 "count",
                                 "start",
                                 "levels",
                                 "memoryReference",
                                 "offset",
                                 "granularity",
                                 "context",
                                 "targetId",
                                 "dataId",
                                 "command",
                                 "condition",
                                 "instructionCount",
                                 "endLine",
                                 "hitCondition",
                                 "logMessage",
                                 "requestId",
                                 "filter",
                                 "inputs",
                                 "stopOnEntry",
                                 "adapterData"};
constexpr const char* kTexts[] = {
    "main",    "x",    "lv",     "lv1",         "n",         "main:lv", "0x10003",
    "hover",   "repl", "watch",  "next",        "heap",      "nan",     "line",
    "% 2",     ">= 1", "n == 2", "instruction", "statement", "[0]",     "_",
    "bt",      "0:x",  "*3",     "R.add(x, x)", "x = 1",     "{x}",     ":pipeline LegalizeOps",
    "storage", ""};

Json some_value(Rng& rng, int depth) {
  switch (below(rng, depth > 0 ? 9 : 7)) {
    case 0:
      return nullptr;
    case 1:
      return below(rng, 2) == 0;
    case 2:
    case 3:
      return std::int64_t(below(rng, 40)) - 2;
    case 4:
      return std::int64_t(rng());
    case 5:
    case 6:
      return kTexts[below(rng, std::size(kTexts))];
    case 7: {
      Json list = Json::array();
      for (std::size_t i = below(rng, 4); i > 0; --i) list.push_back(some_value(rng, depth - 1));
      return list;
    }
    default: {
      Json object = Json::object();
      for (std::size_t i = below(rng, 4); i > 0; --i)
        object[kKeys[below(rng, std::size(kKeys))]] = some_value(rng, depth - 1);
      if (below(rng, 2) == 0) object["path"] = kFile;
      return object;
    }
  }
}

Json message_of(std::string_view command, Json arguments) {
  return {{"seq", 0}, {"type", "request"}, {"command", command}, {"arguments", std::move(arguments)}};
}

// Mostly what a client sends, with something wrong now and then.
std::string some_request(Rng& rng) {
  Json arguments{{"threadId", 1}};
  for (std::size_t i = below(rng, 4); i > 0; --i) arguments[kKeys[below(rng, std::size(kKeys))]] = some_value(rng, 2);
  return message_of(kNames[below(rng, std::size(kNames))], std::move(arguments)).dump();
}

struct File {
  File() {
    const char* folder = std::getenv("TMPDIR");
    path = fmt::format("{}/rldb-dap-{}.py", folder ? folder : "/tmp", ::getpid());
  }
  ~File() { std::remove(path.c_str()); }
  std::string path;
};

// A shell and files are outside of the sandbox of this process.
bool is_harmless(const std::string& text) {
  for (const char* word :
       {"!", "source", "save", "script", "plugin", "html", "report", "-o", "edit", "quit", "cwd", "reload"})
    if (text.find(word) != std::string::npos && text.find("\"source\"") == std::string::npos) return false;
  return true;
}

}  // namespace

namespace {

// A client that sends one request after the other, each after the reply to the one before.
class Client {
 public:
  Client() {
    if (::pipe(to_) != 0 || ::pipe(from_) != 0) std::abort();
    server_ = std::thread([this] {
      ui::CommandLine line;
      line.timeout = 3;
      protocol::dap::serve_client(line, to_[0], from_[1]);
      ::close(from_[1]);
    });
  }
  ~Client() {
    ::close(to_[1]);
    server_.join();
    ::close(to_[0]);
    ::close(from_[0]);
  }

  // Empty, or the problem.
  std::string request(Json message) {
    message["seq"] = ++seq_;
    const std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
    const std::string frame = fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
    if (::write(to_[1], frame.data(), frame.size()) != ssize_t(frame.size())) return "the adapter has gone";
    for (;;) {
      const auto reply = next();
      if (!reply) return fmt::format("no reply to {}", body);
      if (reply->is_discarded()) return "a message that is not JSON";
      if ((*reply)["type"] == "response" && (*reply)["request_seq"] == seq_) return {};
    }
  }

 private:
  std::optional<Json> next() {
    for (;;) {
      const auto header = bytes_.find("\r\n\r\n");
      if (header != std::string::npos) {
        const std::size_t begin = header + 4, size = std::strtoul(bytes_.c_str() + 16, nullptr, 10);
        if (bytes_.size() >= begin + size) {
          Json message = Json::parse(bytes_.substr(begin, size), nullptr, false);
          bytes_.erase(0, begin + size);
          return message;
        }
      }
      char chunk[65536];
      const ssize_t n = ::read(from_[0], chunk, sizeof chunk);
      if (n <= 0) return std::nullopt;
      bytes_.append(chunk, std::size_t(n));
    }
  }

  int to_[2], from_[2];
  std::thread server_;
  std::string bytes_;
  std::int64_t seq_ = 0;
};

}  // namespace

std::string run_one(const std::string& input) {
  const auto mark = input.find(kMark);
  std::string_view requests = input;
  requests.remove_prefix(mark == std::string::npos ? input.size() : mark + kMark.size());
  const File file;
  if (std::FILE* out = std::fopen(file.path.c_str(), "wb")) {
    std::fwrite(input.data(), 1, std::min(mark, input.size()), out);
    std::fclose(out);
  }
  Client client;
  std::string wrong = client.request(message_of("initialize", Json::object()));
  if (wrong.empty()) wrong = client.request(message_of("launch", {{"program", file.path}, {"stopOnEntry", true}}));
  if (wrong.empty()) wrong = client.request(message_of("configurationDone", Json::object()));
  for (std::size_t i = 0; wrong.empty() && !requests.empty() && i < kMostRequests; ++i) {
    const auto end = requests.find('\n');
    std::string text(requests.substr(0, end));
    requests.remove_prefix(end == std::string_view::npos ? requests.size() : end + 1);
    if (!is_harmless(text)) continue;
    if (const auto at = text.find(kFile); at != std::string::npos) text.replace(at, kFile.size(), file.path);
    Json message = Json::parse(text, nullptr, false);
    if (!message.is_object() || !message["command"].is_string() || message["type"] != "request") continue;
    if (message["command"] == "disconnect") break;
    wrong = client.request(std::move(message));
  }
  return wrong;
}

std::string mutate_one(const std::string& input, const Pool& pool, Rng& rng) {
  const auto mark = input.find(kMark);
  std::string module = input.substr(0, mark);
  std::string requests = mark == std::string::npos ? "" : input.substr(mark + kMark.size());
  if (below(rng, 8) == 0) module = mutate_text(std::move(module), pool, rng);
  if (!requests.empty() && below(rng, 3) == 0) requests = mutate_text(std::move(requests), {}, rng);
  for (std::size_t i = 10 + below(rng, 30); i > 0; --i) requests += some_request(rng) + "\n";
  return module + std::string(kMark) + requests;
}

}  // namespace rldb::fuzz
