// Makes two programs the stages of a bisection, and its answer a comparison.
#include "repro/compare/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "repro/bisect/meant.h"
#include "repro/bisect/stages.h"
#include "repro/borrow.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/equal.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

// A comparison that takes longer than this is not repeated on other inputs.
constexpr std::chrono::seconds kMostForOne{4};

// Of two programs that need not come from each other, storages may have any size.
bool take_memory(const TraceBisection& found, Comparison& c) {
  if (found.memory.empty()) return false;
  const Finding& f = found.memory.front();
  if (f.kind == Finding::Kind::Resized) {
    c.notes.push_back(to_string(f));
    return false;
  }
  c.verdict = Comparison::Verdict::Differs;
  c.why = "the values agree on all inputs that were tried, but the second uses memory wrongly: " + to_string(f);
  return true;
}

// False: the programs agree, or differ in parts only.
bool take_difference(session::Session& session, const SearchOptions& options, const TraceBisection& found,
                     Comparison& c) {
  const TriedInputs tried = c.tried;
  const std::vector<std::string> notes = c.notes;
  if (found.comparison.verdict != Comparison::Verdict::Differs) {
    return take_memory(found, c);
  }
  c = found.large ? found.comparison
                  : compare(session, found.good_program, found.bad_program, options.tolerances, options.shadow);
  c.tried = tried;
  c.notes = notes;
  if (found.behind_nan) c.verdict = Comparison::Verdict::Differs, c.why = to_string(c.nan);
  std::string on = found.dims.empty() ? std::string() : "dims " + found.dims;
  if (!found.numbers.empty()) on += (on.empty() ? "" : ", ") + found.numbers;
  if (!on.empty()) c.notes.push_back("it shows on: " + on);
  return true;
}

}  // namespace

std::string differs_by_itself(const TraceBisection& found) {
  constexpr const char* kNote =
      "`{}` differs when it is run by itself, on numbers that were not seen in the programs ({}): it may be wrong "
      "there";
  if (found.kernel) return fmt::format(kNote, found.kernel->kernel, found.numbers);
  if (!found.by_itself.empty()) return fmt::format(kNote, found.by_itself, found.numbers);
  return {};
}

void keep_given(session::Options& options, const ir::Function* f, Followed& what) {
  what.keep_seed = options.seed != session::Options().seed;
  const auto keep = [&](const ir::Var* v, std::int64_t value) {
    options.dims.try_emplace(std::string(v->name), value);
  };
  for (const ir::Var* p : f->params) {
    const auto* t = ir::as<ir::TensorType>(p->type);
    const auto it = what.values.find(p->name);
    if (!t || !t->has_shape || it == what.values.end() || !it->second.is(runtime::ValueKind::Tensor)) continue;
    const auto& shape = it->second.as_tensor().shape();
    for (std::size_t k = 0; k < t->shape.size() && k < shape.size(); ++k)
      if (const auto* v = ir::as<ir::Var>(t->shape[k])) keep(v, shape[k]);
  }
  if (options.default_dim == session::Options().default_dim) return;
  std::vector<const ir::Var*> open;
  for (const ir::Var* p : f->params) ir::collect_vars(p->type, open);
  for (const ir::Var* v : open) keep(v, options.default_dim);
}

std::optional<std::pair<Program, Program>> search_inputs(session::Session& session, SearchedPair pair,
                                                         const SearchOptions& options, Comparison& c) {
  using Verdict = Comparison::Verdict;
  if (c.verdict == Verdict::Differs || (c.verdict == Verdict::CannotTell && c.nan.elements == 0)) return std::nullopt;
  if (options.took > kMostForOne) {
    const double seconds = double(options.took.count()) / 1e6;
    c.notes.push_back(fmt::format("no other inputs were tried: a comparison takes {:.1f} s", seconds));
    return std::nullopt;
  }
  const Borrow borrow(session);
  TraceBisection both;
  both.stages = {pair.a, pair.b};
  if (const auto* f = ir::as<ir::Function>(pair.a.module->find(pair.what.function)))
    keep_given(session.options(), f, pair.what);
  std::string rounding;
  if (options.shadow)
    pair.what.counts = [&](const Program& good, const Program& bad) {
      const Comparison on_these = compare(session, good, bad, options.tolerances, true);
      if (!on_these.shadow || on_these.shadow->verdict != Shadow::Verdict::Rounding) return true;
      rounding = to_string(*on_these.shadow);
      return false;
    };
  try {
    const TraceBisection found = bisect_stages(session, std::move(both), options.tolerances, pair.what, {}, nullptr);
    c.tried.add(found.tried);
    if (!rounding.empty()) c.notes.push_back("on other inputs they differ by " + rounding);
    for (const std::string& note : found.notes) c.notes.push_back(note);
    if (found.verdict != TraceBisection::Verdict::Found) return std::nullopt;
    if (const std::string note = differs_by_itself(found); !note.empty()) {
      c.notes.push_back(note);
      return std::nullopt;
    }
    if (!take_difference(session, options, found, c)) return std::nullopt;
    return std::pair(found.good_program, found.bad_program);
  } catch (const support::Cancelled&) {
    support::acknowledge_cancel();  // what was compared is reported
    c.notes.emplace_back(kSearchEnded);
  } catch (const std::bad_alloc&) {
    c.notes.emplace_back(kSearchOutOfMemory);
  }
  return std::nullopt;
}

namespace {

// The second module with the function under the name that it has in the first. Null: another one has it.
const ir::Module* under_one_name(ir::Context& ctx, const Program& a, const Program& b) {
  if (a.function == b.function) return b.module;
  if (b.module->find(a.function)) return nullptr;
  ir::ModuleBuilder builder(ctx, *b.module);
  builder.set(a.function, b.module->find(b.function));
  return builder.build();
}

}  // namespace

void search_inputs(session::Session& session, const Program& a, const Program& b, ComparedInputs& inputs,
                   const SearchOptions& options, Comparison& c) {
  const auto generated = [](const session::Argument& x) { return x.generated; };
  if (c.as_meant || !a.module || !b.module) return;
  if (meant_by_pipeline(inputs.passes) != Meant::Exact || session::is_on_device(a.kernels)) return;
  if (std::none_of(inputs.arguments.begin(), inputs.arguments.end(), generated)) return;
  const auto* f = ir::as<ir::Function>(a.module->find(a.function));
  if (!f || !ir::as<ir::Function>(b.module->find(b.function)) || session::is_on_device(b.kernels)) return;
  const Borrow borrow(session);
  SearchedPair pair;
  pair.what.function = a.function;
  for (const session::Argument& x : inputs.arguments)
    if (!x.generated) pair.what.values.emplace(x.parameter, x.value);
  pair.a.module = pair.a.kernels = a.module;
  pair.b.module = pair.b.kernels = under_one_name(session.context(), a, b);
  pair.a.file = a.label;
  pair.b.file = b.label;
  if (a.kernels != b.kernels) pair.a.kernels_by = a.kernels, pair.b.kernels_by = b.kernels;
  if (!pair.b.module || (a.kernels == b.kernels && ir::structural_equal(pair.a.module, pair.b.module))) return;
  session.options().engine = a.kernels;
  const auto found = search_inputs(session, std::move(pair), options, c);
  if (!found || found->first.args.size() != inputs.arguments.size()) return;
  for (std::size_t i = 0; i < inputs.arguments.size(); ++i) inputs.arguments[i].value = found->first.args[i];
}

}  // namespace rldb::repro
