// Blocks: axes, predicate, regions, annotations, block-level buffers, init.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/script/tir/tir.h"
#include "frontend/script/value/convert.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/regions.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_script_expected.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_script_tir.h"
#include "rldb/support/text.h"

namespace rldb::frontend::script {

namespace {

BlockState* current_block(Reader& r, const CallNode& call) {
  if (!r.in_tir() || r.fn->tir->blocks.empty()) {
    r.error(call.function, diag::OutsideBlock, call.shown());
    return nullptr;
  }
  return r.fn->tir->blocks.back();
}

// ---- axes ----

const ir::Var* add_axis(Reader& r, BlockState& b, std::string_view name, ir::Range dom, const ir::Expr* value,
                        ir::IterKind kind, Node at) {
  // The variable has the wider type of domain and value; the domain stays as written.
  int bits = std::max<int>(dom.min->dtype().bits, dom.extent->dtype().bits);
  const ir::DType written = ir::DType::Int(bits);
  dom.min = ir::cast_to(r.ctx, written, dom.min);
  dom.extent = ir::cast_to(r.ctx, written, dom.extent);
  if (value) bits = std::max<int>(bits, value->dtype().bits);
  const ir::DType t = ir::DType::Int(bits);
  const ir::Var* v = r.at(r.ctx.var(name, r.ctx.prim(t)), at);
  b.axes.push_back({v, dom, kind});
  b.values.push_back(value ? value : r.ctx.int_imm(t, 0));
  return v;
}

bool read_domain(Reader& r, const Val& v, Node at, ir::Range& out) {
  if (v.is_sequence() && v.items.size() == 2) {
    const ir::Expr* begin = to_scalar(r, v.items[0], at);
    const ir::Expr* end = to_scalar(r, v.items[1], at);
    if (!begin || !end) return false;
    auto both = ir::match_dtypes(r.ctx, begin, end);
    if (!both.ok()) {
      r.report(at.span(), std::move(both).error());
      return false;
    }
    out = {both->first, region_extent(r, both->first, both->second)};
    return true;
  }
  if (v.is(ValKind::Range)) {
    const ir::Expr* begin = to_scalar(r, v.items[0], at);
    const ir::Expr* extent = to_scalar(r, v.items[1], at);
    if (!begin || !extent) return false;
    out = {begin, extent};
    return true;
  }
  const ir::Expr* extent = to_scalar(r, v, at);
  if (!extent) return false;
  if (!extent->dtype().is_integral()) {
    r.error(at, diag::BoundNotInteger, describe(r, v));
    return false;
  }
  out = {r.ctx.int_imm(extent->dtype(), 0), extent};
  return true;
}

Val axis_call(Reader& r, const CallNode& call, ir::IterKind kind) {
  BlockState* b = current_block(r, call);
  if (!b) return {};
  Arguments args(r, call);
  const auto dom_value = args.require(0, "dom");
  // A block without a realization has axes without values.
  const auto value = b->realize ? args.require(1, "binding") : args.get(1, "binding");
  args.find(2, "dtype");
  args.finish();
  if (!dom_value || (!value && b->realize) || dom_value->poison()) return {};
  ir::Range dom{};
  if (!read_domain(r, *dom_value, args.node(0, "dom"), dom)) return {};
  const ir::Expr* e = value ? to_scalar(r, *value, args.node(1, "binding"), dom.extent->dtype()) : nullptr;
  if (value && !e) return {};
  Val v = Val::of(add_axis(r, *b, r.fn->tir->target(0, "v"), dom, e, kind, call.node));
  v.fresh = true;
  return v;
}
Val axis_spatial(Reader& r, const CallNode& c) { return axis_call(r, c, ir::IterKind::Spatial); }
Val axis_reduce(Reader& r, const CallNode& c) { return axis_call(r, c, ir::IterKind::Reduce); }
Val axis_scan(Reader& r, const CallNode& c) { return axis_call(r, c, ir::IterKind::Scan); }
Val axis_opaque(Reader& r, const CallNode& c) { return axis_call(r, c, ir::IterKind::Opaque); }

std::optional<ir::Range> loop_range(Reader& r, const ir::Expr* e) {
  const auto& loops = r.fn->tir->loops;
  for (std::size_t i = loops.size(); i-- > 0;)
    if (loops[i].first == e) return loops[i].second;
  return std::nullopt;
}

// vi, vj = T.axis.remap("SR", [i, j])
Val axis_remap(Reader& r, const CallNode& call) {
  BlockState* b = current_block(r, call);
  if (!b) return {};
  Arguments args(r, call);
  const auto kinds = args.require(0, "kinds");
  const auto bindings = args.require(1, "bindings");
  args.finish();
  if (!kinds || !bindings || bindings->poison()) return {};
  const auto text = to_str(r, *kinds, args.node(0, "kinds"));
  if (!text) return {};
  if (!bindings->is_sequence() || bindings->items.size() != text->size())
    return r.error(args.node(0, "kinds"), diag::RemapCount, *text,
                   bindings->is_sequence() ? bindings->items.size() : 1);
  std::vector<Val> vars;
  for (std::size_t i = 0; i < text->size(); ++i) {
    const Val& item = bindings->items[i];
    const Node where = item.cst ? item.cst : args.node(1, "bindings");
    const char c = (*text)[i];
    if (c != 'S' && c != 'R') return r.error(args.node(0, "kinds"), diag::RemapKind, std::string(1, c));
    const ir::Expr* e = to_scalar(r, item, where);
    if (!e) return {};
    const auto range = loop_range(r, e);
    if (!range) return r.error(where, diag::RemapNotLoop, where.text());
    const std::string fallback = "v" + std::to_string(i);
    vars.push_back(Val::of(add_axis(r, *b, r.ctx.str(r.fn->tir->target(i, fallback)), *range, e,
                                    c == 'S' ? ir::IterKind::Spatial : ir::IterKind::Reduce, call.node)));
    vars.back().fresh = true;
  }
  if (vars.size() == 1) return vars[0];
  return Val::of_list(ValKind::Tuple, r.keep(vars));
}

// ---- regions, predicate, attributes ----

Val region_call(Reader& r, const CallNode& call, bool writes) {
  BlockState* b = current_block(r, call);
  if (!b) return {};
  auto& out = writes ? b->writes : b->reads;
  if (out) r.error(call.function, diag::RepeatedBlockPart, call.shown());
  out.emplace();
  Arguments args(r, call);
  const auto add = [&](const Val& v, Node at) {
    if (auto region = to_region(r, v, at)) out->push_back(*region);
  };
  for (Argument& a : args.all()) {
    if (!a.keyword.empty()) continue;
    a.used = true;
    const Val v = args.value(&a);
    if (v.is_sequence()) {
      for (const Val& item : v.items) add(item, item.cst ? item.cst : a.node);
    } else {
      add(v, a.node);
    }
  }
  args.finish();
  return Val::nothing();
}
Val reads(Reader& r, const CallNode& c) { return region_call(r, c, false); }
Val writes(Reader& r, const CallNode& c) { return region_call(r, c, true); }

Val where(Reader& r, const CallNode& call) {
  BlockState* b = current_block(r, call);
  if (!b) return {};
  Arguments args(r, call);
  const auto v = args.require(0, "predicate");
  args.finish();
  if (!v) return {};
  const ir::Expr* e = v->is_number() ? r.ctx.bool_imm(v->integer != 0) : to_scalar(r, *v, args.node(0, "predicate"));
  if (b->predicate) r.error(call.function, diag::RepeatedBlockPart, call.shown());
  b->predicate = e;
  return Val::nothing();
}

// Attributes of several lines: dictionaries are merged, anything else must agree. False after a report.
bool merge_attrs(Reader& r, std::vector<ir::NamedAttr>& into, std::span<const ir::NamedAttr> more, Node at) {
  for (const ir::NamedAttr& a : more) {
    const auto old = std::find_if(into.begin(), into.end(), [&](const ir::NamedAttr& x) { return x.name == a.name; });
    if (old == into.end()) {
      into.push_back(a);
    } else if (old->value->is(ir::AttrKind::Dict) && a.value->is(ir::AttrKind::Dict)) {
      std::vector<ir::NamedAttr> merged(old->value->fields.begin(), old->value->fields.end());
      if (!merge_attrs(r, merged, a.value->fields, at)) return false;
      old->value = r.ctx.attr_dict(merged);
    } else if (!ir::attr_equal(old->value, a.value)) {
      r.error(at, diag::ConflictingBlockAttr, a.name, ir::print_attr(old->value), ir::print_attr(a.value));
      return false;
    }
  }
  return true;
}

Val block_attr(Reader& r, const CallNode& call) {
  BlockState* b = current_block(r, call);
  if (!b) return {};
  Arguments args(r, call);
  const auto v = args.require(0, "attrs");
  args.finish();
  if (!v || v->poison()) return {};
  if (!v->is(ValKind::Dict)) return r.error(args.node(0, "attrs"), diag::ExpectedDictionary, describe(r, *v));
  if (!merge_attrs(r, b->annotations, to_fields(r, *v, call.node), call.node)) return {};
  return Val::nothing();
}

// Block-level allocation; at the top of a function it belongs to the root block.
Val block_alloc(Reader& r, const CallNode& call) {
  if (!r.in_tir()) return r.error(call.function, diag::Misplaced, call.shown());
  TirFunction& tir = *r.fn->tir;
  Arguments args(r, call);
  const ir::Buffer* b = read_buffer(r, args, 0, tir.target(0, "buffer"), call.node);
  args.finish();
  if (!b) return {};
  if (tir.blocks.empty()) {
    tir.root_allocs.push_back(b);
  } else {
    tir.blocks.back()->allocs.push_back(b);
  }
  return Val::of(r.at(b, call.node));
}

// T.alloc_buffer: flat today, belonging to the block in older texts.
Val alloc_buffer(Reader& r, const CallNode& call) {
  if (r.in_tir() && r.fn->tir->old_blocks) return block_alloc(r, call);
  if (!r.in_tir()) return r.error(call.function, diag::Misplaced, call.shown());
  TirFunction& tir = *r.fn->tir;
  Arguments args(r, call);
  const std::vector<ir::NamedAttr> annotations = read_annotations(r, args);
  const ir::Buffer* b = read_buffer(r, args, 0, tir.target(0, "buffer"), call.node);
  args.finish();
  if (!b) return {};
  tir.flat_allocs.push_back(b);
  tir.emit(r.at(r.ctx.alloc_buffer(r.at(b, call.node), annotations), call.node));
  return Val::of(b);
}

// ---- T.match_buffer ----

// The buffer replaces the handle among the parameters: its data is what the handle points to.
bool match_parameter(Reader& r, const ir::Var* handle, const ir::Buffer* b) {
  for (ir::PrimParam& p : r.fn->tir->params) {
    if (p.var != handle || p.buffer) continue;
    p = {b->data, b};
    r.fn->scope.define(handle->name, Val::of(b->data), r.ctx.spans().get(handle->id));
    return true;
  }
  return false;
}

// A buffer over a region has the region's last extents.
void refuse_other_extents(Reader& r, const ir::Buffer& b, const ir::BufferRegion& region, Node at) {
  const std::size_t n = b.shape.size(), have = region.region.size();
  for (std::size_t i = 0; i < n && n <= have; ++i) {
    const auto want = ir::const_int(b.shape[i]), is = ir::const_int(region.region[have - n + i].extent);
    if (!want || !is || *want == *is) continue;
    r.error(at, diag::UnsupportedHere,
            fmt::format("an extent of {} over one of {} (dimension {} of `{}`)", *want, *is, i, b.name),
            "in `T.match_buffer` of a region");
    return;
  }
}

Val match_buffer(Reader& r, const CallNode& call) {
  if (!r.in_tir()) return r.error(call.function, diag::Misplaced, call.shown());
  TirFunction& tir = *r.fn->tir;
  Arguments args(r, call);
  const auto source = args.require(0, "param");
  const std::string_view name = tir.target(0, "buffer");
  if (!source || source->poison()) return {};
  const auto* handle = ir::as<ir::Var>(source->expr());
  if (handle && ir::as<ir::PointerType>(handle->type)) {
    // The RFC's programs use dimensions without declaring them.
    const bool before = std::exchange(r.fn->declare_bare, r.rfc_spelling());
    if (r.fn->declare_bare) declare_bare_dims(r, args.node(1, "shape"));
    r.fn->declare_bare = before;
    const ir::Buffer* b = over_memory(r, read_buffer(r, args, 1, name, call.node));
    args.finish();
    if (!b) return {};
    if (!match_parameter(r, handle, r.at(b, call.node)))
      return r.error(args.node(0, "param"), diag::NotAHandle, handle->name);
    return Val::of(b);
  }
  auto region = to_region(r, *source, args.node(0, "param"));
  if (!region) return {};
  if (tir.blocks.empty()) return r.error(call.function, diag::OutsideBlock, call.shown());
  bool has_shape = args.positional_count() > 1;
  for (const Argument& a : args.all()) has_shape = has_shape || a.keyword == "shape";
  const ir::Buffer* b = over_memory(r, read_buffer(r, args, 1, name, call.node, nullptr, false));
  args.finish();
  if (!b) return {};
  if (!has_shape) {
    // Without a shape: the region's.
    std::vector<const ir::Expr*> dims;
    for (const ir::Range& range : region->region) dims.push_back(range.extent);
    ir::Buffer fields = *b;
    fields.shape = dims;
    b = r.ctx.buffer(fields);
  }
  refuse_other_extents(r, *b, *region, call.node);
  tir.blocks.back()->matches.push_back({r.at(b, call.node), *region});
  return Val::of(b);
}

}  // namespace

std::span<const HandlerRow> tir_block_handlers() {
  static constexpr HandlerRow kRows[] = {
      {"axis.spatial", axis_spatial},
      {"axis.S", axis_spatial},
      {"axis.reduce", axis_reduce},
      {"axis.R", axis_reduce},
      {"axis.scan", axis_scan},
      {"axis.opaque", axis_opaque},
      {"axis.remap", axis_remap},
      {"reads", reads},
      {"writes", writes},
      {"where", where},
      {"sblock_attr", block_attr},
      {"block_attr", block_attr},
      {"sblock_alloc_buffer", block_alloc},
      {"alloc_buffer", alloc_buffer},
      {"match_buffer", match_buffer},
  };
  return kRows;
}

namespace {

// A point of one dimension, or (a vector of indices) the range it covers. False after a report.
bool point_range(Reader& r, const ir::Expr* e, Node at, std::vector<ir::Range>& out) {
  if (const auto* ramp = ir::as<ir::Ramp>(e)) {
    out.push_back({ramp->base, ramp->lanes});
    return true;
  }
  if (!is_index(e)) {
    r.error(at, diag::IndexNotInteger, describe(r, Val::of(e)));
    return false;
  }
  out.push_back({e, r.ctx.int_imm(e->dtype(), 1)});
  return true;
}

}  // namespace

std::optional<ir::BufferRegion> to_region(Reader& r, const Val& v, Node at) {
  if (v.poison()) return std::nullopt;
  std::vector<ir::Range> ranges;
  if (const auto* load = ir::as<ir::BufferLoad>(v.expr())) {
    for (const ir::Expr* i : load->indices)
      if (!point_range(r, i, at, ranges)) return std::nullopt;
    return ir::BufferRegion{load->buffer, r.ctx.list(ranges)};
  }
  if (v.is(ValKind::Buffer)) {
    for (const ir::Expr* d : v.buffer()->shape) ranges.push_back({r.ctx.int_imm(d->dtype(), 0), d});
    return ir::BufferRegion{v.buffer(), r.ctx.list(ranges)};
  }
  if (!v.is(ValKind::Region)) {
    r.error(at, diag::NotARegion, describe(r, v));
    return std::nullopt;
  }
  const ir::Buffer* b = v.buffer();
  for (std::size_t i = 0; i < v.items.size(); ++i) {
    const Val& item = v.items[i];
    const Node where = item.cst ? item.cst : at;
    if (!item.is(ValKind::Slice)) {
      const ir::Expr* e = to_scalar(r, item, where);
      if (!e || !point_range(r, e, where, ranges)) return std::nullopt;
      continue;
    }
    const auto bounds = slice_bounds(r, b, i, item, where);
    if (!bounds) return std::nullopt;
    ranges.push_back({bounds->first, region_extent(r, bounds->first, bounds->second)});
  }
  if (ranges.size() != b->shape.size() && !b->shape.empty()) {
    r.error(at, diag::IndexCount, b->name, support::counted(b->shape.size(), "dimension"), ranges.size());
    return std::nullopt;
  }
  return ir::BufferRegion{b, r.ctx.list(ranges)};
}

namespace {

// with T.block(n, m) as i, j: the RFC's block, whose axes are its arguments.
void read_rfc_axes(Reader& r, BlockState& b, Node with, Arguments& args) {
  std::vector<Node> names;
  if (const Node item = with.child(Field::Item))
    if (const Node alias = item.child(Field::Alias)) {
      if (alias.is(Kind::Identifier)) names.push_back(alias);
      for (Node t : alias.children()) names.push_back(t);
    }
  std::size_t i = 0;
  for (Argument& a : args.all()) {
    if (!a.keyword.empty() || args.value(&a).is(ValKind::Str)) continue;
    a.used = true;
    ir::Range dom{};
    if (!read_domain(r, args.value(&a), a.node, dom) || i >= names.size()) continue;
    // A loop around the block runs over the axis.
    const ir::Var* loop = r.ctx.var(r.ctx.str(std::string(names[i].text()) + "0"), r.ctx.prim(dom.extent->dtype()));
    r.fn->tir->loops.push_back({loop, dom});
    const ir::Var* v = add_axis(r, b, names[i].text(), dom, loop, ir::IterKind::Spatial, names[i]);
    r.fn->scope.define(v->name, Val::of(v), names[i].span());
    ++i;
  }
}

}  // namespace

namespace {

// Looks for the memory of a buffer as a whole, of which nobody can tell which elements are read or written. A pointer
// made by tvm_access_ptr tells when it is for reading or for writing only; nested blocks have regions of their own.
class DirectAccess {
 public:
  // Pointers that are used as such: nearly always none.
  std::vector<const ir::Var*> used;
  void look(const ir::Node* from) {
    ir::walk(from, [this](const ir::Node* n) { return enters(n); });
  }

