// Bounds of JSON texts, and the parser's iterator.
#include "rldb/support/json_document.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "rldb/support/cancel.h"
#include "rldb/support/memory.h"

namespace rldb::support {

namespace {

// Calls `visit` for each character outside of strings.
template <class Visit>
void outside_strings(std::string_view text, const Visit& visit) {
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\')
      ++i;
    else if (c == '"')
      in_string = !in_string;
    else if (!in_string)
      visit(c);
  }
}

// Ends when the work is cancelled.
struct Reading {
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = const char*;
  using reference = const char&;
  using iterator_category = std::forward_iterator_tag;

  const char* at = nullptr;
  reference operator*() const { return *at; }
  Reading& operator++() {
    ++at;
    return *this;
  }
  Reading operator++(int) { return {at++}; }
  bool operator==(const Reading& end) const { return at == end.at || cancel_flag().load(std::memory_order_relaxed); }
};

}  // namespace

int json_nesting(std::string_view text) {
  int depth = 0, deepest = 0;
  outside_strings(text, [&](char c) {
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if (c == ']' || c == '}') --depth;
  });
  return deepest;
}

// Each value follows a bracket, a comma or the beginning. It may have a node of an object with its key, storage of its
// own, and places in an array that grows and in the list of what is to be freed.
std::uint64_t most_json_memory(std::string_view text) {
  constexpr std::uint64_t kOfValue = 256;
  std::uint64_t values = 1;
  outside_strings(text, [&](char c) { values += c == '[' || c == '{' || c == ','; });
  return kOfValue * values + 2 * text.size();
}

JsonDocument::~JsonDocument() {
  const MemoryLimitExempt exempt;
  value_ = nullptr;
}

std::string_view to_string(JsonProblem problem) {
  switch (problem) {
    case JsonProblem::TooDeep:
      return "it is nested too deeply";
    case JsonProblem::TooLarge:
      return "it needs more memory than is left";
    case JsonProblem::NotJson:
      break;
  }
  return "it is not JSON";
}

Result<JsonDocument, JsonProblem> read_json(std::string_view text, int deepest) {
  if (json_nesting(text) > deepest) return Failure(JsonProblem::TooDeep);
  poll();
  const std::size_t used = memory_in_use();
  if (used > memory_limit() || most_json_memory(text) > memory_limit() - used) return Failure(JsonProblem::TooLarge);
  JsonDocument made = [&] {
    const MemoryLimitExempt exempt;
    return JsonDocument(
        nlohmann::json::parse(Reading{text.data()}, Reading{text.data() + text.size()}, nullptr, false));
  }();
  poll();
  if (made->is_discarded()) return Failure(JsonProblem::NotJson);
  return made;
}

}  // namespace rldb::support
