// PageDoor: the live page as the prompt knows it: the server is a room above.
//
// A process has at most one, which the program sets before the prompt begins; without one `:serve` is refused. Requests
// wait until the prompt lets them in, between two entries, so that the page and the terminal never work at once.
#pragma once

#include <cstdint>
#include <string>

#include "rldb/ui/prompt/command.h"

namespace rldb::ui {

class PageDoor {
 public:
  virtual ~PageDoor() = default;
  // Port 0: a free one. False: `why` is the reason.
  virtual bool open(Repl& repl, std::uint16_t port, std::string& why) = 0;
  virtual void close() = 0;
  // The address with its token; empty: closed.
  virtual std::string address() const = 0;
  // Can be read while requests wait; -1: closed.
  virtual int descriptor() const = 0;
  // Answers them. Quit: the page ended the session.
  virtual Status let_in() = 0;
  // An entry of the terminal begins, or has ended: the page looks again.
  virtual void entry_begins() = 0;
  virtual void entry_ended() = 0;
};

PageDoor* page_door();
void set_page_door(PageDoor* door);

}  // namespace rldb::ui
