// Offers to restore a session that was killed; the command `:resume` does it.
#pragma once

namespace rldb::ui {

class Repl;

// One line about the newest killed session. False: there is none.
bool offer_resume(Repl& repl);

}  // namespace rldb::ui
