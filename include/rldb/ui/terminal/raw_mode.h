// RawMode: while an object lives, the terminal delivers each key at once and echoes none. ^C, ^Z and ^\ remain signals.
// The previous modes are restored on every exit that a process can catch, including a crash.
//
// Screen mode holds one for as long as it is on, and the line editor one for each entry: the terminal is raw while any
// exists, and restored when the last is destroyed.
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
  // Back to the previous modes for a while; then raw again, starting from the modes in effect at that time.
  void leave();
  void enter();
  // Switches bracketed paste off, before the program writes.
  void end_pastes();

 private:
  bool paste_;
  bool on_ = false;
};

// While it lives, the terminal has its previous modes, for programs other than the editor.
class CookedMode {
 public:
  explicit CookedMode(RawMode& raw) : raw_(raw) { raw_.leave(); }
  ~CookedMode() { raw_.enter(); }
  CookedMode(const CookedMode&) = delete;
  CookedMode& operator=(const CookedMode&) = delete;

 private:
  RawMode& raw_;
};

// While it lives, ^C is a key like the others, in their order. As a signal it has no place among the keys: one read
// just as it arrives could be older or newer. It has to live as long as keys are read, not only during each read: the
// kernel gives up its lock on the terminal within its handling of the signal, so that a change of the modes, and a read
// after it, may come between a ^C that is already a signal and its arrival.
class InterruptAsKey {
 public:
  InterruptAsKey();
  ~InterruptAsKey();
  InterruptAsKey(const InterruptAsKey&) = delete;
  InterruptAsKey& operator=(const InterruptAsKey&) = delete;
  static bool is(char key);
};

// The terminal's alternate screen. Leaving it restores the normal screen; a crash leaves it too.
void show_alternate_screen();
void leave_alternate_screen();

// While an entry is executed in screen mode: ^Z restores the terminal until the process continues. At the prompt the
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

// The process was stopped and continued: the contents of the alternate screen are lost.
bool take_screen_lost();
// Stops the process as `signal` does by default, and returns when it continues. For callers with SIGCONT blocked: does
// nothing if one is pending, since nobody would send it again.
void stop_process(int signal);
// Called from a signal handler, before the process ends.
void restore_terminal();

}  // namespace rldb::ui
