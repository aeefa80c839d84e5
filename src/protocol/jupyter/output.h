// The output of a cell as messages for its client: text as streams, values, listings, differences and pictures as HTML
// or SVG beside their text.
//
// The last piece is held back: a value at the end is the result of the cell, and diagnostics at the end of a cell that
// failed are its error.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/json_rpc.h"
#include "rldb/ui/prompt/record.h"

namespace rldb::protocol::jupyter {

using Publish = std::function<void(std::string_view type, Json content)>;

// The most that is sent of one text. The rest is cut off, which the text says: notebooks keep what they were sent.
constexpr std::size_t kMaxTextBytes = std::size_t(1) << 20;

class CellOutput {
 public:
  // `count`: the number of the cell, for its result.
  CellOutput(Publish publish, std::size_t count) : publish_(std::move(publish)), count_(count) {}

  // `text`: as the terminal shows it; empty: it does not.
  void take(const ui::OutputPiece& piece, std::string_view text);
  // The diagnostics that ended a failed cell.
  std::string finish(bool failed);
  // The result as text; empty: the cell has none.
  const std::string& result() const { return result_; }

 private:
  struct Held {
    ui::OutputPiece piece;
    std::string text;
  };
  void send(const Held& held);
  void send_stream(std::string_view name, std::string_view text);
  std::string bounded(std::string_view text);
  Json bundle(const Held& held);

  Publish publish_;
  std::size_t count_;
  std::size_t pictures_ = 0;
  std::size_t sent_ = 0;
  std::optional<Held> held_;
  std::string result_;
};

}  // namespace rldb::protocol::jupyter
