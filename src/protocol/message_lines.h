// Messages that are lines of a file descriptor, read by a thread of their own, so that a message can cancel the work
// that an earlier one asked for.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace rldb::protocol {

class MessageLines {
 public:
  // `look` sees each line in the reading thread, before the line waits for its turn. Lines longer than `limit` lose
  // their text. Only so many lines wait at a time.
  MessageLines(int fd, std::size_t limit, std::function<void(const std::string&)> look);
  ~MessageLines();
  MessageLines(const MessageLines&) = delete;
  MessageLines& operator=(const MessageLines&) = delete;

  struct Line {
    std::string text;
    bool too_long = false;
  };
  // Waits. nullopt: the end of the input.
  std::optional<Line> next();

 private:
  void read_all();
  bool put(Line line);
  void add(Line& line, char c);

  int fd_;
  std::size_t limit_;
  std::function<void(const std::string&)> look_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Line> lines_;
  bool ended_ = false;
  bool stopped_ = false;
  int wake_[2] = {-1, -1};  // a pipe that ends the thread
  std::thread thread_;
};

}  // namespace rldb::protocol
