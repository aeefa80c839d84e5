// Messages of a file descriptor, read by a thread of their own, so that a message can cancel the work that an earlier
// one asked for.
//
// How bytes become messages is the business of a splitter: lines (message_lines.h, MCP) or frames with a header
// (message_frames.h, LSP and DAP). Only so many messages wait at a time.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace rldb::protocol {

struct Message {
  std::string text;
  const char* fault = nullptr;  // what was wrong with it; then the text is lost
};

class MessageSplitter {
 public:
  virtual ~MessageSplitter() = default;
  // Appends the messages that end within these bytes.
  virtual void feed(std::string_view bytes, std::vector<Message>& out) = 0;
  // The input has ended.
  virtual void finish(std::vector<Message>& out) = 0;
};

// The thread. `take` gets each message in it (false: nobody wants more), and then `end` is called once.
class MessageThread {
 public:
  MessageThread(int fd, std::unique_ptr<MessageSplitter> splitter, std::function<bool(Message)> take,
                std::function<void()> end);
  ~MessageThread();  // waits for it; it may be waiting for input
  MessageThread(const MessageThread&) = delete;
  MessageThread& operator=(const MessageThread&) = delete;

 private:
  void read_all();

  int fd_;
  std::unique_ptr<MessageSplitter> splitter_;
  std::function<bool(Message)> take_;
  std::function<void()> end_;
  int wake_[2] = {-1, -1};  // a pipe that ends the thread
  std::thread thread_;
};

class MessageReader {
 public:
  // `look` sees each good message in the reading thread, before it waits for its turn.
  MessageReader(int fd, std::unique_ptr<MessageSplitter> splitter, std::function<void(const std::string&)> look);
  ~MessageReader();
  MessageReader(const MessageReader&) = delete;
  MessageReader& operator=(const MessageReader&) = delete;

  // Waits. nullopt: the end of the input.
  std::optional<Message> next();
  // Whether `next` would not wait, or no longer after so many seconds.
  bool is_ready(double seconds = 0);

 private:
  bool put(Message message);
  void end();

  std::function<void(const std::string&)> look_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> messages_;
  bool ended_ = false;
  bool stopped_ = false;
  MessageThread thread_;  // the last member: it uses the others
};

}  // namespace rldb::protocol
