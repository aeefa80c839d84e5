// A client of the debug adapter for tests: in one thread, without a connection.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/dap/adapter.h"

namespace rldb::protocol::dap {

class TestClient {
 public:
  explicit TestClient(const ui::CommandLine& line = {})
      : channel_([this](const Json& message) { messages_.push_back(message); }),
        traffic_(channel_),
        adapter_(line, channel_, traffic_) {}

  // Everything that came of it: the reply, then events.
  std::vector<Json> send(std::string_view command, Json arguments = Json::object()) {
    messages_.clear();
    Json message{{"seq", ++seq_}, {"type", "request"}, {"command", command}, {"arguments", std::move(arguments)}};
    traffic_.take({message.dump(), nullptr});
    // `cancel`, and what cannot be read, are dealt with already.
    if (messages_.empty()) {
      const auto request = traffic_.next();
      adapter_.handle(*request);
      traffic_.done();
    }
    return messages_;
  }
  // The body of the reply; null and `failure` set: it is a refusal.
  Json body(std::string_view command, Json arguments = Json::object()) {
    for (const Json& m : send(command, std::move(arguments)))
      if (m["type"] == "response") {
        failure = m["success"] == true ? std::string() : m["message"].get<std::string>();
        return m["success"] == true ? m.value("body", Json::object()) : Json();
      }
    failure = "no reply";
    return Json();
  }
  bool is_over() const { return adapter_.is_over(); }
  std::string failure;

 private:
  std::vector<Json> messages_;
  Channel channel_;
  Traffic traffic_;
  Adapter adapter_;
  std::int64_t seq_ = 0;
};

// A folder that is removed with its files.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "rldb-dap-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream out(path_ / name, std::ios::binary);
    out << text;
    return (path_ / name).string();
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace rldb::protocol::dap
