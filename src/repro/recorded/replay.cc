// Replays the calls of a recorded run, each on the arguments that were recorded for it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "repro/bisect/numbers.h"
#include "repro/borrow.h"
#include "repro/recorded/callees.h"
#include "repro/recorded/read.h"
#include "repro/values.h"
#include "rldb/bytecode/builtin.h"
#include "rldb/repro/recorded.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

using nlohmann::json;
using runtime::Value;
using runtime::ValueKind;
using session::Engine;

namespace {

// Statements of one kernel that the evaluator runs to check our compiled code: some seconds.
constexpr std::uint64_t kStatementsToCheck = 50'000'000;

bool is_machine(const json& j) {
  return j.is_object() && j.contains("object") && j["object"].is_string() && j["object"] == "c_void_p";
}

// The name and the arguments without the machine, which is the first of some.
RecordedName name_of(const RecordedRow& row) {
  const bool machine = !row.args.empty() && is_machine(row.args[0]);
  return {row.name, row.args.size() - std::size_t(machine), machine};
}

bool has_tensor(const json& j) {
  if (j.is_object() && j.contains("tensor")) return true;
  if (!j.is_structured()) return false;
  return std::any_of(j.begin(), j.end(), has_tensor);
}

// The outcome of a run: the result, and the arguments afterwards.
struct Ran {
  std::vector<Value> args;
  Value result;
  std::string error;  // why there is none
};

class RecordedReplayer {
 public:
  RecordedReplayer(session::Session& session, const RecordedFolder& folder, const ReplayOptions& options,
                   RecordedReplay& out)
      : session_(session), folder_(folder), options_(options), out_(out) {}

  // False: diagnosed.
  bool run(const ir::Module* module, source::Diagnostics& found) {
    std::set<RecordedName> names;
    std::string before;
    const auto note = [&](RecordedRow&& row) {
      names.insert(name_of(row));
      return true;
    };
    if (!folder_.each_row(note, found)) return false;
    const ir::Module* kernels = module_with_kernels(session_, module, names, options_.lower, out_.made_by);
    const Callees callees(session_, kernels, names);
    callees_ = &callees;
    const auto replay = [&](RecordedRow&& row) {
      support::poll();
      if (options_.progress) options_.progress(out_.calls, folder_.rows(), row.name);
      ++out_.calls;
      visit(row);
      return true;
    };
    if (!folder_.each_row(replay, found)) return false;
    conclude();
    return true;
  }

 private:
  void visit(const RecordedRow& row) {
    const RecordedName name = name_of(row);
    const Callee* callee = callees_->find(name);
    const auto builtin = bytecode::find_builtin(row.name);
    const bool computes = has_tensor(row.args) || has_tensor(row.result) || has_tensor(row.after);
    if (builtin && !(callee && gives_a_value(*builtin, row))) {
      ++out_.without_values;
      return;
    }
    if (!row.has_result)
      return skip(row, "it has no result: the instrument skipped it, or it raised an error", computes);
    if (!callee)
      return skip(
          row,
          builtin ? "the builtin is not known" : "the module has no such kernel, and no such function is registered",
          computes);
    std::string why;
    const auto args = arguments(row, why);
    if (!args) return skip(row, why, computes);
    const auto wanted = afterwards(row, *args, why);
    if (!wanted) return skip(row, why, computes);
    if (!has_results(row, *wanted)) return skip(row, "its results are not in the record", computes);
    if (!callee->module) return try_namesakes(row, *callee, *args, *wanted, callee->why, computes);
    const Ran ran = call(*callee, *args, session_.options().engine);
    if (!ran.error.empty()) return try_namesakes(row, *callee, *args, *wanted, ran.error, computes);
    const auto different = judge(row, *callee, *args, *wanted, ran);
    if (!different) return agree(row, *callee);
    if (callee->kind == CalleeKind::Kernel && is_a_namesake(row, name, *args, *wanted)) return;
    if (is_our_fault(row, *callee, *args, *wanted)) return;
    differ(row, *callee, *args, *wanted, ran, *different);
  }

