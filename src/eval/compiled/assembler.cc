// Registers, levels and labels of a Program in the making.
#include "eval/compiled/assembler.h"

#include <algorithm>
#include <bit>

namespace rldb::eval {

std::uint32_t Assembler::new_register() {
  program_.registers.push_back({});
  return std::uint32_t(program_.registers.size() - 1);
}

Operand Assembler::constant(std::int64_t value) {
  const auto [it, fresh] = constants_.try_emplace(value);
  if (fresh) {
    it->second = {new_register(), 0};
    program_.registers[it->second.reg].i = value;
  }
  return it->second;
}

// A register holds the bits of either kind.
Operand Assembler::constant(double value) { return constant(std::bit_cast<std::int64_t>(value)); }
Operand Assembler::constant(float value) { return constant(std::int64_t(std::bit_cast<std::uint32_t>(value))); }

Operand Assembler::variable() { return {new_register(), 2 * depth()}; }

Operand Assembler::free(const ir::Var* v) {
  const auto [it, fresh] = free_.try_emplace(v);
  if (fresh) {
    it->second = {new_register(), 0};
    program_.free.push_back({v, it->second.reg});
  }
  return it->second;
}

// A value that depends on something in the current loop's body is computed here; any other at the beginning of an
// iteration of the loop in which it changes.
Operand Assembler::put(Instruction i, int level) {
  level = std::min(level, 2 * depth() + 1);
  if (level % 2 == 1 && level / 2 == depth()) {
    i.to = new_register();
    emit(i);
    return {i.to, level};
  }
  const int loop = (level + 1) / 2;
  const Key key{i.op, i.type.code, i.type.bits, i.a, i.b, i.c};
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  i.to = new_register();
  Level& at = levels_[std::size_t(loop)];
  at.prologue.push_back({i, kNone});
  at.known.push_back(key);
  return known_[key] = {i.to, 2 * loop};
}

Operand Assembler::pure(Op op, DType type, Operand a, Operand b, std::uint32_t c) {
  return put({op, type, 0, a.reg, b.reg, c}, std::max(a.level, b.level));
}

Operand Assembler::select(Operand condition, Operand a, Operand b) {
  return put({Op::Select, {}, 0, condition.reg, a.reg, b.reg}, std::max({condition.level, a.level, b.level}));
}

Operand Assembler::call(Function f, const std::vector<Operand>& of) {
  int level = 0;
  for (const Operand& o : of) level = std::max(level, o.level);
  program_.functions.push_back(std::move(f));
  return put({Op::Call, {}, 0, 0, operands(of), std::uint32_t(program_.functions.size() - 1)}, level);
}

Operand Assembler::here(Op op, DType type, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const Operand to{new_register(), 2 * depth() + 1};
  emit({op, type, to.reg, a, b, c});
  return to;
}

std::uint32_t Assembler::operands(const std::vector<Operand>& of) {
  const auto first = std::uint32_t(program_.operands.size());
  for (const Operand& o : of) program_.operands.push_back(o.reg);
  return first;
}

std::uint32_t Assembler::buffer(const ir::Buffer* b) {
  const auto [it, fresh] = buffers_.try_emplace(b, std::uint32_t(program_.buffers.size()));
  if (fresh) program_.buffers.push_back(b);
  return it->second;
}

void Assembler::find(const ir::Buffer* b) {
  const std::uint32_t number = buffer(b);
  emit({Op::FindBuffer, {}, 0, number});
  found_[number] = 2 * depth() + 1;
  std::erase_if(known_, [&](const auto& row) {
    const auto& [op, code, bits, a, b, c] = row.first;
    return (op == Op::Origin || op == Op::Along) && c / 16 == number;
  });
}

Access Assembler::access(const ir::Buffer* b, std::vector<Operand> indices) {
  const std::uint32_t number = buffer(b) * 16;
  const auto found = found_.find(number / 16);
  const int level = found == found_.end() ? 0 : found->second;
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < indices.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t i, std::uint32_t j) { return indices[i].level < indices[j].level; });
  Access at{put({Op::Origin, {}, 0, 0, 0, number}, level), constant(std::int64_t(0)),
            number + std::uint32_t(order.size())};
  for (const std::uint32_t i : order) {
    if (at.along != number + order.size())
      at.position =
          put({Op::Along, {}, 0, at.position.reg, at.index.reg, at.along}, std::max(at.position.level, at.index.level));
    at.index = indices[i];
    at.along = number + i;
  }
  return at;
}

