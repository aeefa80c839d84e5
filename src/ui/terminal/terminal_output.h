// Writes of the line editor, of screen mode and of the progress line to the terminal of standard output.
//
// Uses its own non-blocking descriptor: on ^C the kernel empties the terminal's queues without waking a write that
// waits for room in them, and the prompt (where signals are blocked) would wait for ever. The descriptor of standard
// output itself is shared with other processes and is not changed. Linux: isig() and pty_flush_buffer().
#pragma once

#include <string_view>

namespace rldb::ui {

// Waits until the terminal has taken all of it, or is closed, which is noticed where keys are read. May be called from
// a signal handler.
void write_terminal(std::string_view bytes);

}  // namespace rldb::ui
