// Blocks of TensorIR: axes, regions, the lines before the body; the root block.
#include <algorithm>

#include "ir/print/printer_impl.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/walk.h"

namespace rldb::ir::print_detail {

// TVM writes the root block as a comment when it adds nothing.
bool Printer::has_implicit_root(const PrimFunc* f) const {
  const auto* root = as<SBlockRealize>(f->body);
  if (root == nullptr || !root->iter_values.empty()) return false;
  const SBlock* b = root->block;
  if ((root->predicate != nullptr && !is_int(root->predicate, 1)) || b->name != "root") return false;
  if (!b->annotations.empty() || !b->match_buffers.empty() || !b->reads.empty() || !b->writes.empty() ||
      !b->iter_vars.empty() || b->init != nullptr)
    return false;
  if (!b->alloc_buffers.empty()) return true;
  if (const auto* inner = as<SBlockRealize>(b->body)) return !inner->block->iter_vars.empty();
  bool found = false;
  walk(b->body, [&found](const Node* n) {
    found = found || isa<SBlockRealize>(n);
    return !found && !isa<Expr>(n);
  });
  return found;
}

namespace {

std::string_view axis_name(IterKind k) {
  switch (k) {
    case IterKind::Spatial:
      return "axis.spatial(";
    case IterKind::Reduce:
      return "axis.reduce(";
    case IterKind::Scan:
      return "axis.scan(";
    case IterKind::Opaque:
      return "axis.opaque(";
  }
  return {};
}

// Whether regions are of buffers that the block allocates itself.
bool names_own_buffers(const SBlock* b) {
  const auto is_own = [&](const BufferRegion& region) {
    return std::find(b->alloc_buffers.begin(), b->alloc_buffers.end(), region.buffer) != b->alloc_buffers.end();
  };
  return std::any_of(b->reads.begin(), b->reads.end(), is_own) ||
         std::any_of(b->writes.begin(), b->writes.end(), is_own);
}

}  // namespace

void Printer::axis(const IterVar& v, const Expr* value, const Node* node) {
  line(node);
  out_ += define(v.var);
  out_ += " = ";
  t(axis_name(v.kind));
  if (is_int(v.dom.min, 0)) {
    expr(v.dom.extent);
  } else {
    out_ += '(';
    expr(v.dom.min);
    out_ += ", ";
    sum(v.dom.min, v.dom.extent);
    out_ += ')';
  }
  if (value != nullptr) {
    out_ += ", ";
    expr(value);
  }
  out_ += ')';
}

bool Printer::remappable(const IterVar& v, const Expr* value) const {
  if (v.kind != IterKind::Spatial && v.kind != IterKind::Reduce) return false;
  auto loop = isa<Var>(value) ? loops_.find(as<Var>(value)) : loops_.end();
  if (loop == loops_.end()) return false;
  return expr_equal(loop->second->min, v.dom.min) && expr_equal(loop->second->extent, v.dom.extent);
}

// Axes that are loop variables over the same domain are remapped, two or more in a row.
void Printer::axes(const SBlock* b, const SBlockRealize* realize) {
  auto value_of = [&](std::size_t k) {
    return realize != nullptr && k < realize->iter_values.size() ? realize->iter_values[k] : nullptr;
  };
  for (std::size_t k = 0; k < b->iter_vars.size();) {
    std::size_t end = k;
    while (end < b->iter_vars.size() && remappable(b->iter_vars[end], value_of(end))) ++end;
    if (end - k < 2) {
      axis(b->iter_vars[k], value_of(k), b);
      ++k;
      continue;
    }
    line(b);
    std::string kinds;
    bool first = true;
    for (std::size_t j = k; j < end; ++j) {
      comma(first);
      out_ += define(b->iter_vars[j].var);
      kinds += b->iter_vars[j].kind == IterKind::Spatial ? 'S' : 'R';
    }
    out_ += " = ";
    t("axis.remap(\"" + kinds + "\", [");
    exprs(realize->iter_values.subspan(k, end - k));
    out_ += "])";
    k = end;
  }
}

void Printer::regions(const Node* node, std::string_view name, Span<BufferRegion> list) {
  line(node);
  t(name);
  out_ += '(';
  bool first = true;
  for (const BufferRegion& x : list) {
    comma(first);
    region(x);
  }
  out_ += ')';
}

// Whether nothing in the block mentions the offset of a matched buffer: offset_factor implies it.
bool Printer::has_open_offset(const SBlock* block, const Buffer* b) const {
  const auto* v = as<Var>(b->elem_offset);
  const DType index = b->shape.empty() ? DType::Int(32) : b->shape[0]->dtype();
  if (v == nullptr || names_.has(v) || v->dtype() != index) return false;
  bool used = false;
  const auto look = [&](const Node* in) {
    if (in == nullptr) return;
    walk(in, [&](const Node* n) {
      used = used || n == v;
      return n != b;
    });
  };
  for (const Expr* dim : b->shape) look(dim);
  for (const Expr* stride : b->strides) look(stride);
  for (const MatchBufferRegion& m : block->match_buffers) look(m.buffer);
  look(block->init);
  look(block->body);
  return !used;
}

void Printer::match_region(const MatchBufferRegion& m) {
  declare_fresh(m.buffer);
  line(m.buffer);
  out_ += define(m.buffer);
  out_ += " = ";
  t("match_buffer(");
  region(m.source);
  bool first = false;
  buffer_arguments(m.buffer, false, first);
  out_ += ')';
  define_buffer(m.buffer);
}

void Printer::sblock(const SBlock* b, const SBlockRealize* realize) {
  const Node* node = realize != nullptr ? static_cast<const Node*>(realize) : b;
  line(node);
  out_ += "with ";
  t(current() ? "sblock(" : "block(");
  string_literal(b->name);
  out_ += realize != nullptr ? "):" : ", no_realize=True):";
  ++indent_;
  names_.push();
  axes(b, realize);
  if (realize != nullptr && realize->predicate != nullptr && !is_int(realize->predicate, 1)) {
    line(node);
    t("where(");
    expr(realize->predicate);
    out_ += ')';
  }
  // As TVM's texts; before the regions where they name one.
  const bool named = names_own_buffers(b);
  const auto allocate = [&] {
    for (const Buffer* x : b->alloc_buffers) sblock_alloc(x);
  };
  if (named) allocate();
  regions(node, "reads", b->reads);
  regions(node, "writes", b->writes);
  if (!b->annotations.empty()) {
    line(node);
    t(current() ? "sblock_attr(" : "block_attr(");
    attr_dict(b->annotations);
    out_ += ')';
  }
  if (!named) allocate();
  for (const MatchBufferRegion& m : b->match_buffers) {
    if (has_open_offset(b, m.buffer)) open_offsets_.insert(m.buffer->elem_offset);
    match_region(m);
  }
  if (b->init != nullptr) {
    line(b->init);
    out_ += "with ";
    t("init():");
    nested(b->init);
  }
  if (b->body != nullptr) body(b->body);
  names_.pop();
  --indent_;
}

}  // namespace rldb::ir::print_detail
