// RawMode: the terminal gives every key at once and echoes none, for as long as an object lives. ^C, ^Z and ^\ stay
// signals. The terminal is as it was before after every end that a process can see: also when it crashes.
#pragma once

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

}  // namespace rldb::ui
