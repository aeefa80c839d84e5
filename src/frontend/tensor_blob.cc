#include "frontend/tensor_blob.h"

#include "rldb/runtime/tensor_blob.h"
#include "rldb/support/base64.h"

namespace rldb::frontend {

std::optional<runtime::Value> tensor_of_base64(std::string_view text, std::string& why) {
  const auto bytes = support::decode_base64(text);
  if (!bytes) {
    why = "a tensor is not in base64";
    return std::nullopt;
  }
  support::ByteReader in(*bytes);
  const auto tensor = runtime::read_tensor(in);
  if (tensor) return runtime::Value(*tensor);
  why = "a tensor is damaged at " + in.error();
  return std::nullopt;
}

}  // namespace rldb::frontend