  static bool has_results(const RecordedRow& row, const std::vector<Value>& wanted) {
    return row.after.is_object() || !(wanted.back().is_null() || is_opaque(wanted.back()));
  }

  // A builtin that neither allocates nor only checks.
  static bool gives_a_value(bytecode::BuiltinId id, const RecordedRow& row) {
    using bytecode::BuiltinEffect;
    const BuiltinEffect effect = bytecode::info(id).effect;
    const bool asked =
        effect == BuiltinEffect::Pure || effect == BuiltinEffect::Heap || effect == BuiltinEffect::Mutate;
    const bool changes = row.after.is_object() && !row.after.empty();
    return asked && row.has_result && (!row.result.is_null() || changes);
  }

  std::optional<std::vector<Value>> arguments(const RecordedRow& row, std::string& why) const {
    std::vector<Value> out;
    for (std::size_t i = std::size_t(name_of(row).takes_machine); i < row.args.size(); ++i) {
      const json& j = row.args[i];
      // The memory of an earlier argument.
      const bool alias = j.is_object() && j.contains("same_as") && j["same_as"].is_number_unsigned();
      const std::size_t other = alias ? j["same_as"].get<std::size_t>() : 0;
      if (alias && other < out.size()) {
        out.push_back(out[other]);
        continue;
      }
      auto v = folder_.value(j, why);
      if (!v) {
        why = fmt::format("argument {}: {}", i, why);
        return std::nullopt;
      }
      out.push_back(*std::move(v));
    }
    return out;
  }

  // The arguments as they were after the call, and the result behind them. Those that the call did not change, or that
  // were not recorded again, are null.
  std::optional<std::vector<Value>> afterwards(const RecordedRow& row, const std::vector<Value>& args,
                                               std::string& why) const {
    std::vector<Value> out(args.size());
    const auto machine = std::size_t(name_of(row).takes_machine);
    if (row.after.is_object())
      for (const auto& [key, j] : row.after.items()) {
        std::size_t at = 0;
        const bool number = std::sscanf(key.c_str(), "%zu", &at) == 1 && at >= machine && at - machine < out.size();
        auto v = number ? folder_.value(j, why) : std::nullopt;
        if (!v) {
          why = fmt::format("argument {} after the call: {}", key, number ? why : "there is no such argument");
          return std::nullopt;
        }
        out[at - machine] = *std::move(v);
      }
    std::string ignored;
    const auto result = folder_.value(row.result, ignored);
    out.push_back(result.value_or(Value::null()));
    return out;
  }

  // Copies, in which arguments in the same memory stay together.
  static std::vector<Value> copies_of(const std::vector<Value>& args) {
    std::vector<Value> out;
    for (std::size_t i = 0; i < args.size(); ++i) {
      const auto same = std::find_if(args.begin(), args.begin() + std::ptrdiff_t(i), [&](const Value& other) {
        return other.is(ValueKind::Tensor) && args[i].is(ValueKind::Tensor) && other.object() == args[i].object();
      });
      if (const auto at = std::size_t(same - args.begin()); at < i)
        out.push_back(out[at]);
      else
        out.push_back(copies({args[i]})[0]);
    }
    return out;
  }

  Ran call(const Callee& callee, const std::vector<Value>& args, Engine engine) {
    if (session_.module() != callee.module) session_.set_program(callee.module);
    session_.options().engine = engine;
    Ran ran;
    ran.args = copies_of(args);
    source::Diagnostics found;
    const session::RunResult result = session_.run(callee.function, ran.args, found);
    support::poll_cause();
    ran.result = result.value;
    if (!result.ok) ran.error = result.fault ? result.fault->error.message : found.first_error("it does not run");
    return ran;
  }

  struct Judgement {
    std::optional<std::size_t> argument;
    TensorDifference difference;
  };

  // Narrow ones show the rounding of two correct kernels.
  bool given_tolerances() const {
    const Tolerances& t = options_.tolerances;
    return t.atol || t.rtol || t.ulp || t.exact;
  }

