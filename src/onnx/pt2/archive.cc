// Where the parts of an archive are: the layout of torch 2.8 and later (models/NAME.json), and the one before
// (serialized_exported_program.json).
#include "onnx/pt2/archive.h"

#include <fmt/format.h>

#include "onnx/pt2/program.h"
#include "rldb/ops/emitter.h"
#include "rldb/source/diagnostic_onnx.h"

namespace rldb::onnx {

namespace {

constexpr std::string_view kLegacyProgram = "serialized_exported_program.json";
constexpr std::string_view kModels = "models/";
constexpr std::string_view kUsualModel = "model";

struct Layout {
  std::string prefix;  // the folder of all members, with its slash
  std::string model;   // its name
  std::size_t program = 0;
};

// The archive's own folder is the first part of a member's name, if all that follows is known.
std::optional<std::pair<std::string, std::string>> model_member(const std::string& name) {
  if (!name.ends_with(".json")) return std::nullopt;
  const std::size_t at = name.starts_with(kModels) ? 0 : name.find("/models/");
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = name.starts_with(kModels) ? kModels.size() : at + 1 + kModels.size();
  const std::string prefix = name.starts_with(kModels) ? std::string() : name.substr(0, at + 1);
  const std::string model = name.substr(begin, name.size() - begin - std::string_view(".json").size());
  const bool plain = model.find('/') == std::string::npos && prefix.find('/') + 1 == prefix.size();
  return plain || prefix.empty() ? std::optional(std::pair(prefix, model)) : std::nullopt;
}

ir::Result<Layout> layout_of(const runtime::ZipArchive& archive) {
  std::vector<Layout> found;
  bool is_compiled = false;
  for (std::size_t i = 0; i < archive.members().size(); ++i) {
    const std::string& name = archive.members()[i].name;
    is_compiled = is_compiled || name.find("data/aotinductor/") != std::string::npos;
    if (name.ends_with(kLegacyProgram))
      return Layout{name.substr(0, name.size() - kLegacyProgram.size()), std::string(kUsualModel), i};
    if (const auto model = model_member(name)) found.push_back({model->first, model->second, i});
  }
  if (found.size() == 1) return found[0];
  for (const Layout& l : found)
    if (l.model == kUsualModel) return l;
  if (!found.empty()) {
    std::string names;
    for (const Layout& l : found) names += (names.empty() ? "" : ", ") + l.model;
    return ops::refuse(fmt::format("it holds several programs ({}), and none is called `model`", names));
  }
  return ops::refuse(is_compiled ? "it holds code that was compiled (AOTInductor), and no program"
                                 : "it has no `models/NAME.json` and no `serialized_exported_program.json`");
}

ir::Result<support::Unit> read_parts(std::string_view path, std::string_view bytes, Model& model) {
  auto opened = runtime::ZipArchive::open(support::RandomAccess::of_memory(bytes), path, "zip archive");
  if (!opened.ok()) return ops::refuse(opened.error().message);
  const runtime::ZipArchive& archive = *opened;
  RLDB_TRY(const Layout layout, layout_of(archive));
  std::string buffer;
  RLDB_TRY(const std::string_view text, read_text(archive, layout.program, buffer));
  const std::string& name = archive.members()[layout.program].name;
  RLDB_TRY(const support::JsonDocument document, parse_json(text, name));
  Weights weights(archive, layout.prefix, layout.model);
  RLDB_TRY_VOID(weights.open());
  return read_program(Field(*document, name.substr(name.rfind('/') + 1)), weights, model);
}

}  // namespace

bool is_archive(std::string_view path, std::string_view bytes) {
  return path.ends_with(".pt2") || bytes.starts_with("PK\3\4");
}

ModelRef read_archive(std::string_view path, std::string_view bytes, source::Diagnostics& out) {
  auto model = std::make_shared<Model>();
  model->path = path;
  const auto read = read_parts(path, bytes, *model);
  if (read.ok()) return model;
  // A message about a tensor says enough itself.
  source::Message m = read.error();
  if (m.id == diag::OnnxBadTensor)
    out.add({}, std::move(m));
  else
    out.add({}, source::message(diag::Pt2Unreadable, path, m.text));
  return nullptr;
}

}  // namespace rldb::onnx