Operand Assembler::here(Op op, DType type, const Access& of) {
  return here(op, type, of.position.reg, of.index.reg, of.along);
}

Operand Assembler::add_single(Operand a, Operand b) {
  const int level = std::max(a.level, b.level);
  Instruction* last = lines().empty() ? nullptr : &lines().back().instruction;
  const bool follows = last && last->op == Op::MulF32 && level == 2 * depth() + 1;
  if (!follows || (last->to != a.reg && last->to != b.reg) || a.reg == b.reg) return pure(Op::AddF32, {}, a, b);
  const bool second = last->to == b.reg;
  const Operand to{new_register(), level};
  *last = {second ? Op::MulAddF32 : Op::MulAddLastF32, {}, to.reg, last->a, last->b, (second ? a : b).reg, last->to};
  return to;
}

std::uint32_t Assembler::type(DType t) {
  const auto it = std::find(program_.types.begin(), program_.types.end(), t);
  const auto at = std::uint32_t(it - program_.types.begin());
  if (it == program_.types.end()) program_.types.push_back(t);
  return at;
}

Assembler::Lines Assembler::close_level() {
  Level level = std::move(levels_.back());
  levels_.pop_back();
  for (const Key& key : level.known) known_.erase(key);
  level.prologue.insert(level.prologue.end(), level.lines.begin(), level.lines.end());
  return std::move(level.prologue);
}

void Assembler::append(Lines more) { lines().insert(lines().end(), more.begin(), more.end()); }

// The first statement of a segment counts the steps of all: their number is filled in at the end.
void Assembler::count(Place place) {
  Segment& s = open_.back();
  if (s.id == kNone) {
    s.id = std::uint32_t(segments_.size());
    segments_.push_back(0);
    place_ = add_place(place);
    emit({Op::Count, {}, 0, s.id});
  } else {
    place_ = add_place(place);
  }
  ++s.done;
  ++segments_[s.id];
}

std::uint32_t Assembler::add_place(Place place, std::size_t from) {
  program_.places.push_back(place);
  within_.emplace_back(open_.begin() + std::ptrdiff_t(from), open_.end());
  return std::uint32_t(program_.places.size() - 1);
}

std::unique_ptr<Program> Assembler::finish() {
  emit({Op::End});
  std::vector<std::uint32_t> targets(labels_);
  const Lines all = close_level();
  std::uint32_t at = 0;
  for (const Line& line : all)
    if (line.instruction.op == Op::Label)
      targets[line.instruction.to] = at;
    else
      ++at;
  for (const Line& line : all) {
    Instruction i = line.instruction;
    if (i.op == Op::Label) continue;
    if (i.op == Op::Jump || i.op == Op::JumpIfZero || i.op == Op::Enter || i.op == Op::Next || i.op == Op::NextBy)
      i.to = targets[i.to];
    if (i.op == Op::Count) i.a = segments_[i.a];
    if (i.op == Op::Next || i.op == Op::NextBy) i.d = segments_[i.d];
    program_.code.push_back(i);
    program_.place_of.push_back(line.place);
  }
  for (std::size_t i = 0; i < program_.places.size(); ++i)
    for (const Segment& s : within_[i])
      if (s.id != kNone) program_.places[i].undo += segments_[s.id] - s.done;
  return std::make_unique<Program>(std::move(program_));
}

}  // namespace rldb::eval
