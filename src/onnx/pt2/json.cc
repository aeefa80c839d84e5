// Checked access to JSON.
#include "onnx/pt2/json.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "rldb/ops/emitter.h"

namespace rldb::onnx {

namespace {

constexpr std::uint64_t kLongestText = std::uint64_t(64) << 20;
constexpr int kDeepestJson = 200;

}  // namespace

ir::Result<std::string_view> read_text(const runtime::ZipArchive& archive, std::size_t member, std::string& buffer) {
  const runtime::ZipMember& m = archive.members()[member];
  if (m.size > kLongestText)
    return ops::refuse(fmt::format("`{}` has {} bytes, and at most {} are read", m.name, m.size, kLongestText));
  auto text = archive.read(member, buffer);
  if (!text.ok()) return ops::refuse(text.error().message);
  return *text;
}

ir::Result<support::JsonDocument> parse_json(std::string_view text, std::string_view name) {
  auto made = support::read_json(text, kDeepestJson);
  if (made.ok()) return std::move(made).value();
  switch (made.error()) {
    case support::JsonProblem::TooDeep:
      return ops::refuse(fmt::format("`{}` is nested more than {} deep", name, kDeepestJson));
    case support::JsonProblem::TooLarge:
      return ops::refuse(fmt::format("`{}` is over the memory limit", name));
    case support::JsonProblem::NotJson:
      break;
  }
  return ops::refuse(fmt::format("`{}` is not JSON", name));
}

support::Failure<source::Message> Field::bad(std::string_view what) const {
  return ops::refuse(fmt::format("`{}` {}", path_, what));
}

bool Field::has(std::string_view name) const {
  return value_->is_object() && value_->contains(name) && !value_->at(std::string(name)).is_null();
}

ir::Result<Field> Field::at(std::string_view name) const {
  if (!value_->is_object()) return bad("is not an object");
  const auto found = value_->find(name);
  if (found == value_->end()) return bad(fmt::format("has no field `{}`", name));
  return Field(*found, path_ + "." + std::string(name));
}

ir::Result<std::vector<Field>> Field::items() const {
  if (!value_->is_array()) return bad("is not a list");
  std::vector<Field> made;
  for (std::size_t i = 0; i < value_->size(); ++i) made.emplace_back((*value_)[i], fmt::format("{}[{}]", path_, i));
  return made;
}

ir::Result<std::pair<std::string, Field>> Field::only() const {
  if (!value_->is_object()) return bad("is not an object");
  // Older versions write the other fields of a union as null.
  const json* found = nullptr;
  std::string name;
  for (const auto& [key, value] : value_->items()) {
    if (found && value.is_null()) continue;
    if (found && !found->is_null()) return bad("has more than one field");
    found = &value;
    name = key;
  }
  if (!found) return bad("has no field");
  return std::pair(name, Field(*found, path_ + "." + name));
}

ir::Result<std::string> Field::text() const {
  if (!value_->is_string()) return bad("is not a string");
  return value_->get<std::string>();
}

ir::Result<std::int64_t> Field::integer() const {
  if (!value_->is_number_integer() ||
      (value_->is_number_unsigned() && value_->get<std::uint64_t>() > std::uint64_t(INT64_MAX)))
    return bad("is not a number of 64 bits");
  return value_->get<std::int64_t>();
}

ir::Result<double> Field::real() const {
  if (value_->is_number()) return value_->get<double>();
  if (value_->is_string()) {
    const auto& name = value_->get_ref<const std::string&>();
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (name == "NaN") return std::nan("");
    if (name == "Infinity") return kInfinity;
    if (name == "-Infinity") return -kInfinity;
  }
  return bad("is not a number");
}

ir::Result<bool> Field::truth() const {
  if (!value_->is_boolean()) return bad("is not true or false");
  return value_->get<bool>();
}

}  // namespace rldb::onnx
