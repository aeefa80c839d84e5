// The reply among the lines that an entry wrote.
#include "protocol/entry_reply.h"

#include <algorithm>

namespace rldb::protocol {

namespace {

bool is_reply(const Json& line) { return line.is_object() && line.contains("ok") && line.contains("diagnostics"); }

}  // namespace

Json reply_in(const std::string& output) {
  Json reply;
  std::string others;
  for (std::size_t begin = 0; begin < output.size();) {
    const std::size_t end = std::min(output.find('\n', begin), output.size());
    const std::string_view line = std::string_view(output).substr(begin, end - begin);
    Json parsed = reply.is_null() ? Json::parse(line, nullptr, false) : Json();
    if (is_reply(parsed))
      reply = std::move(parsed);
    else
      others.append(line).push_back('\n');
    begin = end + 1;
  }
  if (reply.is_null()) reply = {{"command", nullptr}, {"ok", false}, {"data", nullptr}, {"diagnostics", Json::array()}};
  if (!others.empty()) reply["text"] = reply.value("text", "") + others;
  return reply;
}

}  // namespace rldb::protocol
