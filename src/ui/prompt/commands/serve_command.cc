// `:serve`: the live page.
#include <charconv>

#include "rldb/source/diagnostic_screen.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/page_door.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/commands/handlers.h"

namespace rldb::ui {

namespace {

PageDoor* g_page_door = nullptr;

// nullopt: not a port.
std::optional<std::uint16_t> port_in(std::string_view text) {
  std::uint16_t port = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return port;
}

Status tell_address(Repl& repl, const PageDoor& door) {
  const std::string address = door.address();
  if (repl.wants_json()) return repl.give({{"address", or_null(address)}});
  if (address.empty())
    repl.print("no page is served\n");
  else
    repl.print("the page of this session: {}\n", address);
  return Status::Good;
}

}  // namespace

PageDoor* page_door() { return g_page_door; }
void set_page_door(PageDoor* door) { g_page_door = door; }

Status command_Serve(Repl& repl, std::string_view rest) {
  const auto port = rest.empty() ? std::uint16_t(0) : port_in(rest);
  if (!port && rest != "off") return Status::Usage;
  PageDoor* door = page_door();
  if (!door) return repl.fail(source::message(diag::NoPage));
  if (rest == "off") {
    door->close();
    return tell_address(repl, *door);
  }
  std::string why;
  if (door->address().empty() && !door->open(repl, *port, why))
    return repl.fail(source::message(diag::PageNotServed, *port, why));
  return tell_address(repl, *door);
}

}  // namespace rldb::ui
