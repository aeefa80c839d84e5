// ClientConsole: what the program and the prompt write, as output events.
//
// While it is held, text and errors are kept for whoever asked for them. Work that takes a while is shown as progress
// that the client can cancel.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "protocol/dap/message.h"
#include "rldb/ui/terminal/console.h"

namespace rldb::protocol::dap {

class ClientConsole : public ui::Console {
 public:
  explicit ClientConsole(Channel& channel) : channel_(channel) {}

  void write(std::string_view text) override;
  void error(std::string_view text) override;
  void doing(std::string_view what) override;

  // `console`: replies of the prompt; `stdout`: output of the program.
  void set_category(std::string_view category) { category_ = category; }
  void set_progress(bool on) { progress_ = on; }
  // The work of a request begins, and ends.
  void begin_work() { began_ = std::chrono::steady_clock::now(); }
  void end_work();
  void hold() { held_ = true; }
  struct Held {
    std::string text, errors;
  };
  Held release();
  // Errors alone.
  void hold_errors() { errors_held_ = true; }
  std::string release_errors();

 private:
  static constexpr std::size_t kMostHeld = std::size_t(1) << 20;
  Channel& channel_;
  std::string category_ = "stdout";
  Held kept_;
  bool held_ = false, errors_held_ = false;
  bool progress_ = false;
  std::chrono::steady_clock::time_point began_{}, told_{};
  int progress_id_ = 0;  // of the work that is shown; 0: none
  int next_progress_ = 1;
};

}  // namespace rldb::protocol::dap
