// The smallest model: question, files, report.
#include "ui/batch/reduce_onnx.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "rldb/repro/reduce_onnx.h"
#include "rldb/source/diagnostic_onnx.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/support/text.h"
#include "rldb/ui/batch/batch.h"
#include "rldb/ui/render/output_file.h"
#include "ui/batch/compare_expected.h"
#include "ui/batch/progress.h"

namespace rldb::ui {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kExtension = ".onnx";
constexpr std::string_view kTestSet = "test_data_set_0";

// `small` of `small.onnx`: where the values are, as a test of ONNX has them.
std::string data_folder(const std::string& path) { return path.substr(0, path.size() - kExtension.size()); }

std::optional<WrittenModel> failed(source::Diagnostics& found, session::Session& session, const CommandLine& line,
                                   Console& console, int with, int& code) {
  code = fail(found, session.sources(), line, console, with);
  return std::nullopt;
}

// Inputs that are constants have the values of the first set so far. Null: diagnosed.
const onnx::Translation* with_constants_of(const std::string& place, const CommandLine& line, session::Session& session,
                                           Console& console, int& code) {
  if (session.options().bound_inputs.size() > line.options.bound_inputs.size()) {
    bind_deciding_inputs(session, line, place);
    code = load(session, line.files[0], line, console);
    if (code != kGood) return nullptr;
  }
  return session.program()->onnx();
}

// The set whose values the model does not give. False: diagnosed, with the exit code.
bool find_differing_set(const CommandLine& line, session::Session& session, repro::OnnxQuestion& question,
                        source::Diagnostics& found, Console& console, int& code) {
  for (const std::string& place : repro::expected_places(line.expected)) {
    const onnx::Translation* model = with_constants_of(place, line, session, console, code);
    if (!model) return false;
    code = kUsage;
    const auto set = repro::read_expected(*model, place, found);
    if (!set) return false;
    const auto compared = repro::compare_expected(session, *model, *set, line.tolerances);
    if (!compared.first) continue;
    question.expected = set;
    question.first = compared.first->value;
    return true;
  }
  code = kCannotTell;
  found.add({},
            source::message(diag::CannotTell, fmt::format("no value of the model differs from `{}`", line.expected)));
  return false;
}

// Files that an earlier reduction left, and this one has not, would be taken for values.
void remove_others(const fs::path& folder, std::string_view prefix, std::size_t count) {
  std::error_code ignored;
  for (std::size_t i = count; fs::remove(folder / fmt::format("{}_{}.pb", prefix, i), ignored); ++i) {
  }
}

bool write_values(const fs::path& folder, std::string_view prefix, const repro::OnnxReduction::Values& values,
                  source::Diagnostics& found, Console& console) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bytes = onnx::tensor_file(values[i].first, values[i].second);
    if (!bytes.ok()) {
      found.add({}, bytes.error());
      return false;
    }
    if (!write_output((folder / fmt::format("{}_{}.pb", prefix, i)).string(), *bytes, console)) return false;
  }
  remove_others(folder, prefix, values.size());
  return true;
}

bool write_model(const repro::OnnxReduction& r, const std::string& path, source::Diagnostics& found, Console& console) {
  const auto bytes = onnx::model_file(*r.model);
  if (!bytes.ok()) {
    found.add({}, bytes.error());
    return false;
  }
  if (!write_output(path, *bytes, console)) return false;
  const fs::path folder = fs::path(data_folder(path)) / kTestSet;
  std::error_code failed_to;
  if (r.outputs.empty()) {
    remove_others(folder, "input", 0);
    remove_others(folder, "output", 0);
    return true;
  }
  fs::create_directories(folder, failed_to);
  if (failed_to) {
    found.add({}, source::message(diag::OnnxNotWritten, fmt::format("`{}`: {}", folder.string(), failed_to.message())));
    return false;
  }
  return write_values(folder, "input", r.inputs, found, console) &&
         write_values(folder, "output", r.outputs, found, console);
}

nlohmann::json size_json(const onnx::ModelSize& s) {
  return {{"nodes", s.nodes}, {"constants", s.constants}, {"inputs", s.inputs}, {"outputs", s.outputs}};
}

nlohmann::json reduction_json(const repro::OnnxReduction& r, const std::string& path) {
  nlohmann::json data{{"file", path},
                      {"before", size_json(r.before)},
                      {"after", size_json(r.after)},
                      {"tried", r.tried},
                      {"symptom", {{"kind", to_string(r.symptom.kind)}, {"text", r.symptom.text}}},
                      {"complete", r.complete}};
  if (!r.outputs.empty()) data["values"] = data_folder(path);
  return data;
}

