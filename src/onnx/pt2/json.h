// JSON documents of an archive: fields that are checked as they are taken. A failure says where in the document it is.
// Inside the room only.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "rldb/ir/context.h"
#include "rldb/runtime/zip_archive.h"
#include "rldb/support/json_document.h"

namespace rldb::onnx {

using nlohmann::json;

// A member that is a text or a pickle: at most 64 MiB, which is known before it is inflated.
ir::Result<std::string_view> read_text(const runtime::ZipArchive& archive, std::size_t member, std::string& buffer);
// Nesting and memory are bounded before memory is allocated.
ir::Result<support::JsonDocument> parse_json(std::string_view text, std::string_view name);

// A value, and its path in the document for messages.
class Field {
 public:
  Field(const json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  const json& value() const { return *value_; }
  const std::string& path() const { return path_; }
  bool has(std::string_view name) const;
  // `as_none` of a union may be present beside others as null.
  bool is_null() const { return value_->is_null(); }

  ir::Result<Field> at(std::string_view name) const;
  ir::Result<std::vector<Field>> items() const;
  // The name and value of an object that has one field: how the schema writes a union.
  ir::Result<std::pair<std::string, Field>> only() const;
  ir::Result<std::string> text() const;
  ir::Result<std::int64_t> integer() const;
  ir::Result<double> real() const;  // also "NaN", "Infinity", "-Infinity"
  ir::Result<bool> truth() const;

  support::Failure<source::Message> bad(std::string_view what) const;

 private:
  const json* value_;
  std::string path_;
};

}  // namespace rldb::onnx
