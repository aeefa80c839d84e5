// The replies that a static page has in it, in little space: versions of a module have most of their rows in common.
//
// An element of a list of at least kShortest texts, lists or objects is stored once, as a row; the list is an object
// {"~": [first, count, ...]}, runs of rows. No reply has a member of that name. A reply that is equal to an earlier one
// is that one's request. All of it is JSON {"rows", "replies"}, deflated (zlib), in base64, which assets/10-base.js
// reads.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace rldb::ui {

class PackedReplies {
 public:
  static constexpr std::size_t kShortest = 8;

  void add(const std::string& request, nlohmann::ordered_json reply);
  // The JSON, before it is deflated.
  std::string json() const;
  // Digits of base64, in lines.
  std::string text() const;

 private:
  void share(nlohmann::ordered_json& json);
  std::size_t row(const nlohmann::ordered_json& element);

  std::string replies_;                                       // members of an object
  std::vector<const std::string*> rows_;                      // keys of row_numbers_
  std::unordered_map<std::string, std::size_t> row_numbers_;  // by their JSON
  std::unordered_map<std::string, std::string> requests_;     // by reply
};

}  // namespace rldb::ui
