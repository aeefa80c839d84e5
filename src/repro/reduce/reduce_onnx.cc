// Reducer of ONNX models: tries the changes until none makes the model smaller while it still shows the symptom.
#include "rldb/repro/reduce_onnx.h"

#include <fmt/format.h>

#include <chrono>
#include <unordered_set>

#include "repro/borrow.h"
#include "repro/expected/keep.h"
#include "repro/oracle/ask_about_file.h"
#include "repro/other_ranks.h"
#include "repro/reduce/child.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/verifier.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

using Clock = std::chrono::steady_clock;
using onnx::ModelRef;

// As in reduce.cc: the result does not depend on the number of jobs.
constexpr std::size_t kAtOnce = 16;
constexpr std::string_view kModelFile = "model.onnx";

// A window that is larger than its data gives such a result; other readers of models refuse it.
bool gives_nothing(const onnx::Translation& model) {
  bool nothing = false;
  ir::walk(model.function()->body, [&](const ir::Node* n) {
    const auto* b = ir::as<ir::Binding>(n);
    const auto* t = b ? ir::as<ir::TensorType>(b->var->type) : nullptr;
    for (int i = 0; t && t->has_shape && i < t->ndim; ++i)
      nothing = nothing || ir::is_const(t->shape[std::size_t(i)], 0);
    return true;
  });
  return nothing;
}

class OnnxReducer {
 public:
  OnnxReducer(session::Session& session, const OnnxQuestion& question, const OnnxReduceOptions& options,
              OnnxReduction& out)
      : session_(session), question_(question), options_(options), out_(out) {
    limits_.seconds = options.candidate_seconds;
    if (question.expected) take_expected(*question.expected);
  }

  // On another rank: what `for_another_rank` has made.
  std::optional<Symptom> answer(const std::vector<std::string>& parts) {
    source::Diagnostics found;
    const ModelRef model = parts.size() < 2 ? nullptr : onnx::read_model(kModelFile, parts[1], found);
    if (!model) return std::nullopt;
    gave_nothing_ = !parts[0].empty();
    inputs_.clear();
    for (std::size_t i = 2; i + 1 < parts.size(); i += 2)
      if (auto value = onnx::read_tensor(parts[i + 1]); value.ok()) inputs_[parts[i]] = *std::move(value);
    return ask(model);
  }

  void run(const onnx::Translation& first) {
    source::Diagnostics found;
    current_ = onnx::to_reduce(first.model, session_.options().bound_inputs, found);
    if (!current_) return fail(found);
    out_.before = out_.after = onnx::size_of(*current_);
    if (options_.ranks) ranks_.emplace(*options_.ranks);
    if (!look_anew(question_.question.inputs)) return;
    if (question_.expected) {
      current_ = onnx::ending_at(current_, seen_, question_.first);
      out_.after = onnx::size_of(*current_);
      if (!look_anew()) return;
    }
    auto symptom = ask_in_child(limits_, [&] { return ask_or_why(current_); });
    if (symptom && symptom->kind == SymptomKind::None && !inputs_.empty() && !question_.expected) {
      // Generated ones, with each of their dims, may show what one run does not.
      given_inputs_ = false;
      inputs_.clear();
      symptom = ask_in_child(limits_, [&] { return ask_or_why(current_); });
    }
    if (!symptom || symptom->kind == SymptomKind::None) {
      out_.why = symptom ? symptom->text : fmt::format("it has no answer within {} s", limits_.seconds);
      return;
    }
    out_.symptom = *symptom;
    start_ = Clock::now();
    try {
      to_fixed_point();
    } catch (const Stopped&) {
    } catch (const support::Cancelled&) {
      support::acknowledge_cancel();
    }
    finish();
  }

 private:
  struct Stopped {};
  using Changes = onnx::ModelChanges (*)(const ModelRef&, const onnx::Seen&);

  void fail(const source::Diagnostics& found) { out_.why = found.first_error(); }

  void take_expected(const ExpectedSet& set) {
    seen_.results.emplace();
    for (const auto& [name, value] : set.values) {
      seen_.results->insert(name);
      expected_[name] = value;
    }
    for (const auto& [name, value] : set.inputs) inputs_[name] = value;
  }

