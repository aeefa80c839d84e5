// Calls by name: arguments by position and keyword, and the table of readers.
#include "frontend/script/value/calls.h"

#include <fmt/format.h>

#include <utility>

#include "frontend/script/relax/relax.h"
#include "frontend/script/tir/tir.h"
#include "frontend/script/value/convert.h"
#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_relax.h"

namespace rldb::frontend::script {

Arguments::Arguments(Reader& r, const CallNode& call) : r_(r), call_(call) {
  std::string_view keyword;  // the last one
  for (Node n : call.arguments.children()) {
    if (n.is(Kind::KeywordArgument)) {
      const Node name = n.child(Field::Name);
      for (const Argument& other : all_)
        if (other.keyword == name.text()) r.error(name, diag::RepeatedArgument, name.text());
      all_.push_back({name.text(), name, n.child(Field::Value), std::nullopt, false});
      keyword = name.text();
    } else if (n.is(Kind::Splat)) {
      const Val v = eval(r, n.child(Field::Value));
      if (v.is_sequence()) {
        for (const Val& item : v.items) all_.push_back({{}, {}, n, item, false});
      } else if (!v.poison()) {
        r.error(n, diag::CannotSplat, describe(r, v));
      }
    } else if (n.is(Kind::DictionarySplat)) {
      r.error(n, diag::UnsupportedSyntax, "`**` in a call");
    } else if (!n.is(Kind::Error) && !n.is(Kind::Missing)) {
      if (!keyword.empty()) r.error(n, diag::PositionalAfterKeyword, std::exchange(keyword, {}));
      all_.push_back({{}, {}, n, std::nullopt, false});
    }
  }
  for (const Argument& a : all_) positional_ += a.keyword.empty() ? 1 : 0;
}

Argument* Arguments::find(std::size_t position, std::string_view keyword) {
  if (!keyword.empty() && asked_count_ < asked_.size()) asked_[asked_count_++] = keyword;
  std::size_t at = 0;
  for (Argument& a : all_) {
    const bool hit = a.keyword.empty() ? at++ == position : !keyword.empty() && a.keyword == keyword;
    if (!hit || a.used) continue;
    a.used = true;
    return &a;
  }
  return nullptr;
}

Val Arguments::value(Argument* a) {
  if (!a->value) {
    a->value = eval(r_, a->node);
    if (!a->value->is(ValKind::Lambda)) a->value->cst = a->node;
  }
  return *a->value;
}

std::optional<Val> Arguments::get(std::size_t position, std::string_view keyword) {
  Argument* a = find(position, keyword);
  if (!a) return std::nullopt;
  Val v = value(a);
  if (v.is(ValKind::None)) return std::nullopt;
  return v;
}

std::optional<Val> Arguments::require(std::size_t position, std::string_view keyword) {
  Argument* a = find(position, keyword);
  if (a) return value(a);
  r_.error(call_.node, diag::MissingArgument, keyword, call_.shown());
  return std::nullopt;
}

Node Arguments::node(std::size_t position, std::string_view keyword) {
  std::size_t at = 0;
  for (Argument& a : all_)
    if (a.keyword.empty() ? at++ == position : a.keyword == keyword) return a.node;
  return call_.node;
}

void Arguments::finish() {
  for (const Argument& a : all_) {
    if (a.used) continue;
    if (a.keyword.empty()) {
      r_.error(a.node, diag::ExtraArgument, call_.shown());
    } else {
      const std::string_view near = source::nearest(a.keyword, {asked_.begin(), asked_.begin() + asked_count_});
      r_.error_hint(a.name, near.empty() ? std::string() : fmt::format("did you mean `{}`?", near),
                    diag::UnknownKeyword, a.keyword, call_.shown());
    }
    return;
  }
}

namespace {

using Table = std::unordered_map<std::string_view, Handler>;

Table make_table(std::initializer_list<std::span<const HandlerRow>> families) {
  Table t;
  for (const auto& rows : families)
    for (const HandlerRow& row : rows) t.emplace(row.path, row.handler);
  return t;
}

}  // namespace

Handler find_handler(Space space, std::string_view path) {
  static const Table relax = make_table({relax_handlers(), type_handlers()});
  static const Table tir = make_table(
      {tir_handlers(), tir_statement_handlers(), tir_buffer_handlers(), tir_loop_handlers(), tir_block_handlers()});
  static const Table ir = make_table({ir_handlers()});
  static const Table bare = make_table({python_handlers()});
  const auto in = [&](const Table& t) -> Handler {
    const auto it = t.find(path);
    return it == t.end() ? nullptr : it->second;
  };
  switch (space) {
    case Space::Relax:
      return in(relax);
    case Space::Tir:
      return in(tir);
    case Space::Ir:
    case Space::Tvm:
      return in(ir);
    case Space::None:
      return in(bare);
    case Space::Other:
      return nullptr;
  }
  return nullptr;
}

Val opaque_constructor(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  std::vector<const ir::Attr*> items;
  std::vector<ir::NamedAttr> fields;
  bool good = true;
  for (Argument& a : args.all()) {
    a.used = true;
    const ir::Attr* v = to_attr(r, args.value(&a), a.node);
    if (!v) {
      good = false;
    } else if (a.keyword.empty()) {
      items.push_back(v);
    } else {
      fields.push_back(r.ctx.named(a.keyword, v));
    }
  }
  if (!good) return {};
  return Val::of(r.ctx.attr_opaque(canonical_name(call), items, fields));
}

Val call_value(Reader& r, const Val& callee, const CallNode& call) {
  if (callee.is(ValKind::Method)) return call_method(r, callee, call);
  if (callee.is(ValKind::Lambda)) return call_lambda(r, callee, call);
  if (callee.is(ValKind::Expr))
    return r.in_tir() ? call_in_tir(r, callee.expr(), call) : call_function(r, callee.expr(), call);
  return r.error(call.function, diag::NotAFunction, describe(r, callee));
}

}  // namespace rldb::frontend::script