void tell_model(const repro::OnnxReduction& r, const std::string& path, Console& console) {
  console.print_error("model: symptom: {}: {}\n", to_string(r.symptom.kind), r.symptom.text);
  console.print_error("model: {} -> {}{}\n", onnx::to_string(r.before), onnx::to_string(r.after),
                      r.complete ? "" : " (stopped before the end)");
  console.print_error("model: {}\n", repro::minimality(r));
  console.print_error("written to {}\n", path);
  if (r.outputs.empty()) return;
  console.print_error("its inputs and the results that they should give: {}/{} (`rldb compare {} --expected={}`)\n",
                      data_folder(path), kTestSet, path, data_folder(path));
}

// The values of the files, by the names of the translation's parameters.
std::vector<std::string> input_texts(const onnx::Translation& model, const repro::OnnxReduction& r,
                                     const std::string& path) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < model.inputs.size() && i < model.function()->params.size(); ++i)
    for (std::size_t k = 0; k < r.inputs.size(); ++k)
      if (r.inputs[k].first == model.inputs[i])
        texts.push_back(
            fmt::format("{}=@{}/{}/input_{}.pb", model.function()->params[i]->name, data_folder(path), kTestSet, k));
  return texts;
}

repro::OnnxReduceOptions options_of(const CommandLine& line, Progress& progress, Console& console,
                                    std::optional<std::size_t>& first) {
  repro::OnnxReduceOptions options;
  options.jobs = line.jobs;
  options.seconds = line.seconds;
  options.progress = [&](const onnx::ModelSize& size, std::size_t tried, const std::string& move) {
    if (!first) first = size.nodes;
    progress.show(1 - double(size.nodes) / double(std::max<std::size_t>(*first, 1)),
                  fmt::format("model: {}, {}", onnx::to_string(size), support::counted(tried, "try")));
    if (!move.empty() && !progress.on_terminal())
      console.print_error("model: {} after {}, {:.1f} s ({})\n", onnx::to_string(size), support::counted(tried, "try"),
                          progress.seconds(), move);
  };
  return options;
}

}  // namespace

std::optional<WrittenModel> write_smallest_model(const CommandLine& line, session::Session& session,
                                                 repro::Question& question, const Job& job, Console& console,
                                                 int& code) {
  source::Diagnostics found;
  const onnx::Translation* model = session.program()->onnx();
  if (!model) found.add({}, source::message(diag::NotOnnx, line.files[0]));
  if (found.has_errors()) return failed(found, session, line, console, kUsage, code);
  repro::OnnxQuestion asked{question, line.reduce.test_model, std::nullopt, {}};
  if (!line.expected.empty()) {
    if (!find_differing_set(line, session, asked, found, console, code))
      return failed(found, session, line, console, code, code);
    model = session.program()->onnx();
    asked.question.tolerances = question.tolerances = repro::expected_tolerances(line.tolerances);
  }
  Progress progress(console);
  std::optional<std::size_t> first;
  repro::OnnxReduceOptions options = options_of(line, progress, console, first);
  if (job.helps()) {
    repro::answer_onnx_rank_0(session, asked, *job.ranks(), options.candidate_seconds);
    code = kGood;
    return std::nullopt;
  }
  options.ranks = job.ranks();
  const repro::OnnxReduction r = repro::reduce_onnx(session, *model, asked, options);
  progress.clear();
  if (!r.model) {
    found.add({}, source::message(diag::CannotTell, r.why));
    return failed(found, session, line, console, kCannotTell, code);
  }
  if (!write_model(r, line.reduce.onnx, found, console)) return failed(found, session, line, console, kUsage, code);
  tell_model(r, line.reduce.onnx, console);
  // The file is reduced further, as anybody reads it.
  if (!session.load_file(line.reduce.onnx, found)) return failed(found, session, line, console, kUsage, code);
  WrittenModel written{{}, !line.reduce.test_model.empty(), reduction_json(r, line.reduce.onnx)};
  question.function = onnx::kEntry;
  question.inputs.clear();
  written.inputs = input_texts(*session.program()->onnx(), r, line.reduce.onnx);
  if (!asked.expected) return written;
  // Any change of the module would itself give other values than the framework's.
  written.only_translated = true;
  question.inputs = written.inputs;
  for (const auto& [name, value] : r.outputs) question.expected.push_back(value);
  return written;
}

}  // namespace rldb::ui
