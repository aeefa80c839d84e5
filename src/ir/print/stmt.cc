// Statements of TensorIR.
#include "ir/print/printer_impl.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/meta_string.h"
#include "rldb/ir/thread_tag.h"

namespace rldb::ir::print_detail {
namespace {

// The tag of the thread that an attribute statement launches: "threadIdx.x".
std::string_view thread_tag(const AttrStmt* s) {
  if (s->node == nullptr) return {};
  if (s->node->is(AttrKind::String)) return s->node->string;
  if (const Attr* tag = find_attr(s->node->fields, "thread_tag")) return tag->string;
  for (std::size_t k = s->node->items.size(); k-- > 0;)
    if (s->node->items[k]->is(AttrKind::String)) return s->node->items[k]->string;
  return {};
}

}  // namespace

// A statement with a body is written without `with` where it is all that there is, and in TVM's older texts also where
// it is the last.
void Printer::body(const Stmt* s) {
  const auto* seq = as<SeqStmt>(s);
  if (seq == nullptr) return stmt(s, true);
  for (std::size_t k = 0; k < seq->stmts.size(); ++k) stmt(seq->stmts[k], !current() && k + 1 == seq->stmts.size());
}

void Printer::nested(const Stmt* s) {
  ++indent_;
  names_.push();
  if (s != nullptr) {
    body(s);
  } else {
    line(nullptr);
    out_ += "pass";
  }
  names_.pop();
  --indent_;
}

void Printer::stmt(const Stmt* s, bool without_with) {
  if (depth_ >= kMaxDepth) {
    line(s);
    too_deep();
    return;
  }
  ++depth_;
  switch (s->stmt_kind()) {
    case StmtKind::Bind:
      bind_stmt(as<BindStmt>(s));
      break;
    case StmtKind::Attr:
      attr_stmt(as<AttrStmt>(s), without_with);
      break;
    case StmtKind::Assert:
      assert_stmt(as<AssertStmt>(s));
      break;
    case StmtKind::BufferStore:
      store(as<ir::BufferStore>(s));
      break;
    case StmtKind::AllocBuffer:
      alloc_stmt(as<ir::AllocBuffer>(s));
      break;
    case StmtKind::DeclBuffer:
      decl_stmt(as<ir::DeclBuffer>(s));
      break;
    case StmtKind::Allocate:
      allocate_stmt(as<AllocateStmt>(s));
      break;
    case StmtKind::AllocateConst:
      allocate_const_stmt(as<AllocateConstStmt>(s));
      break;
    case StmtKind::For:
      for_stmt(as<ForStmt>(s));
      break;
    case StmtKind::While:
      line(s);
      out_ += "while ";
      expr(as<WhileStmt>(s)->cond);
      out_ += ':';
      nested(as<WhileStmt>(s)->body);
      break;
    case StmtKind::IfThenElse:
      if_stmt(as<ir::IfThenElse>(s));
      break;
    case StmtKind::Seq:
      names_.push();
      body(s);
      names_.pop();
      break;
    case StmtKind::Evaluate:
      evaluate(as<ir::Evaluate>(s));
      break;
    case StmtKind::SBlock:
      sblock(as<ir::SBlock>(s), nullptr);
      break;
    case StmtKind::SBlockRealize:
      sblock(as<ir::SBlockRealize>(s)->block, as<ir::SBlockRealize>(s));
      break;
  }
  --depth_;
}

void Printer::bind_stmt(const BindStmt* s) {
  line(s);
  std::string value = captured([&] { expr(s->value); });
  bool fresh = !names_.has(s->var);
  out_ += define(s->var);
  bool typed = as<PrimType>(s->var->type) != nullptr || as<PointerType>(s->var->type) != nullptr;
  if (fresh && current()) {
    out_ += ": ";
    t("let");
    if (typed) {
      out_ += '[';
      parameter_type(s->var->type);
      out_ += ']';
    }
  } else if (fresh && typed) {
    out_ += ": ";
    parameter_type(s->var->type);
  }
  out_ += " = ";
  out_ += value;
}

// v = T.env_thread("threadIdx.x"), at the start of the function.
void Printer::define_env_thread(const AttrStmt* s) {
  if (function_ == nullptr) {
    define(s->thread_var);
    return;
  }
  std::string text(names_.define_at(function_->depth, s->thread_var, wanted(s->thread_var)));
  text += " = " + captured([&] {
            t("env_thread(");
            string_literal(thread_tag(s));
            out_ += ')';
          });
  prelude(std::move(text));
}

// T.launch_thread(...) or T.attr(...); `defined` receives the thread variable that the statement itself defines.
void Printer::launch_or_attr(const AttrStmt* s, const Var*& defined) {
  bool launch = launches_threads(s->key);
  bool of_iter_var = launch && s->node != nullptr && s->node->is(AttrKind::Expr);
  if (launch && (s->thread_var != nullptr || of_iter_var)) {
    t("launch_thread(");
    if (s->thread_var == nullptr) {
      attr(s->node);
    } else if (names_.has(s->thread_var)) {
      out_ += names_.find(s->thread_var);
    } else {
      string_literal(thread_tag(s));
      defined = s->thread_var;
    }
    out_ += ", ";
    expr(s->value);
    out_ += ')';
  } else if (s->node == nullptr || s->node->is(AttrKind::None) ||
             (current() && s->key.starts_with("pragma_") && s->node->is(AttrKind::Int) && s->node->integer == 0)) {
    t("attr({");
    string_literal(s->key);
    out_ += ": ";
    expr(s->value);
    out_ += "})";
  } else {
    t("attr(");
    attr(s->node);
    out_ += ", ";
    string_literal(s->key);
    out_ += ", ";
    expr(s->value);
    out_ += ')';
  }
}

void Printer::attr_stmt(const AttrStmt* s, bool without_with) {
  if (s->thread_var != nullptr && env_threads_.count(s->thread_var) != 0 && !names_.has(s->thread_var))
    define_env_thread(s);
  line(s);
  const Var* defined = nullptr;
  std::string text = captured([&] { launch_or_attr(s, defined); });
  names_.push();
  std::string_view name = defined != nullptr ? define(defined) : std::string_view{};
  if (without_with) {  // what follows is its body: no indentation needed
    if (!name.empty()) {
      out_ += name;
      out_ += " = ";
    }
    out_ += text;
    body(s->body);
  } else {
    out_ += "with " + text;
    if (!name.empty()) {
      out_ += " as ";
      out_ += name;
    }
    out_ += ':';
    nested(s->body);
  }
  names_.pop();
}

// A string of an absent metadata section is the reference to it, unless the text gets a section of its own.
void Printer::message_part(std::string_view part) {
  if (!opt_.show_meta && is_meta_string_reference(part))
    out_ += part;
  else
    string_literal(part);
}

void Printer::assert_stmt(const AssertStmt* s) {
  line(s);
  out_ += "assert ";
  expr(s->cond);
  out_ += ", ";
  if (!current()) {
    std::string joined;
    for (std::string_view part : s->message_parts) joined += part;
    return string_literal(joined);
  }
  out_ += '(';
  string_literal(s->error_kind);
  out_ += ", [";
  bool first = true;
  for (std::string_view part : s->message_parts) {
    comma(first);
    message_part(part);
  }
  out_ += "])";
}

void Printer::store(const BufferStore* s) {
  line(s);
  buffer_use(s->buffer);
  if (s->predicate == nullptr) {
    indices(s->indices);
    out_ += " = ";
    expr(s->value);
    return;
  }
  out_ += ".vstore([";
  exprs(s->indices);
  out_ += "], ";
  expr(s->value);
  out_ += ", predicate=";
  expr(s->predicate);
  out_ += ')';
}

void Printer::if_stmt(const IfThenElse* s) {
  line(s);
  out_ += "if ";
  expr(s->cond);
  out_ += ':';
  nested(s->then_case);
  if (s->else_case == nullptr) return;
  line(nullptr);
  out_ += "else:";
  nested(s->else_case);
}

void Printer::evaluate(const Evaluate* s) {
  line(s);
  const auto* c = as<Call>(s->value);
  if (c == nullptr) {
    t("evaluate(");
    expr(s->value);
    out_ += ')';
    return;
  }
  if (is_call_of(c, intrin::Ret) && c->args.size() == 1) {
    out_ += "return ";
    expr(c->args[0]);
    return;
  }
  expr(s->value);
}

}  // namespace rldb::ir::print_detail
