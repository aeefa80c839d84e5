// Text written to the process's standard output and error by others than the session (a shell, a library, a kernel of
// a plug-in): in a notebook it belongs to the cell that is executed, in an editor to the console of its debugger.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace rldb::protocol {

// A copy of the standard input for the messages of a protocol, which nobody else may read: from then on commands of a
// shell have none.
int take_standard_input();
// The same for output: from then on others write to the standard error.
int take_standard_output();

class StandardStreams {
 public:
  // `seen` is called with the name of a stream and its text, by a thread of its own or by `drain`, never by both at
  // once.
  using Seen = std::function<void(std::string_view name, std::string_view text)>;
  explicit StandardStreams(Seen seen);
  // Both streams are as they were before.
  ~StandardStreams();
  StandardStreams(const StandardStreams&) = delete;
  StandardStreams& operator=(const StandardStreams&) = delete;

  // All that was written before the call has been seen after it.
  void drain();

 private:
  struct Stream {
    int descriptor;
    std::string_view name;
    int before = -1;  // a copy of the descriptor
    int pipe = -1;    // its reading end
  };
  void redirect(Stream& stream);
  void read_all();
  void take(const Stream& stream);

  Seen seen_;
  std::mutex mutex_;
  Stream streams_[2] = {{1, "stdout"}, {2, "stderr"}};
  int wake_[2] = {-1, -1};  // a pipe that ends the thread
  std::thread thread_;
};

}  // namespace rldb::protocol
