// Requests that are waiting or being answered, seen from two threads: the one that reads may cancel the one that works.
//
// A request is given up when the client cancels it, and when a later change of its document has already arrived: its
// answer would be about a text that the client no longer shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "protocol/json_rpc.h"

namespace rldb::protocol::lsp {

class Traffic {
 public:
  enum class Fate : std::uint8_t { Goes, Cancelled, Stale };

  // In the thread that reads: each message as it arrives. Work in the background gives way to any.
  void look(const std::string& text);

  // In the thread that works. `uri`: the document that the request is about; empty: none.
  Fate begin(const Json& id, const std::string& uri);
  Fate end();  // Goes: nobody gave it up on the way
  // A notification of a change that is about to be applied.
  void apply(const std::string& text, const std::string& uri);
  void set_background(bool on);

 private:
  std::mutex mutex_;
  bool working_ = false;
  bool background_ = false;
  Fate fate_ = Fate::Goes;
  Json id_;
  std::string uri_;
  std::deque<Json> cancelled_;                  // before their turn
  std::map<std::string, std::size_t> waiting_;  // changes that have arrived and were not applied, by document
};

}  // namespace rldb::protocol::lsp