 private:
  bool enters(const ir::Node* n) {
    if (ir::isa<ir::SBlockRealize>(n) || ir::isa<ir::SBlock>(n)) return false;
    if (ir::isa<ir::AllocBuffer>(n) || ir::isa<ir::DeclBuffer>(n)) return false;
    if (const auto* load = ir::as<ir::BufferLoad>(n)) {
      for (const ir::Expr* i : load->indices) look(i);
      return false;
    }
    if (const auto* store = ir::as<ir::BufferStore>(n)) {
      look(store->value);
      for (const ir::Expr* i : store->indices) look(i);
      return false;
    }
    const auto* call = ir::as<ir::Call>(n);
    if (call && ir::is_call_of(call, ir::intrin::TvmAccessPtr) && call->args.size() > 4) {
      const auto mask = ir::const_int(call->args[4]);
      if (mask && *mask != 3) return false;
    }
    if (const auto* v = ir::as<ir::Var>(n); v && v->type->kind == ir::TypeKind::Pointer) used.push_back(v);
    return true;
  }
};

// The buffer around the block whose memory it is; null: none. The block's own do not count.
const ir::Buffer* buffer_of_memory(const TirFunction& tir, const ir::Var* v) {
  for (const ir::PrimParam& p : tir.params)
    if (p.buffer && p.buffer->data == v) return p.buffer;
  for (const auto* all : {&tir.root_allocs, &tir.flat_allocs})
    for (const ir::Buffer* b : *all)
      if (b->data == v) return b;
  for (const BlockState* around : tir.blocks) {
    for (const ir::Buffer* b : around->allocs)
      if (b->data == v) return b;
    for (const ir::MatchBufferRegion& m : around->matches)
      if (m.buffer->data == v) return m.buffer;
  }
  return nullptr;
}

void refuse_direct_access(Reader& r, const ir::Stmt* body, Node with) {
  DirectAccess access;
  access.look(body);
  for (const ir::Var* v : access.used) {
    const ir::Buffer* b = buffer_of_memory(*r.fn->tir, v);
    if (!b) continue;
    r.error_hint(with.child(Field::Item), "state `T.reads(...)` and `T.writes(...)`", diag::UnsupportedHere,
                 fmt::format("use of the memory of `{}` as a whole", b->name),
                 "in a block that does not state its regions");
    return;
  }
}

}  // namespace

void read_sblock(Reader& r, Node with) {
  TirFunction& tir = *r.fn->tir;
  tir.saw_block = true;
  BlockState b;
  const Node value = with.child(Field::Item).child(Field::Value);
  const std::size_t loops_before = tir.loops.size();
  r.fn->scope.enter(ScopeKind::Block);
  if (value.is(Kind::Call)) {
    CallNode call{value, value.child(Field::Function), value.child(Field::Arguments), Space::Tir, "sblock"};
    Arguments args(r, call);
    for (Argument& a : args.all()) {
      if (a.keyword == "no_realize") {
        a.used = true;
        b.realize = !args.value(&a).integer;
      } else if (a.keyword == "name" || (a.keyword.empty() && args.value(&a).is(ValKind::Str))) {
        a.used = true;
        if (const auto s = to_str(r, args.value(&a), a.node)) b.name = *s;
      }
    }
    read_rfc_axes(r, b, with, args);
    args.finish();
  }
  tir.blocks.push_back(&b);
  const ir::Stmt* body = collect_sequence(r, [&] { read_tir_statements(r, with.child(Field::Body)); });
  tir.blocks.pop_back();
  r.fn->scope.leave();
  ir::SBlock fields{};
  fields.name = b.name;
  fields.iter_vars = b.axes;
  fields.alloc_buffers = b.allocs;
  fields.match_buffers = b.matches;
  fields.annotations = b.annotations;
  fields.init = b.init;
  fields.body = body;
  // As the root block it has the regions given in the text.
  ir::SBlock open = fields;
  if (b.reads) open.reads = *b.reads;
  if (b.writes) open.writes = *b.writes;
  const bool may_be_root = tir.blocks.empty() && b.axes.empty() && (!b.reads || !b.writes);
  if (!b.reads || !b.writes) {
    refuse_direct_access(r, body, with);
    const ir::Regions inferred = ir::infer_regions(r.ctx, {b.axes, b.init, body, b.allocs, b.matches});
    if (!b.reads) b.reads = inferred.reads;
    if (!b.writes) b.writes = inferred.writes;
  }
  fields.reads = *b.reads;
  fields.writes = *b.writes;
  const ir::SBlock* block = r.at(r.ctx.sblock(fields), with);
  tir.open_root = may_be_root ? r.at(r.ctx.sblock(open), with) : nullptr;
  const ir::Stmt* made = block;
  if (b.realize) made = r.at(r.ctx.realize(b.values, b.predicate, block), with);
  for (std::size_t i = tir.loops.size(); i-- > loops_before;) {
    const auto& [var, range] = tir.loops[i];
    made = r.at(r.ctx.for_stmt(var, range.min, range.extent, ir::ForKind::Serial, made), with);
  }
  tir.loops.resize(loops_before);
  tir.emit(made);
}

void read_init(Reader& r, Node with) {
  TirFunction& tir = *r.fn->tir;
  const ir::Stmt* body = read_tir_block(r, with.child(Field::Body));
  if (tir.blocks.empty()) {
    r.error(with.child(Field::Item), diag::OutsideBlock, "T.init");
    return;
  }
  if (tir.blocks.back()->init) r.error(with.child(Field::Item), diag::RepeatedBlockPart, "T.init");
  tir.blocks.back()->init = body;
}

}  // namespace rldb::frontend::script
