// I. names (devices, ranges, meta values), Python's own functions, and functions kept as text.
#include <fmt/format.h>

#include "frontend/script/module.h"
#include "frontend/script/tir/tir.h"
#include "frontend/script/value/convert.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/scalar.h"
#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_script_relax.h"

namespace rldb::frontend::script {

std::string canonical_name(const CallNode& call) {
  switch (call.space) {
    case Space::Relax:
      return "R." + std::string(call.path);
    case Space::Tir:
      return "T." + std::string(call.path == "Target" ? "target" : call.path);
    case Space::Ir:
    case Space::Tvm:
      return "I." + std::string(call.path);
    case Space::None:
    case Space::Other:
      break;
  }
  return std::string(call.shown());
}

// I.vdevice(target, index, scope): target is a kind, or a dictionary that contains one.
const ir::VDevice* vdevice_of_attr(Reader& r, const ir::Attr* a) {
  if (!a || !a->is(ir::AttrKind::Opaque)) return nullptr;
  ir::VDevice d{};
  const auto part = [&](std::size_t i, std::string_view name) -> const ir::Attr* {
    if (i < a->items.size()) return a->items[i];
    return ir::find_attr(a->fields, name);
  };
  if (const ir::Attr* target = part(0, "target")) {
    if (target->is(ir::AttrKind::String)) {
      d.target_kind = target->string.substr(0, target->string.find(' '));
      if (d.target_kind.size() != target->string.size()) d.target = target;
    } else if (target->is(ir::AttrKind::Dict)) {
      if (const ir::Attr* kind = ir::find_attr(target->fields, "kind")) d.target_kind = kind->string;
      if (target->fields.size() > 1) d.target = target;
    } else {
      d.target = target;
      for (const ir::Attr* item : target->items)
        if (item->is(ir::AttrKind::String)) d.target_kind = item->string;
    }
  }
  if (const ir::Attr* index = part(1, "vdevice_id"); index && index->is(ir::AttrKind::Int))
    d.device_id = int(index->integer);
  if (const ir::Attr* scope = part(2, "memory_scope"); scope && scope->is(ir::AttrKind::String))
    d.memory_scope = scope->string;
  return r.ctx.vdevice(d);
}

const ir::OpaqueFunc* read_python_function(Reader& r, Node function) {
  // Verbatim, without the indentation of its first line.
  const std::string_view text = function.text();
  const std::size_t begin = function.row().begin;
  std::size_t line = r.text.rfind('\n', begin == 0 ? 0 : begin - 1);
  line = line == std::string_view::npos || begin == 0 ? 0 : line + 1;
  const std::size_t indent = begin - line;
  std::string out;
  std::size_t at = 0;
  bool first = true;
  while (at < text.size()) {
    const std::size_t eol = std::min(text.find('\n', at), text.size());
    std::string_view l = text.substr(at, eol - at);
    if (!first) {
      std::size_t blanks = 0;
      while (blanks < l.size() && blanks < indent && (l[blanks] == ' ' || l[blanks] == '\t')) ++blanks;
      l.remove_prefix(blanks);
      out += '\n';
    }
    out += l;
    first = false;
    at = eol + 1;
  }
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  return r.at(r.ctx.opaque_func(function.child(Field::Name).text(), out), function);
}

Val range_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto a = args.require(0, "begin");
  const auto b = args.get(1, "end");
  args.finish();
  if (!a) return {};
  if (!b) return Val::of_list(ValKind::Range, r.keep(std::vector<Val>{Val::of_int(0), *a}));
  const Val extent = apply_binary(r, "-", *b, *a, call.node);
  return Val::of_list(ValKind::Range, r.keep(std::vector<Val>{*a, extent}));
}

Val meta_var(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto v = args.require(0, "value");
  args.finish();
  if (!v) return {};
  Val out = *v;
  out.fresh = true;
  return out;
}

