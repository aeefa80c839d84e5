// Reads a folder of numbered modules dumped by a compiler, with the problems of each.
#include "rldb/repro/dump.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "repro/bisect/constants.h"
#include "repro/bisect/signature.h"
#include "repro/bisect/unpack.h"
#include "rldb/frontend/parse.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/verifier.h"
#include "rldb/support/cancel.h"
#include "rldb/support/file.h"

namespace rldb::repro {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxStages = 5000;

struct NumberedFile {
  std::uint64_t number;
  std::string name;
};

// `012_FuseOps.py`
std::optional<NumberedFile> numbered(const std::string& name) {
  std::size_t digits = 0;
  while (digits < name.size() && std::isdigit(static_cast<unsigned char>(name[digits]))) ++digits;
  if (digits == 0 || digits > 9 || digits >= name.size() || name[digits] != '_' || !name.ends_with(".py"))
    return std::nullopt;
  return NumberedFile{std::stoull(name.substr(0, digits)), name};
}

std::vector<NumberedFile> files_of(const std::string& folder, std::string& problem) {
  std::vector<NumberedFile> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end && files.size() < kMaxStages;
       it.increment(error))
    if (auto file = numbered(it->path().filename().string())) files.push_back(std::move(*file));
  if (error) problem = error.message();
  std::sort(files.begin(), files.end(), [](const NumberedFile& a, const NumberedFile& b) {
    return a.number != b.number ? a.number < b.number : a.name < b.name;
  });
  if (files.empty() && problem.empty()) problem = "it has no files NNN_PassName.py";
  return files;
}

bool has_relax_function(const ir::Module* module) {
  return std::any_of(module->entries.begin(), module->entries.end(),
                     [](const ir::ModuleEntry& e) { return ir::as<ir::Function>(e.function) != nullptr; });
}

// Lowered modules make impure calls in functions that are not marked so; TVM's own do.
std::string first_broken_rule(ir::Context& ctx, const ir::Module* module) {
  source::Diagnostics found;
  if (ir::verify(ctx, module, found)) return {};
  for (const source::Diagnostic& d : found.all())
    if (d.message.find("impure") == std::string::npos) return d.message;
  return {};
}

void read_stage(session::Session& session, const std::string& path, Stage& stage) {
  auto text = support::read_regular_file(path, source::kMaxBytes);
  if (!text.ok()) {
    stage.not_runnable = text.error().reason;
    return;
  }
  if (std::all_of(text->begin(), text->end(), [](unsigned char c) { return std::isspace(c); })) {
    stage.is_empty = true;
    stage.not_runnable = "the file is empty";
    return;
  }
  const source::FileId file = session.sources().add(path, std::move(text).value());
  frontend::ParseOptions options;
  options.check_well_formed = false;
  source::Diagnostics found;
  const auto parsed = frontend::parse(session.context(), session.sources(), file, found, options);
  if (!parsed.ok || !parsed.module)
    stage.not_runnable = "it does not read: " + found.first_error();
  else
    stage.kernels = with_unpacked(session.context(), parsed.module);
  if (!stage.kernels) return;
  stage.is_empty = stage.kernels->entries.empty();
  if (has_relax_function(stage.kernels))
    stage.module = stage.kernels;
  else
    stage.not_runnable = stage.is_empty ? "it has no function" : "it has no Relax function";
}

// A stage of PrimFuncs only is a program together with the last Relax functions, if these find their kernels in it.
// Kernels that it lacks are taken from there too: a module of the host's functions is one part of a program.
void complete(session::Session& session, const Stage& last, Stage& stage) {
  ir::Context& ctx = session.context();
  ir::ModuleBuilder builder(ctx, *last.module);
  bool takes_part = false;
  for (const ir::ModuleEntry& e : stage.kernels->entries) {
    const ir::Expr* old = last.module->find(e.name);
    if (old && call_signature(old) != call_signature(e.function)) {
      stage.not_runnable = fmt::format(
          "`{}` is called by no Relax function with its parameters, which are others than in {}", e.name, last.file);
      return;
    }
    takes_part = takes_part || old;
    builder.set(e.name, e.function);
  }
  if (!takes_part) return;
  stage.module = builder.build();
  stage.kernels = stage.module;
  stage.completed_by = last.file;
  stage.not_runnable.clear();
}

std::string text_of(const MissingConstants& missing) {
  std::string text;
  for (const ir::TensorType* t : missing.types) text += t ? ir::print_type(t) + ";" : "?;";
  return text;
}

