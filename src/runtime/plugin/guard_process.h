// A fork of this process that answers over a socket, and the memory that both share. Room-private.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/runtime/isolate.h"

namespace rldb::runtime {

enum class Word : std::uint8_t {
  Call,    // to the guard: the request
  Output,  // from the guard: text that the program prints
  Done,    // from the guard: the result
  Failed,  // from the guard: an Error
};

// Messages over one end of a socket.
class Channel {
 public:
  // `peer`: the child at the other end, 0 if it is the parent. Its own children may keep its end open: the channel ends
  // with the child.
  explicit Channel(int fd, pid_t peer = 0) : fd_(fd), peer_(peer) {}
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  bool send(Word word, std::string_view payload);
  enum class Got : std::uint8_t { Message, End, Interrupted };
  // Waits; aborts when `interrupt` is set. A message that no correct peer sends counts as the end.
  Got receive(Word& word, std::string& payload, const std::atomic<bool>* interrupt);
  int fd() const { return fd_; }
  bool peer_has_ended() const;

 private:
  bool read_all(void* to, std::size_t bytes, const std::atomic<bool>* interrupt, bool& interrupted);
  int fd_;
  pid_t peer_;
};

// Bytes at the same place in two processes. The owner creates it before the fork.
class SharedMemory {
 public:
  static Result<std::unique_ptr<SharedMemory>> create();
  ~SharedMemory();
  // The first `bytes` of it, mapped until the next map or unmap. This process grows it; a guard finds it large enough.
  Result<std::byte*> map(std::size_t bytes);
  // Returns the memory to the system.
  void unmap();
  int fd() const { return fd_; }

 private:
  SharedMemory(int fd, int owner) : fd_(fd), owner_(owner) {}
  int fd_;
  int owner_;  // pid of the process that created it
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

class GuardProcess {
 public:
  using Body = std::function<void(Channel&)>;
  // Runs `body` in the guard, which ends with it. `keep`: descriptors that a long-lived guard keeps; those that
  // it would hold open for others (locks, pipes) are closed. Empty: a short-lived guard, nothing is closed.
  static Result<std::unique_ptr<GuardProcess>> start(const Body& body, std::vector<int> keep = {});
  ~GuardProcess();  // ends it

  Channel& channel() { return *channel_; }
  bool has_ended() const { return channel_->peer_has_ended(); }
  // Ends it if it has not ended, and tells how it ended, e.g. "crashed with SIGSEGV (...)".
  std::string end();

 private:
  GuardProcess(pid_t pid, int fd) : pid_(pid), channel_(std::make_unique<Channel>(fd, pid)) {}
  pid_t pid_;
  std::unique_ptr<Channel> channel_;
};

bool in_guard_process();

// Passes the guard's output on until its answer arrives. An error that the guard reports, its death (which names
// `what`) and ^C are Errors; after the latter two the guard has ended.
Result<std::string> await_answer(std::unique_ptr<GuardProcess>& guard, const Isolation& isolation,
                                 std::string_view what);
void send_error(Channel& channel, const Error& error);

// While it lives, programs' output goes to the other end of the channel.
class OutputRelay : public Output {
 public:
  OutputRelay(Channel& channel, const Isolation& isolation) : channel_(channel) {
    if (isolation.output) *isolation.output = this;
  }
  void write(std::string_view text) override { channel_.send(Word::Output, text); }

 private:
  Channel& channel_;
};

// The storages of a call's arguments, of those in tuples and maps too: one range per storage, so that aliases stay
// aliases.
class SharedRanges {
 public:
  struct Range {
    Ref<Storage> storage;
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t at = 0;  // in the shared memory
  };
  explicit SharedRanges(PackedArgs args);
  std::size_t bytes() const { return bytes_; }
  const std::vector<Range>& ranges() const { return ranges_; }
  std::size_t index_of(const Storage* storage) const;
  void copy_to(std::byte* shared) const;
  void copy_from(const std::byte* shared) const;

 private:
  void collect(const Value& v, int depth);
  void add(Ref<Storage> storage, std::size_t begin, std::size_t end);
  std::vector<Range> ranges_;
  std::size_t bytes_ = 0;
};

}  // namespace rldb::runtime
