// Loops: range, T.serial, T.parallel, T.vectorized, T.unroll, T.thread_binding, T.grid.
#include <algorithm>

#include "frontend/script/tir/tir.h"
#include "frontend/script/value/convert.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/scalar.h"
#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_script_expected.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_script_tir.h"
#include "rldb/source/diagnostic_verify.h"

namespace rldb::frontend::script {

namespace {

Val loop_value(Reader& r, LoopSpec spec) {
  if (!r.in_tir()) {
    // At parse time outside TensorIR: [f(i) for i in range(4)].
    Val v = Val::of_list(ValKind::Loop, r.keep(std::vector<Val>{spec.starts[0], spec.stops[0]}));
    v.text = "range";
    return v;
  }
  r.fn->tir->loop_specs.push_back(spec);
  Val v = Val::of_list(ValKind::Loop, r.keep(std::vector<Val>{spec.starts[0], spec.stops[0]}));
  v.text = spec.grid ? "grid" : "range";
  v.pointer = &r.fn->tir->loop_specs.back();
  return v;
}

// One loop: (stop), (start, stop), annotations=, step=, unroll=.
Val loop_call(Reader& r, const CallNode& call, ir::ForKind kind) {
  Arguments args(r, call);
  LoopSpec spec;
  spec.kind = kind;
  std::vector<Val> bounds;
  std::size_t position = 0;
  for (Argument& a : args.all()) {
    if (!a.keyword.empty()) continue;
    const std::size_t at = position++;
    const Val v = args.value(&a);
    if (v.is(ValKind::Str)) continue;  // thread_binding(4, "threadIdx.x")
    a.used = true;
    if (at < 2 && !v.is(ValKind::None)) {
      bounds.push_back(v);
    } else if (at == 2 && call.path == "range") {
      spec.step = v;
    } else if (!v.is(ValKind::None)) {
      a.used = false;
    }
  }
  if (auto v = args.get("start")) bounds.insert(bounds.begin(), *v);
  if (auto v = args.get("stop")) bounds.push_back(*v);
  if (auto v = args.get("extent")) bounds.push_back(*v);
  if (auto v = args.get("step")) spec.step = *v;
  std::vector<ir::NamedAttr> annotations;
  if (Argument* a = args.find("annotations")) {
    const Val v = args.value(a);
    if (v.is(ValKind::Dict)) {
      annotations = to_fields(r, v, a->node);
    } else if (!v.is(ValKind::None) && !v.poison()) {
      r.error(a->node, diag::ExpectedDictionary, describe(r, v));
    }
  }
  if (Argument* a = args.find("unroll")) {
    const Val v = args.value(a);
    if (v.is(ValKind::Bool)) {
      annotations.push_back(r.ctx.named(v.integer ? "pragma_unroll" : "disable_unroll", r.ctx.attr(true)));
    } else if (v.is(ValKind::Int)) {
      annotations.push_back(r.ctx.named("pragma_unroll_factor", r.ctx.attr(v.integer)));
    }
  }
  if (kind == ir::ForKind::ThreadBinding) {
    if (Argument* a = args.find("thread")) {
      if (const auto s = to_str(r, args.value(a), a->node)) spec.thread = *s;
    } else {
      for (Argument& b : args.all())
        if (b.keyword.empty() && !b.used && args.value(&b).is(ValKind::Str)) {
          b.used = true;
          spec.thread = b.value->text;
        }
    }
    if (spec.thread.empty()) r.error(call.node, diag::MissingArgument, "thread", call.shown());
  }
  args.finish();
  for (const Val& b : bounds)
    if (b.poison()) return {};
  if (bounds.empty() || bounds.size() > 2) return r.error(call.node, diag::MissingArgument, "stop", call.shown());
  spec.starts = r.keep(std::vector<Val>{bounds.size() == 2 ? bounds[0] : Val::of_int(0)});
  spec.stops = r.keep(std::vector<Val>{bounds.back()});
  if (spec.step.poison()) spec.step = Val::none();
  spec.annotations = r.ctx.list(annotations);
  return loop_value(r, spec);
}

Val serial(Reader& r, const CallNode& c) { return loop_call(r, c, ir::ForKind::Serial); }
Val parallel(Reader& r, const CallNode& c) { return loop_call(r, c, ir::ForKind::Parallel); }
Val vectorized(Reader& r, const CallNode& c) { return loop_call(r, c, ir::ForKind::Vectorized); }
Val unroll(Reader& r, const CallNode& c) { return loop_call(r, c, ir::ForKind::Unrolled); }
Val thread_binding(Reader& r, const CallNode& c) { return loop_call(r, c, ir::ForKind::ThreadBinding); }

// T.grid(a, b): nested serial loops from zero; an extent may be a (start, stop) pair.
Val grid(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  LoopSpec spec;
  spec.grid = true;
  spec.step = Val::none();
  std::vector<Val> starts, stops;
  for (Argument& a : args.all()) {
    if (!a.keyword.empty()) continue;
    a.used = true;
    const Val v = args.value(&a);
    if (v.poison()) return {};
    if (v.is(ValKind::Tuple) && v.items.size() == 2) {
      starts.push_back(v.items[0]);
      stops.push_back(v.items[1]);
    } else {
      starts.push_back(Val::of_int(0));
      stops.push_back(v);
    }
  }
  args.finish();
  if (stops.empty()) return r.error(call.node, diag::MissingArgument, "extents", call.shown());
  spec.starts = r.keep(starts);
  spec.stops = r.keep(stops);
  return loop_value(r, spec);
}

// Both bounds in one integer dtype.
bool bounds_of(Reader& r, const Val& start, const Val& stop, Node at, const ir::Expr*& min, const ir::Expr*& extent) {
  const Node where = stop.cst ? stop.cst : at;
  const ir::DType hint = start.expr() ? start.expr()->dtype() : ir::DType::Void();
  const ir::Expr* end = to_scalar(r, stop, where, hint.is_integral() ? hint : ir::DType::Void());
  if (!end) return false;
  min = to_scalar(r, start, at, end->dtype());
  if (!min) return false;
  if (!end->dtype().is_integral() || !min->dtype().is_integral()) {
    r.error(where, diag::BoundNotInteger, describe(r, Val::of(end)));
    return false;
  }
  auto both = ir::match_dtypes(r.ctx, min, end);
  if (!both.ok()) {
    r.report(where.span(), std::move(both).error());
    return false;
  }
  min = both->first;
  end = both->second;
  if (ir::is_const(min, 0)) {
    extent = end;
    return true;
  }
  extent = ir::sub(r.ctx, end, min);
  if (!ir::isa<ir::IntImm>(extent)) extent = ir::Analyzer(r.ctx).simplify(extent);
  return true;
}

}  // namespace

std::span<const HandlerRow> tir_loop_handlers() {
  static constexpr HandlerRow kRows[] = {
      {"serial", serial}, {"parallel", parallel}, {"vectorized", vectorized},         {"unroll", unroll},
      {"grid", grid},     {"unrolled", unroll},   {"thread_binding", thread_binding},
  };
  return kRows;
}

Val python_range(Reader& r, const CallNode& call) { return loop_call(r, call, ir::ForKind::Serial); }

void read_loop_over(Reader& r, const LoopSpec& spec, Node target, Node iterator, Node body_node) {
  TirFunction& tir = *r.fn->tir;
  std::vector<Node> names;
  // `for x in T.grid(..)` binds x to all variables of the grid.
  const bool one_name = spec.grid && target.is(Kind::Identifier) && spec.stops.size() > 1;
  if (target.is(Kind::Tuple) || target.is(Kind::List)) {
    for (Node t : target.children()) names.push_back(t);
  } else if (one_name) {
    names.assign(spec.stops.size(), target);
  } else {
    names.push_back(target);
  }
  // for i, *js in T.grid(...): js takes the rest.
  const auto star = std::find_if(names.begin(), names.end(), [](Node t) { return t.is(Kind::Splat); });
  std::size_t star_at = 0, star_count = 0;
  Node star_name;
  if (star != names.end() && names.size() <= spec.stops.size() + 1) {
    star_at = std::size_t(star - names.begin());
    star_count = spec.stops.size() + 1 - names.size();
    star_name = star->child(Field::Value);
    const Node splat = *star;
    names.insert(names.erase(star), star_count, splat);
  }
  if (names.size() != spec.stops.size()) {
    r.error(target, diag::LoopTargets, names.size(), spec.stops.size());
    return;
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (names[i].text() == names[k].text() && !one_name && !names[i].is(Kind::Splat)) {
        r.error(names[i], diag::VerifyRedefined, names[i].text());
        return;
      }
  struct Made {
    const ir::Var* var;
    const ir::Expr* min;
    const ir::Expr* extent;
  };
  std::vector<Made> made;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Made m{};
    if (!bounds_of(r, spec.starts[i], spec.stops[i], iterator, m.min, m.extent)) return;
    std::string name(names[i].text());
    if (one_name) name += "_" + std::to_string(i);
    if (names[i].is(Kind::Splat)) name = std::string(star_name.text()) + "_" + std::to_string(i - star_at);
    m.var = r.at(r.ctx.var(r.ctx.str(name), r.ctx.prim(m.extent->dtype())), names[i]);
    made.push_back(m);
  }
  r.fn->scope.enter(ScopeKind::Loop);
  std::vector<Val> all;
  for (std::size_t i = 0; i < made.size(); ++i) {
    all.push_back(Val::of(made[i].var));
    if (!one_name && !names[i].is(Kind::Splat)) r.fn->scope.define(names[i].text(), all.back(), names[i].span());
    tir.loops.push_back({made[i].var, {made[i].min, made[i].extent}});
  }
  if (one_name) r.fn->scope.define(target.text(), Val::of_list(ValKind::Tuple, r.keep(all)), target.span());
  if (star_name) {
    const auto first = all.begin() + std::ptrdiff_t(star_at);
    const std::vector<Val> taken(first, first + std::ptrdiff_t(star_count));
    r.fn->scope.define(star_name.text(), Val::of_list(ValKind::List, r.keep(taken)), star_name.span());
  }
  const ir::Stmt* body = read_tir_block(r, body_node);
  tir.loops.resize(tir.loops.size() - made.size());
  r.fn->scope.leave();
  const ir::Expr* step = nullptr;
  if (!spec.step.is(ValKind::None)) {
    step = to_scalar(r, spec.step, iterator, made[0].extent->dtype());
    if (step && ir::is_const(step, 1)) step = nullptr;
  }
  for (std::size_t i = made.size(); i-- > 0;) {
    const Node where = i == 0 ? body_node : body_node;
    body = r.at(r.ctx.for_stmt(made[i].var, made[i].min, made[i].extent, spec.kind, body, spec.annotations,
                               r.ctx.str(spec.thread), step),
                where);
  }
  tir.emit(body);
}

void read_loop(Reader& r, Node loop) {
  const Node iterator = loop.child(Field::Iterator), target = loop.child(Field::Target);
  if (const Node alternative = loop.child(Field::Alternative))
    r.error(alternative, diag::UnsupportedSyntax, "`else` after a loop");
  const Val v = eval(r, iterator);
  const std::size_t before = r.fn->tir->sequence->statements.size();
  if (v.is(ValKind::Loop) && v.pointer) {
    read_loop_over(r, *static_cast<const LoopSpec*>(v.pointer), target, iterator, loop.child(Field::Body));
    if (r.fn->tir->sequence->statements.size() > before) r.at(r.fn->tir->sequence->statements.back(), loop);
    return;
  }
  if (!v.poison()) r.error(iterator, diag::NotALoop, describe(r, v));
  // The body is read for its own errors, with the variables unknown.
  r.fn->scope.enter(ScopeKind::Loop);
  if (target.is(Kind::Identifier)) r.fn->scope.define(target.text(), Val(), target.span());
  for (Node t : target.children()) r.fn->scope.define(t.text(), Val(), t.span());
  read_tir_block(r, loop.child(Field::Body));
  r.fn->scope.leave();
}

}  // namespace rldb::frontend::script