  // ---- the current model ----

  std::shared_ptr<const onnx::Translation> translated(const ModelRef& model, source::Diagnostics& found) {
    auto made = onnx::to_relax(session_.context(), model, {}, {}, found);
    return made && ir::verify(session_.context(), made->module, found) ? made : nullptr;
  }

  // The values that the model's inputs have as arguments of its function.
  std::vector<std::string> texts_of(const onnx::Translation& model) {
    std::vector<std::string> texts;
    const auto* f = model.function();
    for (std::size_t i = 0; i < model.inputs.size() && i < f->params.size(); ++i) {
      const auto given = inputs_.find(model.inputs[i]);
      if (given == inputs_.end()) continue;
      const std::string name = fmt::format("model_input_{}", i);  // no text can have taken it: it is never printed
      session_.set_value(name, given->second);
      texts.push_back(fmt::format("{}={}", f->params[i]->name, name));
    }
    return texts;
  }

  Question question_for(const onnx::Translation& model, const std::vector<std::string>& more) {
    Question q = question_.question;
    q.function = onnx::kEntry;
    q.inputs = texts_of(model);
    q.inputs.insert(q.inputs.end(), more.begin(), more.end());
    if (!question_.expected) return q;
    for (const std::string& name : onnx::output_names(*model.model))
      if (const auto value = expected_.find(name); value != expected_.end()) q.expected.push_back(value->second);
    return q;
  }

  // Types of the current model's values, and what they are in a run. False: it cannot be translated any more.
  bool look_anew(const std::vector<std::string>& texts = {}) {
    const Borrow borrow(session_);
    source::Diagnostics found;
    const auto model = translated(current_, found);
    if (!model) {
      fail(found);
      return false;
    }
    session_.set_program(model->module);
    gave_nothing_ = gives_nothing(*model);
    onnx::Tensors of_run;
    Question q = question_for(*model, texts);
    q.kind = q.kind == OracleKind::Nan ? OracleKind::Nan : OracleKind::Values;
    Oracle oracle(session_, q);
    const bool runs = oracle.start(model->module);
    const auto& arguments = oracle.arguments();  // of use even if it cannot run
    if (runs) of_run = keep_values(session_, *model, arguments, found).values;
    for (std::size_t i = 0; i < model->inputs.size() && i < arguments.size(); ++i) {
      of_run[model->inputs[i]] = arguments[i];
      if (given_inputs_) inputs_[model->inputs[i]] = arguments[i];
    }
    for (const auto& [name, value] : expected_) of_run[name] = value;
    seen_.values = onnx::seen_values(*model, of_run);
    reference_ = oracle.reference();
    return true;
  }

  // ---- trying ----

  std::optional<Symptom> ask(const ModelRef& model) {
    source::Diagnostics found;
    const auto made = translated(model, found);
    if (!made || (gives_nothing(*made) && !gave_nothing_)) return std::nullopt;
    if (!question_.command.empty()) return ask_command(model);
    const Question q = question_for(*made, {});
    if (question_.expected && q.expected.size() != onnx::output_names(*model).size()) return std::nullopt;
    session_.set_program(made->module);
    return Oracle(session_, q).ask(made->module);
  }

  std::optional<Symptom> ask_command(const ModelRef& model) {
    const auto bytes = onnx::model_file(*onnx::with_output_types(model, seen_));
    if (!bytes.ok()) return std::nullopt;
    const CommandAnswer answer = ask_about_file(question_.command, *bytes, kModelFile);
    if (answer.code != 0) return std::nullopt;
    const std::string text = answer.last_line.empty() ? "the test command reports the fault" : answer.last_line;
    return Symptom{SymptomKind::Command, {}, {}, text, answer.form};
  }

