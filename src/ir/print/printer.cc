// Whole modules and lone functions: header, class, members; decoration; the entry points of ir/printer.h.
#include "rldb/ir/printer.h"

#include <algorithm>
#include <tuple>

#include "ir/print/printer_impl.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"
#include "rldb/support/entry_function.h"

namespace rldb::ir {
namespace print_detail {

void Printer::line(const Node* node) {
  support::poll();
  if (!lines_.empty()) out_ += '\n';
  lines_.push_back({out_.size(), node});
  out_.append(std::size_t(indent_) * 4, ' ');
}

void Printer::blank_line() {
  int keep = indent_;
  indent_ = 0;
  line(nullptr);
  indent_ = keep;
}

void Printer::insert_lines(const Mark& at, const std::vector<std::string>& lines, bool pad_empty) {
  if (lines.empty()) return;
  std::string pad(std::size_t(at.indent) * 4, ' ');
  std::string text;
  std::vector<LineRecord> records;
  bool first_of_all = at.line == 0;
  std::size_t base = at.text;
  for (const std::string& l : lines) {
    if (!first_of_all) text += '\n';
    records.push_back({base + text.size(), nullptr});
    if (!l.empty() || pad_empty) text += pad;
    text += l;
    if (first_of_all) text += '\n';
  }
  for (std::size_t k = at.line; k < lines_.size(); ++k) lines_[k].begin += text.size();
  lines_.insert(lines_.begin() + std::ptrdiff_t(at.line), records.begin(), records.end());
  out_.insert(base, text);
}

std::vector<std::string> Printer::header_lines() const {
  std::vector<std::string> out;
  if (used_typing_) out.emplace_back("# from typing import TypeVar");
  if (used_ir_) out.emplace_back("# from tvm.script import ir as I");
  if (used_tir_) {
    if (current()) {
      out.emplace_back("# from tvm.script import tirx as T");
      out.emplace_back("# from tvm.tirx.layout import Axis");
    } else {
      out.emplace_back("# from tvm.script import tir as T");
    }
  }
  if (used_relax_) out.emplace_back("# from tvm.script import relax as R");
  if (!out.empty()) out.emplace_back("");
  return out;
}

std::vector<std::string> Printer::type_var_lines(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  out.reserve(names.size());
  for (const std::string& n : names) out.push_back(n + " = TypeVar(\"" + n + "\")");
  return out;
}

namespace {

// PrimFuncs, external functions, Relax functions, Python functions, each by name; `main` of any kind last.
int member_rank(const ModuleEntry& e) {
  if (e.name == support::kEntryFunction) return 9;
  if (isa<PrimFunc>(e.function)) return 1;
  if (isa<ExternFunc>(e.function)) return 2;
  if (isa<Function>(e.function)) return 3;
  return 4;
}

}  // namespace

bool is_plain_extern(const ExternFunc* f) {
  const auto* ft = as<FuncType>(f->type);
  return ft == nullptr || (ft->opaque && !ft->pure && ft->derive_func.empty() && ft->ret->kind == TypeKind::Any);
}

void Printer::extern_member(std::string_view name, const ExternFunc* f) {
  line(f);
  out_ += name;
  out_ += " = ";
  extern_func(f);
}

void Printer::extern_func(const ExternFunc* f) {
  r("ExternFunc(");
  string_literal(f->symbol);
  if (!is_plain_extern(f)) {
    out_ += ", ";
    type(f->type);
  }
  out_ += ')';
}

void Printer::opaque_member(const OpaqueFunc* f) {
  has_python_ = true;
  std::string_view rest = f->text;
  const Node* node = f;
  while (!rest.empty()) {
    std::size_t end = rest.find('\n');
    std::string_view l = rest.substr(0, end);
    if (l.find_first_not_of(" \t\r") == std::string_view::npos) {
      blank_line();
    } else {
      line(node);
      out_ += l;
    }
    node = nullptr;
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
}

void Printer::global_infos() {
  if (module_->global_infos.empty()) return;
  line(nullptr);
  i("module_global_infos({");
  std::vector<const GlobalInfo*> sorted;
  for (const GlobalInfo& g : module_->global_infos) sorted.push_back(&g);
  std::sort(sorted.begin(), sorted.end(), [](const GlobalInfo* a, const GlobalInfo* b) { return a->key < b->key; });
  bool first = true;
  for (const GlobalInfo* g : sorted) {
    comma(first);
    string_literal(g->key);
    out_ += ": [";
    bool first_item = true;
    for (const Attr* a : g->items) {
      comma(first_item);
      attr(a);
    }
    out_ += ']';
  }
  out_ += "})";
}

void Printer::member(std::string_view name, const Expr* f) {
  if (const auto* p = as<PrimFunc>(f)) return prim_func(name, p);
  if (const auto* fn = as<Function>(f)) return function(name, fn, true);
  if (const auto* e = as<ExternFunc>(f)) return extern_member(name, e);
  if (const auto* o = as<OpaqueFunc>(f)) return opaque_member(o);
  line(f);
  expr(f);
}

void Printer::module_members() {
  if (!module_->attrs.empty()) {
    line(nullptr);
    i("module_attrs(");
    attr_dict(module_->attrs);
    out_ += ')';
  }
  global_infos();
  std::vector<const ModuleEntry*> members;
  members.reserve(module_->entries.size());
  for (const ModuleEntry& e : module_->entries) members.push_back(&e);
  std::stable_sort(members.begin(), members.end(), [](const ModuleEntry* a, const ModuleEntry* b) {
    return std::tuple(member_rank(*a), a->name) < std::tuple(member_rank(*b), b->name);
  });
  bool blank = false;
  for (const ModuleEntry* e : members) {
    if (blank) blank_line();
    member(e->name, e->function);
    blank = !isa<ExternFunc>(e->function);
  }
  if (members.empty() && module_->attrs.empty() && module_->global_infos.empty()) {
    line(nullptr);
    out_ += "pass";
  }
}

// Names that the text itself refers to.
void Printer::reserve_names() {
  for (std::string_view n : {"R", "T", "I", "metadata"}) names_.reserve(n);
}

// RFC 0089 calls a function of the module by its bare name.
void Printer::reserve_callees(const Expr* f) {
  if (!rfc()) return;
  walk(f, [this](const Node* n) {
    if (const auto* g = as<GlobalVar>(n)) names_.reserve(g->name);
    return true;
  });
}

std::string Printer::print_module() {
  reserve_names();
  for (const ModuleEntry& e : module_->entries) reserve_callees(e.function);
  names_.reserve(module_->name);
  if (!rfc() && !opt_.module_alias.empty()) names_.reserve(opt_.module_alias);
  indent_ = 1;
  Mark top{0, 0, 0};
  module_members();
  indent_ = 0;
  std::vector<std::string> head;
  used_ir_ = true;
  if (opt_.pep695 && current()) head.emplace_back("from __future__ import annotations");
  used_typing_ = used_typing_ || !module_type_vars_.empty();
  if (opt_.header) {
    for (std::string& l : header_lines()) head.push_back(std::move(l));
  } else if (!head.empty()) {
    head.emplace_back("");
  }
  for (std::string& l : type_var_lines(module_type_vars_)) head.push_back(std::move(l));
  head.emplace_back(rfc() ? "@tvm.script.ir_module" : "@I.ir_module");
  if (!opt_.check_well_formed) head.back() += "(check_well_formed=False)";
  head.push_back("class " + std::string(module_->name) + (has_python_ ? "(BasePyModule):" : ":"));
  insert_lines(top, head);
  metadata_trailer();
  return {};
}

std::string Printer::print_lone_function(std::string_view name, const Expr* f) {
  reserve_names();
  reserve_callees(f);
  Mark top{0, 0, 0};
  member(name, f);
  std::vector<std::string> head;
  if (opt_.pep695 && current()) head.emplace_back("from __future__ import annotations");
  used_typing_ = used_typing_ || !module_type_vars_.empty();
  if (opt_.header)
    for (std::string& l : header_lines()) head.push_back(std::move(l));
  for (std::string& l : type_var_lines(module_type_vars_)) head.push_back(std::move(l));
  insert_lines(top, head);
  metadata_trailer();
  return {};
}

// The metadata block precedes everything, as in TVM's output; without it a comment at the end mentions it.
void Printer::metadata_trailer() {
  if (constants_.empty() && attr_tensors_.empty()) return;
  if (opt_.show_meta) {
    std::vector<std::string> lines;
    std::string text = metadata_text(constants_, attr_tensors_);
    std::size_t from = 0;
    for (std::size_t to = text.find('\n'); to != std::string::npos; to = text.find('\n', from)) {
      lines.push_back(text.substr(from, to - from));
      from = to + 1;
    }
    lines.push_back(text.substr(from));
    insert_lines({0, 0, 0}, lines);
    return;
  }
  if (!opt_.header) return;
  line(nullptr);
  line(nullptr);
  out_ += "# Metadata omitted. Use show_meta=True in script() method to show it.";
}

std::string Printer::finish(Decorator* decorator) {
  if (decorator == nullptr) return std::move(out_);
  std::string result;
  result.reserve(out_.size() + out_.size() / 4);
  for (std::size_t k = 0; k < lines_.size(); ++k) {
    std::size_t begin = lines_[k].begin;
    std::size_t end = k + 1 < lines_.size() ? lines_[k + 1].begin - 1 : out_.size();
    const Node* node = lines_[k].node;
    if (k != 0) result += '\n';
    result += decorator->gutter(node);
    result.append(out_, begin, end - begin);
    result += decorator->trailer(node);
    std::string below = decorator->below(node);
    while (!below.empty() && below.back() == '\n') below.pop_back();
    if (!below.empty()) result += '\n' + below;
    decorator->line(int(k) + 1, node);
  }
  return result;
}

}  // namespace print_detail

using print_detail::Printer;

std::string print(const Module* m, const PrintOptions& options, Decorator* decorator) {
  Printer p(options, m);
  p.print_module();
  return p.finish(decorator);
}

std::string print_function(std::string_view name, const Expr* function, const PrintOptions& options,
                           Decorator* decorator) {
  Printer p(options, nullptr);
  p.print_lone_function(name, function);
  return p.finish(decorator);
}

std::string print_expr(const Expr* e, const PrintOptions& options) {
  Printer p(options, nullptr);
  p.begin_fragment(options.tensor_ir);
  if (const auto* f = as<Function>(e)) {
    p.function(support::kEntryFunction, f, false);
  } else if (const auto* f = as<PrimFunc>(e)) {
    p.prim_func(support::kEntryFunction, f);
  } else {
    p.expr(e);
  }
  return p.take();
}

std::string print_stmt(const Stmt* s, const PrintOptions& options) {
  Printer p(options, nullptr);
  p.begin_fragment(true);
  p.stmt(s, true);
  return p.take();
}

std::string print_binding(const Binding* b, const PrintOptions& options) {
  Printer p(options, nullptr);
  p.begin_fragment(false);
  p.binding(b);
  return p.take();
}

// A type by itself is printed for a reader (or for a message at run time): it is not parsed again, and a message
// about each binding must not write out an immense type each time. Modules are printed whole.
constexpr std::size_t kMaxTypeText = 100'000;

std::string print_type(const Type* t, const PrintOptions& options) {
  Printer p(options, nullptr);
  p.begin_fragment(false);
  p.limit(kMaxTypeText);
  p.type(t);
  return p.take();
}

std::string print_attr(const Attr* a, const PrintOptions& options) {
  Printer p(options, nullptr);
  p.begin_fragment(options.tensor_ir);
  p.attr(a);
  return p.take();
}

std::string print_region(const BufferRegion& r, const PrintOptions& options) {
  Printer p(options, nullptr);
  p.begin_fragment(true);
  p.region(r);
  return p.take();
}

}  // namespace rldb::ir