  std::optional<TensorDifference> differs(const RecordedRow& row, const Value& recorded, const Value& ours) {
    auto d = difference(recorded, ours, options_.tolerances);
    if (d && !given_tolerances() && recorded.is(ValueKind::Tensor) && is_rounding(recorded, *d)) d.reset();
    if (!d) note_largest(row, recorded, ours);
    return d;
  }

  // Of a part that agrees.
  void note_largest(const RecordedRow& row, const Value& recorded, const Value& ours) {
    if (!recorded.is(ValueKind::Tensor) || !is_plain_float(recorded.as_tensor())) return;
    Tolerances exact;
    exact.exact = true;
    const auto d = difference(recorded, ours, exact);
    if (!d || !(d->max_abs > out_.largest)) return;
    out_.largest = d->max_abs;
    out_.largest_in = fmt::format("call {}, `{}`", row.call, row.name);
  }

  std::optional<Judgement> judge(const RecordedRow& row, const Callee& callee, const std::vector<Value>& args,
                                 const std::vector<Value>& wanted, const Ran& ran) {
    // Changes by a builtin or a function are known only where they were recorded.
    if (row.after.is_object())
      for (std::size_t i = 0; i < args.size(); ++i) {
        if (!args[i].is(ValueKind::Tensor)) continue;
        if (auto d = differs(row, wanted[i].is_null() ? args[i] : wanted[i], ran.args[i])) return Judgement{i, *d};
      }
    const Value& result = wanted.back();
    if (callee.kind == CalleeKind::Function) return judge_outputs(row, args, wanted, ran);
    if (result.is_null() || is_opaque(result)) return std::nullopt;
    if (auto d = differs(row, result, ran.result)) return Judgement{std::nullopt, *d};
    return std::nullopt;
  }

  // A function of another code generator returns here what TVM's kernel writes to its last arguments.
  std::optional<Judgement> judge_outputs(const RecordedRow& row, const std::vector<Value>& args,
                                         const std::vector<Value>& wanted, const Ran& ran) {
    std::vector<Value> ours;
    flatten(ran.result, ours);
    for (std::size_t k = 0; k < ours.size() && k < args.size(); ++k) {
      const std::size_t i = args.size() - ours.size() + k;
      if (auto d = differs(row, wanted[i].is_null() ? args[i] : wanted[i], ours[k])) return Judgement{i, *d};
    }
    return std::nullopt;
  }

  ReplayedCalls& replayed(const std::string& name) {
    for (ReplayedCalls& r : out_.replayed)
      if (r.name == name) return r;
    out_.replayed.push_back({name, 0, 0});
    return out_.replayed.back();
  }

  void count(const RecordedRow& row, const Callee& callee) {
    ++out_.compared;
    const bool first = replayed(row.name).calls++ == 0;
    if (callee.kind == CalleeKind::Builtin) return;
    out_.kernels += first;
    ++out_.kernel_calls;
  }

  void agree(const RecordedRow& row, const Callee& callee) { count(row, callee); }

  static void add(std::vector<SkippedCalls>& to, const std::string& name, const std::string& why, bool computes) {
    for (SkippedCalls& s : to)
      if (s.name == name && s.why == why) {
        ++s.calls;
        s.computes |= computes;
        return;
      }
    to.push_back({name, why, 1, computes});
  }
  void skip(const RecordedRow& row, const std::string& why, bool computes) {
    add(out_.skipped, row.name, why, computes);
  }

  void try_namesakes(const RecordedRow& row, const Callee& callee, const std::vector<Value>& args,
                     const std::vector<Value>& wanted, const std::string& why, bool computes) {
    if (callee.kind == CalleeKind::Kernel && is_a_namesake(row, name_of(row), args, wanted)) return;
    skip(row, why, computes);
  }

