// The kernel of notebooks without sockets: frames in, frames out. Used by its fuzz target; the program runs the kernel
// on sockets (`rldb jupyter`).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::protocol {

class NotebookKernel {
 public:
  using Frames = std::vector<std::string>;  // of one message, as docs/protocol.md names their source

  // Messages are signed with the key; an empty one: they are not. `timeout`: seconds for a cell.
  NotebookKernel(std::string key, double timeout);
  ~NotebookKernel();
  NotebookKernel(const NotebookKernel&) = delete;
  NotebookKernel& operator=(const NotebookKernel&) = delete;

  // A request; `content` is a JSON object.
  Frames request(std::string_view type, std::string_view content) const;
  // The reply. Empty: these are no message of a client that knows the key, or none that is known.
  Frames answer(const Frames& frames);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rldb::protocol
