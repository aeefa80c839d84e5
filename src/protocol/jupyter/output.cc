// Pieces of output as messages of Jupyter: streams, displays, the result.
#include "protocol/jupyter/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "protocol/jupyter/wire.h"
#include "rldb/ui/prompt/session_page.h"
#include "rldb/ui/render/page.h"

namespace rldb::protocol::jupyter {

namespace {

using ui::OutputKind;
using ui::OutputPiece;

constexpr std::size_t kMaxCellBytes = std::size_t(32) << 20;
constexpr std::string_view kStandardOutput = "stdout", kStandardError = "stderr";

bool is_stream(OutputKind kind) {
  switch (kind) {
    case OutputKind::Text:
    case OutputKind::Error:
      return true;
    case OutputKind::Script:
    case OutputKind::Source:
    case OutputKind::Diff:
    case OutputKind::Picture:
    case OutputKind::Value:
      return false;
  }
  return true;
}

// A listing is written line by line.
bool continues(const OutputPiece& piece, const OutputPiece& held) {
  return piece.kind == held.kind &&
         (piece.kind == OutputKind::Error || piece.kind == OutputKind::Script || piece.kind == OutputKind::Source);
}

std::string_view stream_of(OutputKind kind) { return kind == OutputKind::Error ? kStandardError : kStandardOutput; }

}  // namespace

std::string CellOutput::bounded(std::string_view text) {
  const std::size_t left = kMaxCellBytes - std::min(sent_, kMaxCellBytes);
  const std::size_t bytes = std::min({text.size(), kMaxTextBytes, left});
  sent_ += bytes;
  std::string out(text.substr(0, bytes));
  if (bytes < text.size()) out += fmt::format("\n... {} bytes were left out\n", text.size() - bytes);
  return out;
}

void CellOutput::send_stream(std::string_view name, std::string_view text) {
  if (!text.empty() && sent_ < kMaxCellBytes) publish_("stream", {{"name", name}, {"text", bounded(text)}});
}

Json CellOutput::bundle(const Held& held) {
  Json data = Json::object();
  if (!held.text.empty()) data["text/plain"] = bounded(ui::without_colors(held.text));
  if (held.piece.text.size() > kMaxTextBytes || sent_ >= kMaxCellBytes) return data;
  if (held.piece.kind == OutputKind::Picture)
    data["image/svg+xml"] = held.piece.text;
  else
    data["text/html"] = ui::page_fragment(ui::piece_html(held.piece, ++pictures_));
  sent_ += held.piece.text.size();
  return data;
}

void CellOutput::send(const Held& held) {
  if (is_stream(held.piece.kind)) return send_stream(stream_of(held.piece.kind), held.text);
  publish_("display_data", {{"data", bundle(held)}, {"metadata", Json::object()}});
}

void CellOutput::take(const OutputPiece& piece, std::string_view text) {
  if (held_ && continues(piece, held_->piece)) {
    held_->piece.text += piece.text;
    held_->text += text;
    return;
  }
  if (held_) send(*std::exchange(held_, std::nullopt));
  if (piece.kind == OutputKind::Text) return send_stream(kStandardOutput, text);
  held_ = Held{piece, std::string(text)};
}

std::string CellOutput::finish(bool failed) {
  if (!held_) return {};
  const Held last = *std::exchange(held_, std::nullopt);
  if (failed && last.piece.kind == OutputKind::Error) return last.text;
  if (last.piece.kind != OutputKind::Value) {
    send(last);
    return {};
  }
  Json data = bundle(last);
  result_ = text_in(data, "text/plain");
  publish_("execute_result", {{"data", std::move(data)}, {"metadata", Json::object()}, {"execution_count", count_}});
  return {};
}

}  // namespace rldb::protocol::jupyter
