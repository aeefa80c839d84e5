// When the live page is let in: between two entries, beside the keys of a terminal or instead of them.
#pragma once

#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

// The watched file and the page as one descriptor, for which a prompt waits beside its keys.
class OtherInput {
 public:
  explicit OtherInput(Repl& repl) : repl_(repl) {}
  ~OtherInput();
  OtherInput(const OtherInput&) = delete;
  OtherInput& operator=(const OtherInput&) = delete;
  // -1: there is nothing to wait for.
  int descriptor();
  // Does the work of whatever has come.
  void take();

 private:
  Repl& repl_;
  int both_ = -1;  // an epoll descriptor over the two
};

// Tells the page when an entry of the terminal begins and ends.
class EntryForPage {
 public:
  EntryForPage();
  ~EntryForPage();
  EntryForPage(const EntryForPage&) = delete;
  EntryForPage& operator=(const EntryForPage&) = delete;
};

// A session without a terminal whose input has ended: until ^C, `:serve off` or the page's `quit`. Does nothing if no
// page is served.
void serve_until_interrupted(Repl& repl);

}  // namespace rldb::ui