namespace {

Val misplaced(Reader& r, const CallNode& call) { return r.error(call.function, diag::Misplaced, call.shown()); }

// I.Op("relax.add")
Val op_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto v = args.require(0, "name");
  args.finish();
  const auto s = v ? to_str(r, *v, args.node(0, "name")) : std::nullopt;
  if (!s) return {};
  return Val::of(static_cast<const ir::Expr*>(
      r.ctx.op(s->starts_with("tirx.") ? std::string(ir::kTirPrefix) + std::string(s->substr(5)) : std::string(*s))));
}

Val len_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto v = args.require(0, "obj");
  args.finish();
  if (!v || v->poison()) return {};
  if (v->is_sequence()) return Val::of_int(std::int64_t(v->items.size()));
  if (v->is(ValKind::Str)) return Val::of_int(std::int64_t(v->text.size()));
  if (v->expr())
    if (const auto* t = ir::as<ir::TupleType>(v->expr()->type)) return Val::of_int(std::int64_t(t->fields.size()));
  return r.error(args.node(0, "obj"), diag::NotParseTime, describe(r, *v));
}

Val float_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto v = args.require(0, "x");
  args.finish();
  if (!v || v->poison()) return {};
  if (v->is_number()) return Val::of_float(v->is(ValKind::Float) ? v->floating : double(v->integer));
  if (v->is(ValKind::Str))
    if (const auto number = named_float(v->text)) return Val::of_float(*number);
  return r.error(args.node(0, "x"), diag::NotParseTime, describe(r, *v));
}

Val int_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto v = args.require(0, "x");
  args.finish();
  if (!v || v->poison()) return {};
  if (v->is_number()) return Val::of_int(v->is(ValKind::Float) ? std::int64_t(v->floating) : v->integer);
  return r.error(args.node(0, "x"), diag::NotParseTime, describe(r, *v));
}

Val sequence_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto v = args.get(0, "iterable");
  args.finish();
  const ValKind kind = call.path == "list" ? ValKind::List : ValKind::Tuple;
  if (!v) return Val::of_list(kind, {});
  if (v->is_sequence()) return Val::of_list(kind, v->items);
  return v->poison() ? Val() : r.error(args.node(0, "iterable"), diag::NotParseTime, describe(r, *v));
}

}  // namespace

static std::int64_t device_type(std::string_view word) {
#define RLDB_DEVICE_KIND(name, type, ...) \
  if (word == name) return type;
#define RLDB_DEVICE_WORD(name, type) \
  if (word == name) return type;
#include "rldb/runtime/device_kind.def"
  return 1;
}

// tvm.cpu(), R.cuda(1): the device in printed form, by DLPack's number of its kind.
Val device_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto index = args.get(0, "index");
  const auto i = index ? to_int(r, *index, args.node(0, "index")) : std::optional<std::int64_t>(0);
  args.finish();
  if (!i) return {};
  const ir::NamedAttr fields[] = {r.ctx.named("device_type", r.ctx.attr(device_type(call.path))),
                                  r.ctx.named("index", r.ctx.attr(*i))};
  return Val::of(r.ctx.attr_opaque("R.device", {}, fields));
}

std::span<const HandlerRow> ir_handlers() {
  static constexpr HandlerRow kRows[] = {
      {"Range", range_call},
      {"meta_var", meta_var},
      {"vdevice", opaque_constructor},
      {"dummy_global_info", opaque_constructor},
      {"module_attrs", misplaced},
      {"module_global_infos", misplaced},
      {"Op", op_call},
      {"Op.get", op_call},
      {"target.Target", opaque_constructor},
      {"ir_module", misplaced},
#define RLDB_DEVICE_KIND(name, ...) {name, device_call},
#define RLDB_DEVICE_WORD(name, ...) {name, device_call},
#include "rldb/runtime/device_kind.def"
  };
  return kRows;
}

std::span<const HandlerRow> python_handlers() {
  static constexpr HandlerRow kRows[] = {
      {"range", python_range}, {"len", len_call},       {"float", float_call},
      {"int", int_call},       {"list", sequence_call}, {"tuple", sequence_call},
  };
  return kRows;
}

}  // namespace rldb::frontend::script