  // Kernels that rldb's passes made may be numbered in another order: one of the same name but for its number gives the
  // recorded result.
  bool is_a_namesake(const RecordedRow& row, const RecordedName& name, const std::vector<Value>& args,
                     const std::vector<Value>& wanted) {
    if (out_.made_by.empty() && !options_.made_by_rldb) return false;
    for (const auto& [other, callee] : callees_->namesakes(name)) {
      const Ran ran = call(*callee, args, session_.options().engine);
      if (!ran.error.empty() || judge(row, *callee, args, wanted, ran)) continue;
      const auto known = std::pair(row.name, other);
      if (std::find(out_.renamed.begin(), out_.renamed.end(), known) == out_.renamed.end())
        out_.renamed.push_back(known);
      count(row, *callee);
      return true;
    }
    return false;
  }

  // The evaluator agrees with the record: our machine code is wrong, or the schedule that it was made from.
  bool is_our_fault(const RecordedRow& row, const Callee& callee, const std::vector<Value>& args,
                    const std::vector<Value>& wanted) {
    const Engine engine = session_.options().engine;
    if (engine != Engine::Jit || callee.kind != CalleeKind::Kernel || given_tolerances()) return false;
    const std::uint64_t limit = session_.options().eval_statements;
    session_.options().eval_statements = kStatementsToCheck;
    const Ran ran = call(callee, args, Engine::Eval);
    session_.options().eval_statements = limit;
    session_.options().engine = engine;
    if (!ran.error.empty() || judge(row, callee, args, wanted, ran)) return false;
    add(out_.ours, row.name, "the evaluator agrees with the record, rldb's compiled kernel does not", true);
    return true;
  }

  void differ(const RecordedRow& row, const Callee& callee, const std::vector<Value>& args,
              const std::vector<Value>& wanted, const Ran& ran, const Judgement& judgement) {
    count(row, callee);
    ++replayed(row.name).different;
    if (out_.first) return;
    RecordedDifference d;
    d.call = row.call;
    d.line = row.line;
    d.name = row.name;
    for (const Value& v : args)
      d.arguments.push_back(v.is(ValueKind::Tensor) ? runtime::describe(v) : runtime::format_brief(v));
    d.argument = judgement.argument;
    d.difference = judgement.difference;
    d.module = callee.module;
    d.kernel = callee.function;
    d.prim_func = callee.kernel;
    d.before = args;
    d.ours = ran.args;
    d.recorded = wanted;
    d.recorded.pop_back();
    for (std::size_t i = 0; i < args.size(); ++i)
      if (d.recorded[i].is_null()) d.recorded[i] = args[i];
    out_.first = std::move(d);
  }

  void conclude() {
    using Verdict = RecordedReplay::Verdict;
    if (out_.first) {
      out_.verdict = Verdict::Differs;
      return;
    }
    std::size_t unseen = 0;
    for (const auto* list : {&out_.skipped, &out_.ours})
      for (const SkippedCalls& s : *list) unseen += s.computes ? s.calls : 0;
    if (out_.compared == 0)
      out_.why = out_.calls == 0 ? "the record has no calls" : "no call could be compared";
    else if (unseen > 0)
      out_.why = fmt::format("what was compared agrees, but {} that compute tensors were not compared",
                             unseen == 1 ? "one call" : fmt::format("{} calls", unseen));
    else
      out_.verdict = Verdict::Agree;
  }

  session::Session& session_;
  const RecordedFolder& folder_;
  const ReplayOptions& options_;
  RecordedReplay& out_;
  const Callees* callees_ = nullptr;
};

}  // namespace

std::optional<RecordedReplay> replay_recorded(session::Session& session, const ir::Module* module,
                                              const std::string& folder, const ReplayOptions& options,
                                              source::Diagnostics& out) {
  RecordedFolder recorded;
  if (!recorded.open(folder, out)) return std::nullopt;
  RecordedReplay replay;
  const Borrow borrow(session);
  if (!RecordedReplayer(session, recorded, options, replay).run(module, out)) return std::nullopt;
  return replay;
}

}  // namespace rldb::repro
