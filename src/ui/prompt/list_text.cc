#include "ui/prompt/list_text.h"

#include "rldb/ui/prompt/state.h"
#include "rldb/ui/render/wrap.h"
#include "rldb/ui/terminal/window_size.h"

namespace rldb::ui {

std::size_t columns_of_reader(const Repl& repl) {
  return repl.ask ? std::size_t(window_size().width) : std::size_t(-1);
}

void print_item(Repl& repl, std::string_view head, std::string_view text) {
  repl.print("{}\n", wrapped(head, text, columns_of_reader(repl)));
}

}  // namespace rldb::ui
