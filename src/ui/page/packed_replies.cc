// Rows by their JSON; zlib.
#include "ui/page/packed_replies.h"

#include <zlib.h>

#include <algorithm>
#include <new>

#include "rldb/support/base64.h"
#include "rldb/support/cancel.h"

namespace rldb::ui {

namespace {

using PackedJson = nlohmann::ordered_json;

constexpr std::size_t kLineWidth = 1000;

std::string json_text(const PackedJson& json) {
  return json.dump(-1, ' ', false, PackedJson::error_handler_t::replace);
}

bool is_shared(const PackedJson& json) {
  if (!json.is_array() || json.size() < PackedReplies::kShortest) return false;
  return json.front().is_structured() || json.front().is_string();
}

std::string deflated(const std::string& text) {
  std::string out;
  z_stream stream{};
  if (deflateInit(&stream, Z_BEST_COMPRESSION) != Z_OK) throw std::bad_alloc();
  // zlib's interface takes a non-const pointer but does not write through it.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  char piece[1 << 16];
  std::size_t left = text.size();
  for (int state = Z_OK; state != Z_STREAM_END;) {
    if (support::cancel_flag()) break;  // thrown below, when zlib's memory is freed
    if (stream.avail_in == 0 && left > 0) {
      stream.avail_in = uInt(std::min(left, std::size_t(1) << 20));
      left -= stream.avail_in;
    }
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = sizeof piece;
    state = deflate(&stream, left == 0 ? Z_FINISH : Z_NO_FLUSH);
    out.append(piece, sizeof piece - stream.avail_out);
  }
  deflateEnd(&stream);
  support::poll();
  return out;
}

}  // namespace

std::size_t PackedReplies::row(const PackedJson& element) {
  const auto [at, fresh] = row_numbers_.try_emplace(json_text(element), rows_.size());
  if (fresh) rows_.push_back(&at->first);
  return at->second;
}

void PackedReplies::share(PackedJson& json) {
  if (!json.is_structured()) return;
  support::poll();
  for (PackedJson& part : json) share(part);
  if (!is_shared(json)) return;
  PackedJson runs = PackedJson::array();
  std::size_t next = 0, count = 0;
  const auto end_run = [&] {
    if (count == 0) return;
    runs.push_back(next - count);
    runs.push_back(count);
    count = 0;
  };
  for (const PackedJson& element : json) {
    const std::size_t number = row(element);
    if (number != next) end_run();
    next = number + 1;
    ++count;
  }
  end_run();
  json = PackedJson{{"~", std::move(runs)}};
}

void PackedReplies::add(const std::string& request, PackedJson reply) {
  share(reply);
  if (!replies_.empty()) replies_ += ",\n";
  replies_ += json_text(request) + ":";
  const auto [first, fresh] = requests_.try_emplace(json_text(reply), request);
  replies_ += fresh ? first->first : json_text(first->second);
}

std::string PackedReplies::json() const {
  std::string out = "{\"rows\":[";
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (i > 0) out += ",\n";
    out += *rows_[i];
  }
  return out + "],\n\"replies\":{" + replies_ + "}}";
}

std::string PackedReplies::text() const {
  const std::string digits = support::encode_base64(deflated(json()));
  std::string out;
  out.reserve(digits.size() + digits.size() / kLineWidth + 1);
  for (std::size_t at = 0; at < digits.size(); at += kLineWidth) out += digits.substr(at, kLineWidth) + "\n";
  return out;
}

}  // namespace rldb::ui
