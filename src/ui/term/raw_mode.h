// RawMode: the terminal gives every key at once and echoes none, for as long as an object lives. ^C, ^Z and ^\ stay
// signals. The terminal is as it was before after every end that a process can see: also when it crashes.
//
// Screen mode holds one for as long as it is on, and the line editor one for each entry: the terminal is raw while
// there is any, and as it was when all have left.
#pragma once

#include <signal.h>
#include <termios.h>

namespace rldb::ui {

class RawMode {
 public:
  explicit RawMode(bool bracketed_paste);
  ~RawMode();
  RawMode(const RawMode&) = delete;
  RawMode& operator=(const RawMode&) = delete;
  // As it was before, for a while; and raw again, from the modes that are found then.
  void leave();
  void enter();
  // Pastes come as keys again; what is written after this is the program's.
  void end_pastes();

 private:
  bool paste_;
  bool on_ = false;
};

// While it lives, work that is not the editor's has the terminal as it was.
class CookedMode {
 public:
  explicit CookedMode(RawMode& raw) : raw_(raw) { raw_.leave(); }
  ~CookedMode() { raw_.enter(); }
  CookedMode(const CookedMode&) = delete;
  CookedMode& operator=(const CookedMode&) = delete;

 private:
  RawMode& raw_;
};

// The terminal's second screen; what stood on the first one comes back when it is left, which a crash does too.
void show_alternate_screen();
void leave_alternate_screen();

// While an entry is worked on in screen mode: ^Z gives the terminal back until the process goes on. At the prompt the
// editor does that.
class StopsInWork {
 public:
  StopsInWork();
  ~StopsInWork();
  StopsInWork(const StopsInWork&) = delete;
  StopsInWork& operator=(const StopsInWork&) = delete;

 private:
  struct sigaction before_;
};

// The process was stopped and went on: what stood on the second screen is gone.
bool take_screen_lost();
// From a signal handler, before the process ends.
void restore_terminal();

}  // namespace rldb::ui
