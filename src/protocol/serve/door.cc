// The live page's door: a listener and the answers of one session.
#include <fmt/format.h>

#include <utility>

#include "protocol/serve/answers.h"
#include "protocol/serve/listener.h"
#include "rldb/protocol/live_page.h"
#include "rldb/support/memory.h"
#include "rldb/ui/page/document.h"

namespace rldb::protocol {

namespace {

class Door : public ui::PageDoor {
 public:
  bool open(ui::Repl& repl, std::uint16_t port, std::string& why) override {
    // Closed by the same request: then it stays as it is.
    if (std::exchange(closing_, false)) return true;
    auto listener = Listener::open(port, ui::random_word(), why);
    if (!listener) return false;
    listener_ = std::move(listener);
    answers_ = std::make_unique<Answers>(repl);
    return true;
  }
  // Not at once: the request that asks for it is still to be answered.
  void close() override { closing_ = true; }
  std::string address() const override {
    if (!listener_ || closing_) return {};
    return fmt::format("http://127.0.0.1:{}/{}/", listener_->port(), listener_->token());
  }
  int descriptor() const override { return listener_ ? listener_->descriptor() : -1; }

  ui::Status let_in() override {
    while (auto waiting = listener_ ? listener_->take() : std::nullopt) {
      const bool works = waiting->request.method == "POST";
      listener_->set_working(works);
      const HttpResponse response = answers_->answer(waiting->request);
      listener_->set_working(false);
      {
        const support::MemoryLimitExempt exempt;  // nothing catches it at this point
        listener_->answer(waiting->connection, response);
      }
      if (works) tell();
      if (answers_->take_quit()) return ui::Status::Quit;
      end_if_closed();
    }
    return ui::Status::Good;
  }
  void entry_begins() override {
    if (listener_) listener_->set_working(true);
  }
  void entry_ended() override {
    if (!listener_) return;
    listener_->set_working(false);
    answers_->changed();
    tell();
    end_if_closed();
  }

 private:
  void tell() { listener_->tell(fmt::format("{}", answers_->revision())); }
  void end_if_closed() {
    if (!closing_) return;
    closing_ = false;
    listener_ = nullptr;
    answers_ = nullptr;
  }

  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Answers> answers_;
  bool closing_ = false;
};

}  // namespace

std::unique_ptr<ui::PageDoor> make_page_door() { return std::make_unique<Door>(); }

}  // namespace rldb::protocol
