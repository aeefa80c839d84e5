// Members of a client's object.
#include "protocol/dap/fields.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace rldb::protocol::dap {

namespace {

// Clients in JavaScript know one kind of number.
std::optional<std::int64_t> integer_in(const Json& value) {
  if (value.is_number_unsigned())
    return value.get<std::uint64_t>() <= std::uint64_t(std::numeric_limits<std::int64_t>::max())
               ? std::optional(value.get<std::int64_t>())
               : std::nullopt;
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  constexpr double kLimit = 9007199254740992.0;  // 2^53
  const double x = value.get<double>();
  return std::trunc(x) == x && std::abs(x) <= kLimit ? std::optional(std::int64_t(x)) : std::nullopt;
}

const Json& no_members() {
  static const Json none = Json::object();
  return none;
}
const Json& no_elements() {
  static const Json none = Json::array();
  return none;
}

}  // namespace

const Json* Fields::find(std::string_view name) const {
  if (!object_.is_object()) return nullptr;
  const auto it = object_.find(name);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

const Json* Fields::need(std::string_view name) {
  const Json* value = find(name);
  if (!value) fail(fmt::format("`{}` is missing", name));
  return value;
}

void Fields::fail(std::string message, bool shown) {
  if (!failure_) failure_ = Failure{std::move(message), shown};
}

std::string Fields::text(std::string_view name) { return need(name) ? text_or(name) : std::string(); }

std::string Fields::text_or(std::string_view name, std::string otherwise) {
  const Json* value = find(name);
  if (!value) return otherwise;
  if (value->is_string()) return value->get<std::string>();
  fail(fmt::format("`{}` must be a string", name));
  return otherwise;
}

std::int64_t Fields::integer(std::string_view name) { return need(name) ? integer_or(name, 0) : 0; }

std::int64_t Fields::integer_or(std::string_view name, std::int64_t otherwise) {
  const Json* value = find(name);
  if (!value) return otherwise;
  if (const auto number = integer_in(*value)) return *number;
  fail(fmt::format("`{}` must be an integer", name));
  return otherwise;
}

bool Fields::flag(std::string_view name, bool otherwise) {
  const Json* value = find(name);
  if (!value) return otherwise;
  if (value->is_boolean()) return value->get<bool>();
  fail(fmt::format("`{}` must be true or false", name));
  return otherwise;
}

const Json& Fields::object(std::string_view name) {
  const Json* value = find(name);
  if (value && value->is_object()) return *value;
  if (value) fail(fmt::format("`{}` must be an object", name));
  return no_members();
}

const Json& Fields::list(std::string_view name) {
  const Json* value = find(name);
  if (value && value->is_array()) return *value;
  if (value) fail(fmt::format("`{}` must be a list", name));
  return no_elements();
}

std::vector<std::string> Fields::texts(std::string_view name) {
  const Json* value = find(name);
  if (!value) return {};
  if (value->is_string()) return {value->get<std::string>()};
  std::vector<std::string> out;
  const bool is_list = value->is_array();
  if (is_list)
    for (const Json& one : *value)
      if (one.is_string()) out.push_back(one.get<std::string>());
  if (!is_list || out.size() != value->size()) fail(fmt::format("`{}` must be a string or a list of strings", name));
  return out;
}

}  // namespace rldb::protocol::dap
