// Reads the index of a recorded run line by line, and its tensors one by one as they are needed.
#include "repro/recorded/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>

#include "rldb/runtime/tensor_file.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/support/cancel.h"
#include "rldb/support/file.h"
#include "rldb/support/json_document.h"

namespace rldb::repro {

using nlohmann::json;
using runtime::Value;

namespace {

constexpr std::string_view kIndex = ".jsonl";
constexpr std::size_t kMostNested = 100;  // tuples in tuples
// The keys under which a row names a tensor of an archive.
constexpr const char* kTensorKeys[] = {"npz", "safetensors", "data"};

// The files of a folder with one of these endings, by name; of those, `calls` comes first.
std::vector<std::string> files_of(const std::string& folder, std::initializer_list<std::string_view> endings) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (std::filesystem::directory_iterator it(folder, ignored), end; it != end; it.increment(ignored)) {
    const std::string ending = it->path().extension().string();
    if (std::find(endings.begin(), endings.end(), ending) != endings.end()) out.push_back(it->path().string());
  }
  std::sort(out.begin(), out.end());
  std::stable_partition(out.begin(), out.end(),
                        [](const std::string& f) { return std::filesystem::path(f).stem() == "calls"; });
  return out;
}

bool read_row(const json& j, RecordedRow& row) {
  if (!j.is_object() || !j.contains("func") || !j["func"].is_string() || !j.contains("args") || !j["args"].is_array())
    return false;
  row.name = j["func"].get<std::string>();
  row.args = j["args"];
  row.has_result = j.contains("ret");
  if (row.has_result) row.result = j["ret"];
  if (j.contains("after") && !j["after"].is_object()) return false;
  if (j.contains("after")) row.after = j["after"];
  if (j.contains("call") && j["call"].is_number_unsigned()) row.call = j["call"].get<std::size_t>();
  return true;
}

std::optional<std::vector<std::int64_t>> dims_of(const json& j) {
  if (!j.is_array()) return std::nullopt;
  std::vector<std::int64_t> dims;
  for (const json& d : j) {
    if (!d.is_number_integer()) return std::nullopt;
    dims.push_back(d.get<std::int64_t>());
  }
  return dims;
}

std::optional<double> number_named(const std::string& text) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return inf;
  if (text == "-inf") return -inf;
  return std::nullopt;
}

}  // namespace

bool RecordedFolder::open(const std::string& folder, source::Diagnostics& out) {
  const auto refuse = [&](const std::string& why) {
    out.add({}, source::message(diag::NotARecordedRun, folder, why));
    return false;
  };
  if (std::error_code ignored; !std::filesystem::is_directory(folder, ignored)) return refuse("it is not a folder");
  const std::vector<std::string> indexes = files_of(folder, {kIndex});
  if (indexes.empty()) return refuse("there is no index, a file *.jsonl, in it");
  index_ = indexes[0];
  auto text = support::read_file(index_);
  if (!text.ok()) return refuse(fmt::format("`{}`: {}", index_, text.error().reason));
  text_ = std::move(text).value();
  rows_ = std::size_t(std::count(text_.begin(), text_.end(), '\n'));
  for (const std::string& file : files_of(folder, {".npz", ".safetensors"})) {
    auto archive = runtime::open_archive(file);
    if (!archive.ok()) return refuse(archive.error().message);
    if (!*archive) return refuse(fmt::format("`{}` is not an archive of tensors", file));
    const auto& names = (*archive)->names();
    for (std::size_t i = 0; i < names.size(); ++i) places_.emplace(names[i], Place{archives_.size(), i});
    archives_.push_back(std::move(archive).value());
  }
  return true;
}

bool RecordedFolder::each_row(const std::function<bool(RecordedRow&&)>& visit, source::Diagnostics& out) const {
  std::size_t line = 0, call = 0;
  for (std::size_t at = 0; at < text_.size();) {
    support::poll();
    const std::size_t end = std::min(text_.find('\n', at), text_.size());
    const std::string_view text = std::string_view(text_).substr(at, end - at);
    at = end + 1;
    ++line;
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto j = support::read_json(text);
    RecordedRow row;
    row.call = call++;
    row.line = line;
    if (!j.ok() || !read_row(**j, row)) {
      source::Message m = source::message(diag::NotARecordedCall, index_, line);
      if (!j.ok() && j.error() != support::JsonProblem::NotJson) m.hint = support::to_string(j.error());
      out.add({}, std::move(m));
      return false;
    }
    if (!visit(std::move(row))) break;
  }
  return true;
}

std::optional<Value> RecordedFolder::tensor(const json& j, std::string& why) const {
  const auto dims = dims_of(j["tensor"]);
  const auto dtype = j.contains("dtype") && j["dtype"].is_string() ? runtime::parse_dtype(j["dtype"].get<std::string>())
                                                                   : std::nullopt;
  why = "a tensor without its contents was recorded";
  if (!dims || !dtype) return std::nullopt;
  for (const char* key : kTensorKeys) {
    if (!j.contains(key) || !j[key].is_string()) continue;
    const auto place = places_.find(j[key].get<std::string>());
    if (place == places_.end()) {
      why = fmt::format("there is no tensor `{}` in the folder", j[key].get<std::string>());
      return std::nullopt;
    }
    auto read = archives_[place->second.archive]->read(place->second.index);
    if (!read.ok()) {
      why = read.error().message;
      return std::nullopt;
    }
    Value v = std::move(read).value();
    if (v.is(runtime::ValueKind::Tensor) && v.as_tensor().dtype() != *dtype) {
      auto narrow = runtime::reinterpret_as(v, *dtype);
      if (narrow.ok()) v = std::move(narrow).value();
    }
    if (v.is(runtime::ValueKind::Tensor) && v.as_tensor().dtype() == *dtype && v.as_tensor().shape() == *dims) return v;
    why = fmt::format("`{}` is {}, not as the index says", j[key].get<std::string>(), runtime::describe(v));
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Value> RecordedFolder::value(const json& j, std::string& why, std::size_t depth) const {
  why = "its tuples are nested too deeply";
  if (depth > kMostNested) return std::nullopt;
  if (j.is_null()) return Value::null();
  if (j.is_boolean()) return Value::of_bool(j.get<bool>());
  if (j.is_number_integer()) return Value::of_int(j.get<std::int64_t>());
  if (j.is_number_float()) return Value::of_float(j.get<double>());
  if (j.is_string()) return Value::of_string(j.get<std::string>());
  const bool is_tuple = j.is_array() || (j.is_object() && j.contains("tuple") && j["tuple"].is_array());
  if (is_tuple) {
    std::vector<Value> fields;
    for (const json& field : j.is_array() ? j : j["tuple"]) {
      auto v = value(field, why, depth + 1);
      if (!v) return std::nullopt;
      fields.push_back(*std::move(v));
    }
    return Value::of_tuple(std::move(fields));
  }
  why = "an object was recorded by its name only";
  if (!j.is_object()) return std::nullopt;
  if (j.contains("tensor")) return tensor(j, why);
  if (j.contains("shape"))
    if (auto dims = dims_of(j["shape"])) return Value::of_shape(*std::move(dims));
  if (j.contains("float") && j["float"].is_string())
    if (const auto x = number_named(j["float"].get<std::string>())) return Value::of_float(*x);
  if (j.contains("object") && j["object"].is_string())
    why = fmt::format("a `{}` was recorded by its name only", j["object"].get<std::string>());
  return std::nullopt;
}

}  // namespace rldb::repro