  // A symptom without a kind explains why there is none.
  std::optional<Symptom> ask_or_why(const ModelRef& model) {
    if (auto symptom = ask(model)) return symptom;
    const std::string why = "the model shows no symptom";
    source::Diagnostics found;
    const auto made = translated(model, found);
    if (!made) return Symptom{{}, {}, {}, why + ": " + found.first_error()};
    if (!question_.command.empty()) return Symptom{{}, {}, {}, why};
    Oracle oracle(session_, question_for(*made, {}));
    session_.set_program(made->module);
    (void)oracle.ask(made->module);
    for (const std::string& reason : {oracle.why(), oracle.unseen()})
      if (!reason.empty()) return Symptom{{}, {}, {}, why + ": it cannot be compared: " + reason};
    return Symptom{{}, {}, {}, why};
  }

  bool shows(const Symptom& found) const { return still_shows(out_.symptom, found, question_.question); }

  void check_time() const {
    support::poll();
    if (options_.seconds > 0 && std::chrono::duration<double>(Clock::now() - start_).count() > options_.seconds)
      throw Stopped{};
  }

  // `types_stay`: values that remain have the types that they had.
  void repeat(Changes changes, bool types_stay) {
    while (accept_one(changes(current_, seen_)))
      if (!types_stay) look_anew();
  }

  void values_for_runs() {
    for (std::size_t length = std::max<std::size_t>(out_.after.nodes / 2, 1);; length /= 2) {
      while (accept_one(onnx::values_for_nodes(current_, seen_, length))) {
      }
      if (length <= 1) break;
    }
  }

  void to_fixed_point() {
    for (bool again = true; again;) {
      const std::size_t before = out_.accepted;
      out_.refused = {};
      repeat(onnx::without_unread, true);
      repeat(onnx::fewer_outputs, true);
      repeat(onnx::earlier_outputs, true);
      repeat(onnx::inlined_bodies, false);
      values_for_runs();
      repeat(onnx::operands_for_nodes, false);
      repeat(onnx::fewer_constants, false);
      repeat(onnx::fewer_attributes, false);
      repeat(onnx::fewer_symbols, false);
      repeat(onnx::smaller_dims, false);
      again = out_.accepted != before;
    }
    out_.complete = true;
  }

  struct Tried {
    std::string move;
    onnx::SmallerModel made;
  };

