// The sides of a validation: a module with the engine that runs it, and the session that runs both. Room-private.
#pragma once

#include "repro/bisect/follow.h"
#include "repro/bisect/signature.h"
#include "repro/compare/other_precision.h"
#include "repro/device_functions.h"
#include "repro/dims.h"
#include "repro/finite.h"
#include "repro/values.h"
#include "rldb/repro/compare.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

// A module and the engine that runs it.
struct Way {
  const ir::Module* module;
  session::Engine engine;
  std::string text;
  const ir::Function* given = nullptr;  // the one whose arguments are given, if it takes others; null: its own
  const ir::Function* function = nullptr;
  const ir::Module* source = nullptr;  // of `given`
};

// The session with another module for as long as this lives, and its dims free to set.
class Borrowed {
 public:
  Borrowed(session::Session& session, std::uint64_t statements)
      : session_(session),
        program_(session.exchange_program(session.program() ? session.program()->copy() : nullptr)),
        options_(session.options()) {
    session.options().eval_statements = statements;
    session.options().quick_kernels = false;  // as Borrow
  }
  ~Borrowed() {
    session_.set_program(std::move(program_));
    session_.options() = std::move(options_);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  struct Made {
    std::vector<runtime::Value> values;
    std::vector<bool> generated;
  };
  std::optional<Made> arguments(const ir::Module* module, std::string_view function) {
    session_.set_program(module);
    source::Diagnostics ignored;
    auto made = session_.arguments(function, {}, ignored);
    if (!made) return std::nullopt;
    Made out;
    for (session::Argument& a : *made) {
      out.values.push_back(a.value);
      out.generated.push_back(a.generated);
    }
    return out;
  }

  // Numbers for which less of the result is NaN or infinite. False: none were found.
  bool find_finite(const ir::Module* module, std::string_view function, std::vector<runtime::Value>& args,
                   const std::vector<bool>& generated) {
    const RunForFinite again = [&](const std::vector<runtime::Value>& values) {
      return run_for_finite(session_, module, function, values);
    };
    auto run = again(args);
    return run && !prefer_finite(args, generated, *run, again).empty();
  }

  session::RunResult run(const ir::Module* module, std::string_view function, const std::vector<runtime::Value>& args,
                         std::string& error) {
    session_.set_program(module);
    source::Diagnostics found;
    session::RunResult result = session_.run(function, args, found);
    support::poll_cause();
    if (error.empty()) error = found.first_error();
    // A PrimFunc writes its results to its arguments.
    if (result.ok && ir::as<ir::PrimFunc>(module->find(function))) {
      std::vector<runtime::Value> all = args;
      if (!result.value.is_null()) all.push_back(result.value);
      result.value = runtime::Value::of_tuple(std::move(all));
    }
    return result;
  }

  // The arguments as this side takes them: weights bundled or computed beforehand. None: they cannot be determined.
  std::optional<std::vector<runtime::Value>> taken_by(const Way& way, std::string_view name,
                                                      std::vector<runtime::Value> args, std::string& why) {
    if (!way.given) return args;
    cast_floats(way, args);
    auto taken = adapt_arguments(session_, {way.source, way.given, args}, way.module, name, way.function, why);
    if (!taken && way.given->params.size() == way.function->params.size()) return args;  // the run tells what is wrong
    return taken;
  }

  // Parameters that this side takes in another format of floats.
  static void cast_floats(const Way& way, std::vector<runtime::Value>& args) {
    if (way.function->params.size() != args.size()) return;
    for (std::size_t i = 0; i < args.size(); ++i) {
      const auto* t = ir::as<ir::TensorType>(way.function->params[i]->type);
      const bool other = t && args[i].is(runtime::ValueKind::Tensor) && is_narrow(t->dtype) &&
                         is_narrow(args[i].as_tensor().dtype()) && args[i].as_tensor().dtype() != t->dtype;
      if (other) args[i] = in_precision(args[i], t->dtype);
    }
  }

  // Compares unmodified sides tensor by tensor for the first divergence. None: it shows no divergence.
  std::optional<FirstDifference> first_difference(const Way& before, const Way& after, std::string_view function,
                                                  const std::vector<runtime::Value>& args, std::int64_t dim) {
    set_dim(dim);
    Program a, b;
    for (const auto& [program, way] : {std::pair{&a, &before}, std::pair{&b, &after}}) {
      program->module = way->module;
      program->function = function;
      std::string ignored;
      std::optional<std::vector<runtime::Value>> taken = taken_by(*way, function, args, ignored);
      if (!taken) return std::nullopt;
      program->args = std::move(*taken);
      program->kernels = way->engine;
    }
    Tolerances tolerances;
    tolerances.atol = tolerance().atol;
    tolerances.rtol = tolerance().rtol;
    Comparison c = compare(session_, a, b, tolerances);
    if (c.verdict != Comparison::Verdict::Differs) return std::nullopt;
    return c.first;
  }

  ir::Context& context() { return session_.context(); }
  // The machine's engine: the session's own, unless that is the evaluator.
  session::Engine machine() const {
    using session::Engine;
    return options_.engine == Engine::Eval ? Engine::Vm : options_.engine;
  }
  void set_engine(session::Engine engine) { session_.options().engine = engine; }
  void set_dim(std::int64_t dim) {
    session_.options().dims = options_.dims;
    session_.options().default_dim = dim;
  }
  bool set_dims_apart(std::int64_t dim, const ir::Function* f) {
    set_dim(dim);
    return f && tell_dims_apart(session_.options(), f);
  }
  std::string dims_text(const ir::Function* f) const { return repro::dims_text(session_.options(), f); }
  std::string dims_text(const ir::Function* f, const std::vector<runtime::Value>& values) const {
    return repro::dims_text(session_.options(), f, values);
  }
  const runtime::Tolerance& tolerance() const { return session_.options().tolerance; }
  bool needs_a_device(const ir::Module* module) const { return repro::needs_a_device(session_, module); }

 private:
  session::Session& session_;
  std::unique_ptr<session::Program> program_;
  session::Options options_;
};

}  // namespace rldb::repro
