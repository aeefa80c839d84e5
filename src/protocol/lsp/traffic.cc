// Messages that arrive while a request is answered.
#include "protocol/lsp/traffic.h"

#include <algorithm>

#include "protocol/lsp/params.h"
#include "rldb/support/cancel.h"

namespace rldb::protocol::lsp {

namespace {

constexpr std::size_t kMaxCancelled = 64;
// A change that brings a whole text is not looked at before its turn: reading it twice costs more than it saves.
constexpr std::size_t kMaxLook = std::size_t(64) << 10;

bool may_be_change(const std::string& text) {
  return text.size() <= kMaxLook && text.find("textDocument/didChange") != std::string::npos;
}

}  // namespace

void Traffic::look(const std::string& text) {
  const bool change = may_be_change(text);
  const bool cancel = text.size() <= kMaxLook && text.find("$/cancelRequest") != std::string::npos;
  std::optional<Request> request;
  if (change || cancel) {
    Json ignored;
    if (auto read = read_request(text, ignored); read.ok()) request = std::move(*read);
  }
  const std::lock_guard lock(mutex_);
  if (background_) support::request_cancel(support::CancelCause::Interrupt);
  if (!request) return;
  if (request->method == "$/cancelRequest") {
    const Json* id = find(request->params, {"id"});
    if (!id || !(id->is_number() || id->is_string())) return;
    if (working_ && id_ == *id) {
      fate_ = Fate::Cancelled;
      return support::request_cancel(support::CancelCause::Interrupt);
    }
    if (cancelled_.size() == kMaxCancelled) cancelled_.pop_front();  // of requests that were answered long ago
    cancelled_.push_back(*id);
  } else if (request->method == "textDocument/didChange" && !request->id) {
    const std::string uri = text_at(request->params, {"textDocument", "uri"});
    ++waiting_[uri];
    if (working_ && fate_ == Fate::Goes && uri == uri_ && !uri.empty()) {
      fate_ = Fate::Stale;
      support::request_cancel(support::CancelCause::Interrupt);
    }
  }
}

Traffic::Fate Traffic::begin(const Json& id, const std::string& uri) {
  const std::lock_guard lock(mutex_);
  const auto before = std::find(cancelled_.begin(), cancelled_.end(), id);
  if (before != cancelled_.end()) {
    cancelled_.erase(before);
    return Fate::Cancelled;
  }
  const auto change = waiting_.find(uri);
  if (!uri.empty() && change != waiting_.end() && change->second > 0) return Fate::Stale;
  working_ = true;
  fate_ = Fate::Goes;
  id_ = id;
  uri_ = uri;
  return Fate::Goes;
}

Traffic::Fate Traffic::end() {
  const std::lock_guard lock(mutex_);
  working_ = false;
  support::clear_cancel();
  return fate_;
}

void Traffic::apply(const std::string& text, const std::string& uri) {
  if (!may_be_change(text)) return;
  const std::lock_guard lock(mutex_);
  const auto change = waiting_.find(uri);
  if (change != waiting_.end() && --change->second == 0) waiting_.erase(change);
}

void Traffic::set_background(bool on) {
  const std::lock_guard lock(mutex_);
  background_ = on;
  if (!on) support::clear_cancel();
}

}  // namespace rldb::protocol::lsp
