// One process of the partner's command: its pipes, its limits, what it has written. Room-private, used by the broker.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "rldb/repro/partner.h"

namespace rldb::repro {

class PartnerProcess {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State { None, Starting, Idle, Busy };

  explicit PartnerProcess(const PartnerOptions& options) : options_(options) {}
  ~PartnerProcess() { stop(); }
  PartnerProcess(PartnerProcess&& other) noexcept = delete;
  PartnerProcess& operator=(PartnerProcess&&) = delete;

  State state() const { return state_; }
  int out() const { return out_; }
  int errors() const { return errors_; }
  Clock::time_point deadline() const { return deadline_; }

  // Empty, or why it could not be started.
  std::string begin();
  // A request, with its line break. False: it does not read.
  bool give(const std::string& line);
  // Reads what has been written. The line that is complete, or nullopt. `ended`: there will be none.
  std::optional<std::string> hear(bool& ended);
  void hear_errors();
  void greeted() { state_ = State::Idle; }
  // Waits for a process that has closed its output, and kills one that has not ended.
  struct End {
    int signal = 0, code = 0;
    std::string last_line;  // of its error stream
  };
  End stop();

 private:
  [[noreturn]] void be_command(int in, int out, int errors) const;

  const PartnerOptions& options_;
  State state_ = State::None;
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, errors_ = -1;
  std::string said_, error_text_;
  Clock::time_point deadline_;
};

}  // namespace rldb::repro
