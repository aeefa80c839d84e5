// Guarded work: an entry of the prompt or a batch command may be cancelled (^C, a time limit), run out of memory, or
// meet a bug in rldb. Then the work is abandoned with a report; everything from before it is still there.
//
// Rooms throw support::Cancelled, std::bad_alloc and support::InternalError across their interfaces for this; nothing
// else catches them. Used by main (batch commands), the prompt (each entry), `rldb check` (each file).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rldb/source/diagnostic.h"

namespace rldb::ui {

// How work ended that did not return normally.
struct Abandoned {
  source::Message message;
  int exit_code;          // kTimeout, kFailed, kInternal, 128 + SIGINT
  bool internal = false;  // a bug: the caller, which knows the program, writes a report
};

// Clears an old cancellation first, then does the work. Afterwards nothing is cancelled; support::cancel_cause() tells
// the cause, even if the work returned normally. `seconds` is a time limit, 0: none; it stops the work in order where
// it can. With `exit_when_stuck` the process ends with kTimeout when the work does not stop within two seconds.
std::optional<Abandoned> run_guarded(const std::function<void()>& work, double seconds, bool exit_when_stuck = false);

// ^C requests cancellation. In a batch command a second ^C ends the process.
void install_interrupt(bool second_ends);

// "2G", "512M", "64K", "1000000". Empty optional: not a size.
std::optional<std::size_t> parse_size(std::string_view text);
std::string size_text(std::size_t bytes);

}  // namespace rldb::ui
