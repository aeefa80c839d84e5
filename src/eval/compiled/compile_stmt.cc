// Statements as instructions: the counterpart of TirMachine::step, statement by statement.
#include <algorithm>

#include "eval/compiled/compiler.h"
#include "eval/tir/expr_eval.h"
#include "eval/tir/parts.h"
#include "rldb/ir/empty_nest.h"
#include "rldb/ir/nested_threads.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"

namespace rldb::eval {

using ir::as;

namespace {

constexpr int kMaxNesting = 200;
constexpr std::size_t kMaxInstructions = 100'000;

bool reads_memory(const ir::Expr* e) {
  bool found = false;
  if (e)
    ir::walk(e, [&](const ir::Node* n) {
      found = found || as<ir::BufferLoad>(n);
      return !found;
    });
  return found;
}

Op store_op(runtime::DType t) {
  using runtime::DType;
  if (t == DType::Float(32)) return Op::StoreF32;
  if (t == DType::Float(64)) return Op::StoreF64;
  if (t == DType::Int(64)) return Op::StoreI64;
  if (t == DType::Int(32)) return Op::StoreI32;
  if (t == DType::Int(8)) return Op::StoreI8;
  return is_half(t) ? Op::StoreHalf : Op::StoreAny;
}

std::vector<std::uint32_t> registers(const std::vector<Operand>& of) {
  std::vector<std::uint32_t> out;
  for (const Operand& o : of) out.push_back(o.reg);
  return out;
}

}  // namespace

std::unique_ptr<Program> compile(const ir::Stmt* root) {
  if (ir::has_barrier(root)) return nullptr;
  return Compiler().compile(root);
}

std::unique_ptr<Program> Compiler::compile(const ir::Stmt* root) {
  code_.open_segment();
  if (!statement(root)) return nullptr;
  code_.close_segment();
  return code_.finish();
}

std::uint32_t Compiler::add_frame(Frame f) {
  f.parent = frame_;
  code_.program().frames.push_back(std::move(f));
  return std::uint32_t(code_.program().frames.size() - 1);
}

void Compiler::define(const ir::Var* v, std::vector<Operand> lanes, std::uint32_t frame) {
  code_.program().frames[frame].variables.push_back({v, registers(lanes)});
  unknown_.erase(v);
  scope_[v] = std::move(lanes);
}

bool Compiler::statement(const ir::Stmt* s) {
  if (enclosing_.size() > kMaxNesting || code_.lines().size() > kMaxInstructions) return false;
  enclosing_.push_back(s);
  bool done = true;
  switch (s->stmt_kind()) {
    case ir::StmtKind::BufferStore:
      store(as<ir::BufferStore>(s));
      break;
    case ir::StmtKind::For:
      done = loop(as<ir::ForStmt>(s));
      break;
    case ir::StmtKind::SBlockRealize:
      done = block(s, as<ir::SBlockRealize>(s)->block, as<ir::SBlockRealize>(s));
      break;
    case ir::StmtKind::SBlock:
      done = block(s, as<ir::SBlock>(s), nullptr);
      break;
    case ir::StmtKind::Bind:
      bind(as<ir::BindStmt>(s));
      break;
    case ir::StmtKind::IfThenElse:
      done = branch(as<ir::IfThenElse>(s));
      break;
    case ir::StmtKind::While:
      done = repeat(as<ir::WhileStmt>(s));
      break;
    case ir::StmtKind::Evaluate:
      done = evaluate(as<ir::Evaluate>(s));
      break;
    case ir::StmtKind::Assert:
      check(as<ir::AssertStmt>(s));
      break;
    case ir::StmtKind::AllocBuffer:
      walk(s, as<ir::AllocBuffer>(s)->buffer);
      break;
    case ir::StmtKind::DeclBuffer:
      walk(s, as<ir::DeclBuffer>(s)->buffer);
      break;
    case ir::StmtKind::Allocate:
    case ir::StmtKind::AllocateConst:
      walk(s);
      break;
    case ir::StmtKind::Attr:
      done = attribute(as<ir::AttrStmt>(s));
      break;
    case ir::StmtKind::Seq:
      done = sequence(as<ir::SeqStmt>(s));
      break;
  }
  enclosing_.pop_back();
  return done;
}

bool Compiler::sequence(const ir::SeqStmt* s) {
  const std::uint32_t outer = frame_;
  std::uint32_t variables = outer;
  for (std::size_t i = 0; i < s->stmts.size(); ++i) {
    frame_ = variables;
    frame_ = add_frame({.kind = Frame::Kind::Fixed, .stmt = s, .at = std::int64_t(i) + 1});
    if (!statement(s->stmts[i])) return false;
    const auto* bound = as<ir::BindStmt>(s->stmts[i]);
    if (!bound || !scope_.contains(bound->var)) continue;
    frame_ = variables;
    variables = add_frame({.variables = {{bound->var, registers(scope_[bound->var])}}});
  }
  for (const ir::Stmt* part : s->stmts)
    if (const auto* bound = as<ir::BindStmt>(part)) scope_.erase(bound->var);
  frame_ = outer;
  return true;
}

// ---- loops ----

// Whether the machine has a loop directly below this one on its stack: branches and attributes leave nothing there.
bool Compiler::is_inside_loop() const {
  for (std::size_t i = enclosing_.size() - 1; i-- > 0;) {
    const auto* attr = as<ir::AttrStmt>(enclosing_[i]);
    const bool leaves_nothing =
        attr ? !attr->thread_var && attr->key != ir::kReduceScope : ir::isa<ir::IfThenElse>(enclosing_[i]);
    if (!leaves_nothing) return ir::isa<ir::ForStmt>(enclosing_[i]);
  }
  return false;
}

// False: they are the threads of a statement around, which the machine knows.
bool Compiler::note_threads(const ir::Stmt* s) {
  const std::string_view tag = ir::thread_tag(s);
  code_.program().threads.push_back(tag);
  return std::none_of(enclosing_.begin(), enclosing_.end() - 1, [&](const ir::Stmt* outer) {
    return ir::thread_tag(outer) == tag && ir::needs_outer_thread(outer, s);
  });
}

bool Compiler::loop(const ir::ForStmt* s) {
  if (s->for_kind == ir::ForKind::ThreadBinding && !note_threads(s)) return false;
  const std::uint32_t place = code_.add_place({frame_, s});
  const Operand one = code_.constant(std::int64_t(1));
  Loop made{.type = s->var->dtype()};
  Value min, extent, step = one;
  // The steps of a loop are those of its iterations, or one if there is none; what fails before is in front of it.
  code_.at(place, [&] {
    min = integer(s->min);
    extent = integer(s->extent);
    if (s->step) step = integer(s->step);
  });
  if (!min || !extent || !step) return false;
  made.min = min->reg;
  made.extent = extent->reg;
  made.step = step->reg;
  made.has_step = s->step && !ir::is_const(s->step, 1);
  if (s->for_kind == ir::ForKind::ThreadBinding) {
    if (s->step) return false;
    return counted(s, made, s->var, s->body);
  }
  made.is_root = enclosing_.size() == 1;
  if (as<ir::ForStmt>(s->body) && !is_inside_loop())
    for (const ir::Expr* e : ir::extents_within(s)) {
      const Value inner = integer(e);
      if (!inner) return false;
      made.inner_extents.push_back(inner->reg);
    }
  return counted(s, made, s->var, s->body);
}

// T.launch_thread: a loop over the threads, or the thread of an outer launch of the same variable.
bool Compiler::launch(const ir::AttrStmt* s) {
  if (!scope_.contains(s->thread_var) && !note_threads(s)) return false;
  code_.program().threads.push_back(ir::thread_tag(s));  // of an outer launch too
  const std::uint32_t place = code_.add_place({frame_, s});
  const Operand one = code_.constant(std::int64_t(1));
  Loop made{.step = one.reg, .type = s->thread_var->dtype()};
  Value extent;
  code_.at(place, [&] { extent = integer(s->value); });
  if (!extent) return false;
  made.min = code_.constant(std::int64_t(0)).reg;
  made.extent = extent->reg;
  if (const auto known = scope_.find(s->thread_var); known != scope_.end()) {
    made.min = known->second[0].reg;
    made.extent = one.reg;
  }
  const auto outer = scope_.contains(s->thread_var) ? scope_[s->thread_var] : std::vector<Operand>();
  const bool done = counted(s, made, s->thread_var, s->body);
  if (!outer.empty()) scope_[s->thread_var] = outer;
  return done;
}

bool Compiler::counted(const ir::Stmt* s, Loop made, const ir::Var* var, const ir::Stmt* body) {
  const std::uint32_t none = code_.new_label(), end = code_.new_label();
  const std::uint32_t again = code_.new_label(), next = code_.new_label();
  const bool is_for = as<ir::ForStmt>(s);
  const std::uint32_t before = code_.add_place({frame_, s});
  const auto number = std::uint32_t(code_.program().loops.size());
  code_.program().loops.emplace_back();
  made.end = code_.new_register();
  code_.open_level();
  const Operand at = code_.variable();
  made.var = at.reg;
  const std::uint32_t frame = add_frame(
      {.kind = Frame::Kind::Loop, .stmt = s, .var = at.reg, .min = made.min, .end = made.end, .step = made.step});
  const std::uint32_t outer = std::exchange(frame_, frame);
  define(var, {at}, frame);
  const std::size_t around = code_.open_segments();
  code_.open_segment();
  const Place head{outer, s, frame};
  Assembler::Lines counting = code_.apart([&] { code_.count(head); });
  const std::uint32_t head_place = code_.current_place();
  if (is_for) exits_.push_back({end, next, around});
  if (!statement(body)) return false;
  if (is_for) exits_.pop_back();
  const std::uint32_t segment = code_.segment();
  code_.close_segment();
  Assembler::Lines lines = code_.close_level();
  code_.emit({Op::Enter, {}, none, 0, 0, number}, before);
  code_.append(std::move(counting));
  code_.place_label(again);
  code_.append(std::move(lines));
  code_.place_label(next);
  code_.emit({made.has_step ? Op::NextBy : Op::Next, {}, again, at.reg, made.end, made.step, segment}, head_place);
  code_.emit({Op::Jump, {}, end});
  code_.place_label(none);
  code_.open_segment();
  code_.count(head);
  code_.close_segment();
  code_.place_label(end);
  code_.program().loops[number] = std::move(made);
  scope_.erase(var);
  frame_ = outer;
  return true;
}

bool Compiler::repeat(const ir::WhileStmt* s) {
  const std::uint32_t again = code_.new_label(), end = code_.new_label();
  const std::size_t around = code_.open_segments();
  code_.place_label(again);
  code_.open_segment();
  count(s);
  const Value condition = integer(s->cond);
  if (!condition) return false;
  code_.emit({Op::JumpIfZero, {}, end, condition->reg});
  code_.close_segment();
  const std::uint32_t outer = frame_;
  frame_ = add_frame({.kind = Frame::Kind::Fixed, .stmt = s});
  code_.open_level();
  exits_.push_back({end, again, around});
  if (!guarded(s->body)) return false;
  exits_.pop_back();
  code_.append(code_.close_level());
  code_.emit({Op::Jump, {}, again});
  code_.place_label(end);
  frame_ = outer;
  return true;
}

bool Compiler::guarded(const ir::Stmt* s) {
  code_.open_segment();
  const bool done = statement(s);
  code_.close_segment();
  return done;
}

bool Compiler::branch(const ir::IfThenElse* s) {
  count(s);
  const Value condition = integer(s->cond);
  if (!condition) return false;
  const std::uint32_t other = code_.new_label(), end = code_.new_label();
  code_.emit({Op::JumpIfZero, {}, other, condition->reg});
  if (!guarded(s->then_case)) return false;
  code_.emit({Op::Jump, {}, end});
  code_.place_label(other);
  if (s->else_case && !guarded(s->else_case)) return false;
  code_.place_label(end);
  return true;
}

// ---- blocks ----

bool Compiler::block(const ir::Stmt* s, const ir::SBlock* b, const ir::SBlockRealize* realize) {
  count(s);
  const bool always = !realize || ir::is_const(realize->predicate, 1);
  const std::uint32_t end = code_.new_label();
  if (!always) {
    const Value on = integer(realize->predicate);
    if (!on) return false;
    code_.emit({Op::JumpIfZero, {}, end, on->reg});
    code_.open_segment();
  }
  const std::uint32_t outer = frame_;
  const std::uint32_t axes = add_frame({});
  frame_ = axes;
  Value first;  // whether every reduction axis is at its start; none: there are none
  if (realize && !bind_axes(b, realize, first, axes)) return false;
  open_buffers(b, axes);
  if (!block_body(s, b, first)) return false;
  frame_ = outer;
  for (const ir::IterVar& axis : b->iter_vars) scope_.erase(axis.var);
  if (!always) code_.close_segment();
  code_.place_label(end);
  return true;
}

bool Compiler::bind_axes(const ir::SBlock* b, const ir::SBlockRealize* realize, Value& first, std::uint32_t axes) {
  for (std::size_t i = 0; i < b->iter_vars.size(); ++i) {
    const ir::IterVar& axis = b->iter_vars[i];
    const Value value = integer(realize->iter_values[i]);
    if (!value) return false;
    define(axis.var, {*value}, axes);
    if (axis.kind != ir::IterKind::Reduce) continue;
    if (reads_memory(axis.dom.min)) return false;
    const Value min = integer(axis.dom.min);
    if (!min) return false;
    if (!b->init) continue;
    const Operand at_start = code_.pure(Op::EqI, {}, *value, *min);
    first = first ? code_.pure(Op::AndI, {}, *first, at_start) : at_start;
  }
  return true;
}

void Compiler::open_buffers(const ir::SBlock* b, std::uint32_t axes) {
  if (b->alloc_buffers.empty() && b->match_buffers.empty()) return;
  Program& p = code_.program();
  code_.emit({Op::OpenBuffers, {}, 0, std::uint32_t(p.blocks.size()), axes});
  p.blocks.push_back(b);
  for (const ir::Buffer* made : b->alloc_buffers) code_.find(made);
  for (const ir::MatchBufferRegion& m : b->match_buffers) {
    code_.find(m.buffer);
    for (const ir::Expr* e : m.buffer->shape)
      if (const auto* v = as<ir::Var>(e)) read(v);
    for (const ir::Expr* e : m.buffer->strides)
      if (const auto* v = as<ir::Var>(e)) read(v);
    if (const auto* v = as<ir::Var>(m.buffer->elem_offset)) read(v);
  }
}

bool Compiler::block_body(const ir::Stmt* s, const ir::SBlock* b, Value first) {
  const std::uint32_t axes = frame_;
  if (b->init) {
    const std::uint32_t body = code_.new_label();
    const std::uint32_t opening = add_frame({.kind = Frame::Kind::Fixed, .stmt = s, .at = 1, .started = true});
    if (first) code_.emit({Op::JumpIfZero, {}, body, first->reg});
    code_.open_segment();
    frame_ = opening;
    if (!statement(b->init)) return false;
    // The step from the init to the body.
    code_.count({opening, nullptr});
    code_.close_segment();
    code_.place_label(body);
    frame_ = axes;
  }
  frame_ = add_frame({.kind = Frame::Kind::Fixed, .stmt = s, .at = 2, .started = true});
  return statement(b->body);
}

bool Compiler::attribute(const ir::AttrStmt* s) {
  if (s->thread_var) return launch(s);
  count(s);
  const std::uint32_t outer = frame_;
  if (s->key == ir::kReduceScope) frame_ = add_frame({.kind = Frame::Kind::Fixed, .stmt = s, .started = true});
  const bool done = statement(s->body);
  frame_ = outer;
  return done;
}

// ---- single statements ----

// The machine executes it; a buffer that it declares is looked up afterwards.
void Compiler::walk(const ir::Stmt* s, const ir::Buffer* declared) {
  count(s);
  code_.emit({Op::Walk});
  if (declared) code_.find(declared);
}

// A variable that the machine has defined.
void Compiler::read(const ir::Var* v) {
  Program& p = code_.program();
  p.variables.push_back(v);
  unknown_.erase(v);
  scope_[v] = {code_.here(Op::ReadVariable, v->dtype(), std::uint32_t(p.variables.size() - 1))};
}

bool Compiler::evaluate(const ir::Evaluate* s) {
  const bool for_good = is_call_of<ir::intrin::BreakLoop>(s->value);
  if (for_good || is_call_of<ir::intrin::ContinueLoop>(s->value)) {
    leave(s, for_good);
  } else if (is_call_of<ir::intrin::Ret>(s->value) || is_call_of<ir::intrin::ThreadReturn>(s->value)) {
    count(s);
    code_.emit({Op::HandOver});
  } else if (as<ir::IntImm>(s->value)) {
    count(s);
  } else {
    walk(s);
  }
  return true;
}

void Compiler::leave(const ir::Stmt* s, bool for_good) {
  count(s);
  if (exits_.empty()) return code_.emit({Op::HandOver});
  const Exits& to = exits_.back();
  // The steps that segments inside of the loop have counted and that are passed over.
  code_.emit({Op::Uncount}, code_.add_place({}, to.segments));
  code_.emit({Op::Jump, {}, for_good ? to.stop : to.next});
}

void Compiler::check(const ir::AssertStmt* s) {
  count(s);
  const Value on = integer(s->cond);
  if (!on) return code_.emit({Op::Walk});
  const std::uint32_t bad = code_.new_label(), end = code_.new_label();
  code_.emit({Op::JumpIfZero, {}, bad, on->reg});
  code_.emit({Op::Jump, {}, end});
  code_.place_label(bad);
  code_.emit({Op::HandOver});
  code_.place_label(end);
}

void Compiler::bind(const ir::BindStmt* s) {
  const int lanes = lanes_of(s->value);
  if (as<ir::PointerType>(s->var->type)) return walk(s);
  count(s);
  std::vector<Operand> values;
  bool known = lanes <= kMaxLanes && kind_of(s->var->dtype().element()) == kind_of(s->value->dtype().element());
  Assembler::Lines lines = code_.apart([&] {
    for (int lane = 0; known && lane < lanes; ++lane) {
      const Value v = expr(s->value, lane);
      known = v.has_value();
      if (known) values.push_back(*v);
    }
  });
  scope_.erase(s->var);
  unknown_.erase(s->var);
  if (known) {
    code_.append(std::move(lines));
    scope_[s->var] = std::move(values);
    return;
  }
  code_.emit({Op::Walk});
  if (lanes > 1)
    unknown_.insert(s->var);
  else
    read(s->var);
}

void Compiler::store(const ir::BufferStore* s) {
  count(s);
  bool done = false;
  Assembler::Lines lines = code_.apart([&] { done = store_lanes(s); });
  if (done) return code_.append(std::move(lines));
  code_.emit({Op::Walk});
}

// All lanes are read, and all accesses are checked, before any is written.
bool Compiler::store_lanes(const ir::BufferStore* s) {
  const int lanes = lanes_of(s->value);
  const DType t = s->buffer->dtype.element();
  if (lanes > kMaxLanes || t.is_void() || kind_of(t) != kind_of(s->value->dtype().element())) return false;
  std::vector<Operand> values;
  for (int lane = 0; lane < lanes; ++lane) {
    const Value v = expr(s->value, lane);
    if (!v) return false;
    values.push_back(*v);
  }
  if (lanes > 1 && s->predicate) return false;
  for (const ir::Expr* e : s->indices)
    if (lanes > 1 && reads_memory(e)) return false;
  if (s->predicate) {
    const Value on = integer(s->predicate);
    if (!on) return false;
    const std::uint32_t end = code_.new_label();
    code_.emit({Op::JumpIfZero, {}, end, on->reg});
    const auto at = access(s->buffer, s->indices, 0);
    if (!at) return false;
    write(s, values[0], *at);
    code_.place_label(end);
    return true;
  }
  std::vector<Access> at;
  for (int lane = 0; lane < lanes; ++lane) {
    const auto one = access(s->buffer, s->indices, lane);
    if (!one) return false;
    at.push_back(*one);
    if (lanes > 1) code_.emit({Op::Check, {}, 0, one->position.reg, one->index.reg, one->along});
  }
  for (std::size_t lane = 0; lane < values.size(); ++lane) write(s, values[lane], at[lane]);
  return true;
}

void Compiler::write(const ir::BufferStore* s, Operand value, const Access& at) {
  const DType t = s->buffer->dtype.element();
  code_.emit({store_op(t), t, value.reg, at.position.reg, at.index.reg, at.along});
}

}  // namespace rldb::eval
