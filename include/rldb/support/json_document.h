// JSON texts from outside, read within bounds. The JSON library does not survive an exception while it builds or frees
// a document, so that the memory limit and ^C must not throw there: nesting and memory are bounded before, and a
// cancelled reading ends like a text that is cut off. Users: protocol (nesting), tensor files, onnx, metadata of
// modules and of plugins, journals, recorded runs, partners.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "rldb/support/result.h"

namespace rldb::support {

// Arrays and objects inside each other; brackets in strings do not count. Any text is allowed. Does not
// poll for cancellation: clients' requests are read while work is being cancelled.
int json_nesting(std::string_view text);
// More bytes than the library needs for a document of this text.
std::uint64_t most_json_memory(std::string_view text);

// Owns a document, and frees it without the memory limit.
class JsonDocument {
 public:
  explicit JsonDocument(nlohmann::json value) : value_(std::move(value)) {}
  JsonDocument(JsonDocument&& other) noexcept : value_(std::move(other.value_)) {}
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;
  JsonDocument& operator=(JsonDocument&&) = delete;
  ~JsonDocument();

  const nlohmann::json& operator*() const { return value_; }
  const nlohmann::json* operator->() const { return &value_; }

 private:
  nlohmann::json value_;
};

enum class JsonProblem : std::uint8_t { TooDeep, TooLarge, NotJson };

// Deep enough for whatever rldb or TVM writes.
inline constexpr int kUsualJsonNesting = 100;
// TooLarge: the document might exceed what is left of the memory limit. Throws Cancelled.
Result<JsonDocument, JsonProblem> read_json(std::string_view text, int deepest = kUsualJsonNesting);
// In words: `it is not JSON`.
std::string_view to_string(JsonProblem problem);

}  // namespace rldb::support
