// Values of another framework: from the files of ONNX's tests, .npz, and folders of .npy.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <unordered_map>

#include "rldb/onnx/model.h"
#include "rldb/repro/expected.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/support/file.h"
#include "rldb/support/folder.h"

namespace rldb::repro {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kTestSet = "test_data_set_";

bool bad_file(const fs::path& path, const std::string& why, source::Diagnostics& out) {
  out.add({}, source::message(diag::BadExpected, path.string(), why));
  return false;
}

// As a name in a file may be written.
std::string plain_name(std::string_view name) {
  std::string made(name);
  for (char& c : made)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return made;
}

// The values that the names of files stand for: inputs first, then outputs of nodes, then nodes by their first output.
// Exact names come before those with `_`.
class NamesOfModel {
 public:
  // `nodes`: none before the translation.
  NamesOfModel(const onnx::Model& model, const std::vector<onnx::Node>& nodes)
      : inputs(onnx::input_names(model)), outputs(onnx::output_names(model)) {
    for (const std::string& input : inputs) add(input, input, true);
    for (const onnx::Node& node : nodes)
      for (const std::string& output : node.outputs) add(output, output, false);
    for (const onnx::Node& node : nodes)
      if (!node.outputs.empty()) add(node.label, node.outputs[0], false);
  }
  const std::vector<std::string> inputs, outputs;

  void put(const std::string& name, runtime::Value value, ExpectedSet& set) const {
    auto found = exact_.find(name);
    if (found == exact_.end() && (found = plain_.find(plain_name(name))) == plain_.end()) {
      set.unknown.push_back(name);
      return;
    }
    (found->second.is_input ? set.inputs : set.values).emplace_back(found->second.value, std::move(value));
  }

 private:
  struct Named {
    std::string value;
    bool is_input = false;
  };
  void add(const std::string& name, const std::string& value, bool is_input) {
    exact_.emplace(name, Named{value, is_input});
    plain_.emplace(plain_name(name), Named{value, is_input});
  }
  std::unordered_map<std::string, Named> exact_, plain_;
};

// The files PREFIX_0.pb, PREFIX_1.pb, ... under the given names.
bool read_tensors(const fs::path& folder, const std::string& prefix, const std::vector<std::string>& names,
                  std::vector<std::pair<std::string, runtime::Value>>& into, source::Diagnostics& out) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const fs::path path = folder / fmt::format("{}_{}.pb", prefix, i);
    if (!fs::exists(path)) continue;
    const auto bytes = support::read_file(path.string(), source::kMaxBytes);
    if (!bytes.ok()) return bad_file(path, bytes.error().reason, out);
    auto value = onnx::read_tensor(*bytes);
    if (!value.ok()) return bad_file(path, value.error().text, out);
    into.emplace_back(names[i], std::move(value).value());
  }
  return true;
}

bool read_test_set(const NamesOfModel& names, const fs::path& folder, ExpectedSet& set, source::Diagnostics& out) {
  return read_tensors(folder, "input", names.inputs, set.inputs, out) &&
         read_tensors(folder, "output", names.outputs, set.values, out);
}

bool read_archive(const NamesOfModel& names, const fs::path& path, ExpectedSet& set, source::Diagnostics& out) {
  const auto bytes = support::read_file(path.string(), source::kMaxBytes);
  if (!bytes.ok()) return bad_file(path, bytes.error().reason, out);
  auto tensors = runtime::read_npz(*bytes, path.string());
  if (!tensors.ok()) return bad_file(path, tensors.error().message, out);
  for (auto& [name, value] : *tensors) names.put(name, std::move(value), set);
  return true;
}

bool read_folder(const NamesOfModel& names, const fs::path& folder, ExpectedSet& set, source::Diagnostics& out) {
  for (const fs::path& path : support::sorted_entries(folder)) {
    if (path.extension() != ".npy") continue;
    const auto bytes = support::read_file(path.string(), source::kMaxBytes);
    if (!bytes.ok()) return bad_file(path, bytes.error().reason, out);
    auto value = runtime::read_npy(*bytes, path.string());
    if (!value.ok()) return bad_file(path, value.error().message, out);
    names.put(path.stem().string(), std::move(value).value(), set);
  }
  return true;
}

std::optional<ExpectedSet> read_set(const NamesOfModel& names, const fs::path& place, source::Diagnostics& out) {
  ExpectedSet set;
  set.name = place.filename().string();
  const bool is_test = fs::exists(place / "output_0.pb");
  const auto read = is_test ? read_test_set : fs::is_directory(place) ? read_folder : read_archive;
  return read(names, place, set, out) ? std::optional(std::move(set)) : std::nullopt;
}

}  // namespace

std::vector<std::string> expected_places(const std::string& path) {
  std::vector<std::string> places;
  if (fs::is_directory(path) && !fs::exists(fs::path(path) / "output_0.pb"))
    for (const fs::path& p : support::sorted_entries(path))
      if (p.filename().string().starts_with(kTestSet)) places.push_back(p.string());
  if (places.empty()) places.push_back(path);
  return places;
}

std::optional<onnx::Tensors> expected_inputs(const onnx::Model& model, const std::string& place,
                                             source::Diagnostics& out) {
  auto set = read_set(NamesOfModel(model, {}), place, out);
  if (!set) return std::nullopt;
  return onnx::Tensors(set->inputs.begin(), set->inputs.end());
}

std::optional<ExpectedSet> read_expected(const onnx::Translation& model, const std::string& place,
                                         source::Diagnostics& out) {
  auto set = read_set(NamesOfModel(*model.model, model.nodes), place, out);
  if (set && set->values.empty()) bad_file(place, "no file in it has a value of the model", out);
  return set && !set->values.empty() ? std::move(set) : std::nullopt;
}

}  // namespace rldb::repro