// Types missing in a stage are taken from the nearest later one with as many constants: lowering makes them explicit.
void learn_from_later(std::vector<MissingConstants>& all) {
  for (std::size_t i = all.size(); i-- > 1;) {
    MissingConstants& here = all[i - 1];
    for (std::size_t j = i; j < all.size() && !here.unknown.empty(); ++j) {
      if (all[j].types.size() != here.types.size() || !all[j].unknown.empty()) continue;
      here.types = all[j].types;
      here.unknown.clear();
    }
  }
}

// Types found neither in the stage nor in a later one.
void guess_the_rest(MissingConstants& m) {
  if (m.unknown.empty()) return;
  for (std::size_t i = 0; i < m.types.size(); ++i)
    if (!m.types[i]) m.types[i] = m.guesses[i];
  if (std::find(m.types.begin(), m.types.end(), nullptr) == m.types.end()) m.unknown.clear();
}

void make_constants(session::Session& session, std::vector<Stage>& stages) {
  std::vector<MissingConstants> missing;
  for (const Stage& s : stages) missing.push_back(s.module ? missing_constants(s.module) : MissingConstants{});
  learn_from_later(missing);
  for (MissingConstants& m : missing) guess_the_rest(m);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (missing[i].types.empty()) continue;
    Stage& s = stages[i];
    s.made_up = text_of(missing[i]);
    s.constants = missing[i].types;
    s.unfilled = s.module;
    const ir::Module* filled = nullptr;
    if (missing[i].unknown.empty())
      filled = fill_constants(session.context(), s.module, s.constants, {}, session.options().seed);
    if (filled)
      s.module = filled;
    else
      s.not_runnable = "it was printed without its constants, and the type of " +
                       (missing[i].unknown.empty() ? std::string("one") : missing[i].unknown) + " is not known";
  }
}

}  // namespace

std::optional<StageName> parse_stage_name(const std::string& text) {
  std::error_code ignored;
  const auto colon = text.rfind(':');
  if (colon == std::string::npos || colon + 1 == text.size() || fs::exists(text, ignored)) return std::nullopt;
  StageName name{text.substr(0, colon), text.substr(colon + 1)};
  if (!fs::is_directory(name.folder, ignored)) return std::nullopt;
  return name;
}

std::optional<std::size_t> find_stage(const std::vector<Stage>& stages, std::string_view name, std::string& problem) {
  std::vector<std::size_t> found;
  const bool is_number = std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); });
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const std::string_view file = stages[i].file, stem = file.substr(0, file.size() - 3);
    if (file == name || stem == name) return i;
    const std::string_view number = file.substr(0, file.find('_'));
    const auto value = [](std::string_view digits) { return std::stoull(std::string(digits)); };
    if (stages[i].pass == name || (is_number && name.size() < 10 && value(number) == value(name))) found.push_back(i);
  }
  if (found.size() == 1) return found[0];
  std::vector<std::string> which;
  for (const std::size_t i : found) which.push_back(stages[i].file);
  problem = found.empty() ? "there is no such stage" : fmt::format("it may be {}", fmt::join(which, ", "));
  return std::nullopt;
}

std::vector<std::string> stage_files(const std::string& folder) {
  std::string problem;
  std::vector<std::string> names;
  for (const NumberedFile& file : files_of(folder, problem)) names.push_back(file.name);
  return names;
}

std::vector<Stage> read_dump(session::Session& session, const std::string& folder, std::string& problem,
                             const std::string& original) {
  std::vector<Stage> stages;
  std::optional<std::size_t> last;  // with Relax functions of its own
  if (!original.empty()) {
    Stage stage;
    stage.file = original;
    stage.pass = "the original";
    read_stage(session, original, stage);
    if (stage.module) last = 0;
    stages.push_back(std::move(stage));
  }
  for (const NumberedFile& file : files_of(folder, problem)) {
    support::poll();
    Stage stage;
    stage.file = file.name;
    stage.pass = file.name.substr(file.name.find('_') + 1);
    stage.pass.resize(stage.pass.size() - 3);
    read_stage(session, (fs::path(folder) / file.name).string(), stage);
    if (stage.kernels && !stage.module && !stage.is_empty && last) complete(session, stages[*last], stage);
    if (stage.module && stage.completed_by.empty()) last = stages.size();
    stages.push_back(std::move(stage));
  }
  make_constants(session, stages);
  for (Stage& stage : stages)
    if (stage.module) stage.ill_formed = first_broken_rule(session.context(), stage.module);
  return stages;
}

}  // namespace rldb::repro
