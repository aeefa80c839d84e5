#include "rldb/session/value_text.h"

#include <fmt/format.h>

#include "rldb/onnx/model.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/support/file.h"

namespace rldb::session {

runtime::Result<runtime::Value> value_of_text(std::string_view text) {
  if (!text.starts_with('@') || !text.ends_with(".pb")) return runtime::parse_value_literal(text);
  const std::string path(text.substr(1));
  const auto fails = [&](std::string why) {
    return runtime::fail(runtime::ErrorKind::BadFile, fmt::format("`{}`: {}", path, why));
  };
  const auto bytes = support::read_file(path, source::kMaxBytes);
  if (!bytes.ok()) return fails(bytes.error().reason);
  auto value = onnx::read_tensor(*bytes);
  if (!value.ok()) return fails(value.error().text);
  return std::move(value).value();
}

}  // namespace rldb::session
