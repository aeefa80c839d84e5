// The prompt's wait for the live page.
#include "ui/prompt/page_visits.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "rldb/ui/prompt/page_door.h"
#include "rldb/ui/terminal/guarded.h"
#include "rldb/ui/terminal/interrupt_pipe.h"

namespace rldb::ui {

namespace {

bool is_open(const PageDoor* door) { return door && !door->address().empty(); }

void wait_for_too(int both, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  (void)::epoll_ctl(both, EPOLL_CTL_ADD, fd, &event);
}

}  // namespace

OtherInput::~OtherInput() {
  if (both_ >= 0) ::close(both_);
}

int OtherInput::descriptor() {
  const int file = repl_.file_watch ? repl_.file_watch->descriptor() : -1;
  const int page = is_open(page_door()) ? page_door()->descriptor() : -1;
  if (file < 0 || page < 0) return file < 0 ? page : file;
  // Made anew for each wait: a descriptor that was closed is no longer in it, even if a new one has the same number.
  if (both_ >= 0) ::close(both_);
  both_ = ::epoll_create1(EPOLL_CLOEXEC);
  wait_for_too(both_, file);
  wait_for_too(both_, page);
  return both_;
}

void OtherInput::take() {
  (void)run_guarded([&] { repl_.follow_written_file(); }, 0);
  if (!is_open(page_door())) return;
  if (page_door()->let_in() == Status::Quit) repl_.print("note: the page said `quit`; `:quit` here ends the session\n");
}

EntryForPage::EntryForPage() {
  if (PageDoor* door = page_door()) door->entry_begins();
}
EntryForPage::~EntryForPage() {
  if (PageDoor* door = page_door()) door->entry_ended();
}

void serve_until_interrupted(Repl& repl) {
  PageDoor* door = page_door();
  if (!is_open(door)) return;
  door->entry_ended();
  const InterruptPipe interrupt;
  repl.console().error("serving " + door->address() + " until ^C\n");
  while (is_open(door) && interrupt.wait_for(door->descriptor()))
    if (door->let_in() == Status::Quit) return;
}

}  // namespace rldb::ui