  bool accept_one(const onnx::ModelChanges& changes) {
    std::vector<Tried> batch;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      check_time();
      onnx::SmallerModel made = changes[i].make();
      if (made.model && is_new(*made.model)) batch.push_back({changes[i].move, std::move(made)});
      if (batch.size() < kAtOnce && i + 1 < changes.size()) continue;
      if (accept_of(batch)) return true;
      batch.clear();
    }
    return false;
  }

  bool is_new(const onnx::Model& made) {
    if (!tried_.insert(onnx::hash_of(made)).second) return false;
    if (onnx::size_of(made) < onnx::size_of(*current_)) return true;
    ++out_.refused.not_smaller;
    return false;
  }

  void take_inputs(const onnx::SmallerModel& candidate) {
    if (given_inputs_)
      for (const auto& [name, value] : candidate.inputs) inputs_[name] = value;
  }

  std::optional<Symptom> ask_with_inputs(const onnx::SmallerModel& candidate) {
    take_inputs(candidate);  // in the child process
    return ask(candidate.model);
  }

  bool accept_of(const std::vector<Tried>& batch) {
    if (batch.empty()) return false;
    const auto found = first_with([&](const Symptom& s) { return shows(s); }, batch.size(), options_.jobs, limits_,
                                  [&](std::size_t i) { return ask_with_inputs(batch[i].made); },
                                  [&](const std::optional<Symptom>& answer) {
                                    ++out_.tried;
                                    note(answer);
                                    tell({});
                                  },
                                  elsewhere(batch));
    if (!found) return false;
    for (std::size_t i = *found + 1; i < batch.size(); ++i) tried_.erase(onnx::hash_of(*batch[i].made.model));
    current_ = batch[*found].made.model;
    take_inputs(batch[*found].made);
    ++out_.accepted;
    out_.after = onnx::size_of(*current_);
    tell(batch[*found].move);
    return true;
  }

  Elsewhere elsewhere(const std::vector<Tried>& batch) {
    if (!ranks_) return {};
    return {&*ranks_, [this, &batch](std::size_t i) { return for_another_rank(batch[i].made); }};
  }

  // Whether the current model has a result without elements, the file, its inputs' names and values.
  std::optional<std::string> for_another_rank(const onnx::SmallerModel& candidate) {
    const auto file = onnx::model_file(*onnx::with_output_types(candidate.model, seen_));
    if (!file.ok()) return std::nullopt;
    std::vector<std::string> parts{gave_nothing_ ? "1" : "", *file};
    for (const std::string& name : onnx::input_names(*candidate.model)) {
      const onnx::Tensors& from = given_inputs_ && candidate.inputs.contains(name) ? candidate.inputs : inputs_;
      const auto found = from.find(name);
      if (found == from.end()) continue;
      const auto value = onnx::tensor_file(name, found->second);
      if (!value.ok()) return std::nullopt;
      parts.push_back(name);
      parts.push_back(*value);
    }
    return to_parts(parts);
  }

  void note(const std::optional<Symptom>& answer) {
    if (!answer) {
      ++out_.refused.without_symptom;
    } else if (!shows(*answer)) {
      ++out_.refused.other_symptom;
      if (out_.refused.other.empty()) out_.refused.other = std::string(to_string(answer->kind)) + ": " + answer->text;
    }
  }

  void tell(const std::string& move) const {
    if (options_.progress) options_.progress(out_.after, out_.tried, move);
  }

  // ---- the result ----

  // Values belong to the result only if the symptom is about them.
  bool needs_values() {
    if (question_.expected) return true;
    const SymptomKind kind = out_.symptom.kind;
    return kind == SymptomKind::Values || kind == SymptomKind::NotFinite;
  }

  void finish() {
    if (!look_anew()) return;
    out_.model = onnx::with_output_types(current_, seen_);
    if (const auto answer = ask_in_child(limits_, [&] { return ask(current_); }); answer && shows(*answer))
      out_.symptom = *answer;
    if (!needs_values()) return;
    for (const std::string& name : onnx::input_names(*current_))
      if (const auto value = inputs_.find(name); value != inputs_.end()) out_.inputs.push_back(*value);
    const std::vector<std::string> outputs = onnx::output_names(*current_);
    for (std::size_t i = 0; i < outputs.size() && i < reference_.size(); ++i)
      if (reference_[i].is(runtime::ValueKind::Tensor)) out_.outputs.emplace_back(outputs[i], reference_[i]);
  }

  session::Session& session_;
  const OnnxQuestion& question_;
  const OnnxReduceOptions& options_;
  OnnxReduction& out_;
  ChildLimits limits_;
  std::optional<OtherRanks> ranks_;
  Clock::time_point start_;
  ModelRef current_;
  onnx::Seen seen_;
  bool given_inputs_ = true;
  bool gave_nothing_ = false;        // the current model has a result without elements
  onnx::Tensors inputs_, expected_;  // by the names of the model; an input without a value is generated
  std::vector<runtime::Value> reference_;
  std::unordered_set<std::size_t> tried_;
};

}  // namespace

OnnxReduction reduce_onnx(session::Session& session, const onnx::Translation& model, const OnnxQuestion& question,
                          const OnnxReduceOptions& options) {
  OnnxReduction out;
  OnnxReducer(session, question, options, out).run(model);
  return out;
}

void answer_onnx_rank_0(session::Session& session, const OnnxQuestion& question, support::Ranks& ranks,
                        double candidate_seconds) {
  const OnnxReduceOptions options{1, candidate_seconds, 0, nullptr, {}};
  OnnxReduction unused;
  OnnxReducer reducer(session, question, options, unused);
  const ChildLimits limits{candidate_seconds};
  answer_rank_0(ranks, [&](const std::string& asked) {
    const auto parts = from_parts(asked);
    return to_wire(parts ? ask_in_child(limits, [&] { return reducer.answer(*parts); }) : std::nullopt);
  });
}

std::string minimality(const OnnxReduction& r) {
  ReductionFacts facts;
  facts.accepted = r.accepted;
  facts.complete = r.complete;
  facts.refused = r.refused;
  return minimality(facts);
}

}  // namespace rldb::repro
