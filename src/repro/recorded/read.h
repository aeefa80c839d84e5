// The index of a recorded run and its tensors. Room-private.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rldb/runtime/tensor_archive.h"
#include "rldb/source/diagnostic.h"

namespace rldb::repro {

// One row of the index.
struct RecordedRow {
  std::size_t call = 0, line = 0;
  std::string name;
  nlohmann::json args, result;
  nlohmann::json after;     // by the argument's number; null: what the call changed was not recorded
  bool has_result = false;  // the call came back
};

class RecordedFolder {
 public:
  // False: diagnosed.
  bool open(const std::string& folder, source::Diagnostics& out);
  // In order; `visit` returns false to stop. False: a row is not one, which is diagnosed.
  bool each_row(const std::function<bool(RecordedRow&&)>& visit, source::Diagnostics& out) const;
  std::size_t rows() const { return rows_; }
  // A value of a row. nullopt: it was recorded without its contents (`why`).
  std::optional<runtime::Value> value(const nlohmann::json& j, std::string& why, std::size_t depth = 0) const;

 private:
  struct Place {
    std::size_t archive = 0, index = 0;
  };
  std::optional<runtime::Value> tensor(const nlohmann::json& j, std::string& why) const;

  std::string index_, text_;
  std::size_t rows_ = 0;
  std::vector<std::unique_ptr<runtime::TensorArchive>> archives_;
  std::unordered_map<std::string, Place> places_;
};

}  // namespace rldb::repro
