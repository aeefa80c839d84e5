// Values of another framework: from the files of ONNX's tests, .npz, and folders of .npy.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

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

// Where a named value belongs.
void add_named(const onnx::Translation& model, const std::string& name, runtime::Value value, ExpectedSet& set) {
  const std::string plain = plain_name(name);
  for (const std::string& input : model.inputs)
    if (input == name || plain_name(input) == plain) {
      set.inputs.emplace_back(input, std::move(value));
      return;
    }
  for (const onnx::Node& node : model.nodes) {
    for (const std::string& output : node.outputs)
      if (output == name || plain_name(output) == plain) {
        set.values.emplace_back(output, std::move(value));
        return;
      }
    if (!node.outputs.empty() && (node.label == name || plain_name(node.label) == plain)) {
      set.values.emplace_back(node.outputs[0], std::move(value));
      return;
    }
  }
  set.unknown.push_back(name);
}

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

bool read_test_set(const onnx::Translation& model, const fs::path& folder, ExpectedSet& set, source::Diagnostics& out) {
  set.name = folder.filename().string();
  return read_tensors(folder, "input", model.inputs, set.inputs, out) &&
         read_tensors(folder, "output", onnx::output_names(*model.model), set.values, out);
}

bool read_archive(const onnx::Translation& model, const fs::path& path, ExpectedSet& set, source::Diagnostics& out) {
  const auto bytes = support::read_file(path.string(), source::kMaxBytes);
  if (!bytes.ok()) return bad_file(path, bytes.error().reason, out);
  auto tensors = runtime::read_npz(*bytes, path.string());
  if (!tensors.ok()) return bad_file(path, tensors.error().message, out);
  set.name = path.filename().string();
  for (auto& [name, value] : *tensors) add_named(model, name, std::move(value), set);
  return true;
}

bool read_folder(const onnx::Translation& model, const fs::path& folder, ExpectedSet& set, source::Diagnostics& out) {
  set.name = folder.filename().string();
  for (const fs::path& path : support::sorted_entries(folder)) {
    if (path.extension() != ".npy") continue;
    const auto bytes = support::read_file(path.string(), source::kMaxBytes);
    if (!bytes.ok()) return bad_file(path, bytes.error().reason, out);
    auto value = runtime::read_npy(*bytes, path.string());
    if (!value.ok()) return bad_file(path, value.error().message, out);
    add_named(model, path.stem().string(), std::move(value).value(), set);
  }
  return true;
}

}  // namespace

std::optional<std::vector<ExpectedSet>> read_expected(const onnx::Translation& model, const std::string& path,
                                                      source::Diagnostics& out) {
  std::vector<ExpectedSet> sets;
  const fs::path root(path);
  const auto add = [&](auto&& read, const fs::path& from) {
    sets.emplace_back();
    return read(model, from, sets.back(), out);
  };
  if (!fs::is_directory(root)) {
    if (!add(read_archive, root)) return std::nullopt;
  } else if (fs::exists(root / "output_0.pb")) {
    if (!add(read_test_set, root)) return std::nullopt;
  } else {
    for (const fs::path& p : support::sorted_entries(root))
      if (p.filename().string().starts_with(kTestSet) && !add(read_test_set, p)) return std::nullopt;
    if (sets.empty() && !add(read_folder, root)) return std::nullopt;
  }
  const bool any = std::any_of(sets.begin(), sets.end(), [](const ExpectedSet& s) { return !s.values.empty(); });
  if (any) return sets;
  bad_file(root, "no file in it has a value of the model", out);
  return std::nullopt;
}

}  // namespace rldb::repro
