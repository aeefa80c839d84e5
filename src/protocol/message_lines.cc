// Bytes to lines.
#include "protocol/message_lines.h"

#include <algorithm>
#include <new>
#include <utility>

namespace rldb::protocol {

namespace {

class LineSplitter : public MessageSplitter {
 public:
  explicit LineSplitter(std::size_t limit) : limit_(limit) {}

  void feed(std::string_view bytes, std::vector<Message>& out) override {
    while (!bytes.empty()) {
      const std::size_t end = std::min(bytes.find('\n'), bytes.size());
      add(bytes.substr(0, end));
      if (end < bytes.size()) out.push_back(std::exchange(line_, {}));
      bytes.remove_prefix(std::min(end + 1, bytes.size()));
    }
  }

  void finish(std::vector<Message>& out) override {
    if (!line_.text.empty() || line_.fault) out.push_back(std::exchange(line_, {}));
  }

 private:
  // The program under debug may have used up the memory: then the line is dropped like one that is too long.
  void add(std::string_view part) {
    if (line_.fault) return;
    try {
      if (line_.text.size() + part.size() <= limit_) {
        line_.text += part;
        return;
      }
    } catch (const std::bad_alloc&) {
    }
    line_ = {{}, "the message is too long"};
  }

  std::size_t limit_;
  Message line_;
};

}  // namespace

std::unique_ptr<MessageSplitter> split_lines(std::size_t limit) { return std::make_unique<LineSplitter>(limit); }

}  // namespace rldb::protocol
