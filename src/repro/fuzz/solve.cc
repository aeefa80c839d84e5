#include "repro/fuzz/solve.h"

#include <array>

#include "rldb/ir/op_class.h"

namespace rldb::repro {

namespace {

struct SolverRow {
  Solver solver = nullptr;
  std::string_view reason;
};

constexpr std::size_t kClasses = std::size_t(op::Class::Storage) + 1;

std::array<SolverRow, op::kCount> read_solvers() {
  std::array<SolverRow, kClasses> classes;
#define RLDB_SOLVER_CLASS(row, function) classes[std::size_t(op::Class::row)] = {solver::function, {}};
#define RLDB_SOLVER_NO_CLASS(row, reason) classes[std::size_t(op::Class::row)] = {nullptr, reason};
#include "repro/fuzz/solver.def"
  std::array<SolverRow, op::kCount> rows;
  for (std::size_t i = 0; i < op::kCount; ++i) rows[i] = classes[std::size_t(op::class_of(op::Id(i)))];
#define RLDB_SOLVER(row, function) rows[std::size_t(op::Id::row)] = {solver::function, {}};
#define RLDB_SOLVER_NONE(row, reason) rows[std::size_t(op::Id::row)] = {nullptr, reason};
#include "repro/fuzz/solver.def"
  return rows;
}

const SolverRow& row_of(op::Id id) {
  static const std::array<SolverRow, op::kCount> rows = read_solvers();
  return rows[std::size_t(id)];
}

}  // namespace

Solver solver_of(op::Id id) { return row_of(id).solver; }
std::string_view unsolved_reason(op::Id id) { return row_of(id).reason; }

std::vector<op::Id> solvable() {
  std::vector<op::Id> out;
  for (std::size_t i = 0; i < op::kCount; ++i)
    if (solver_of(op::Id(i))) out.push_back(op::Id(i));
  return out;
}

bool solve(Maker& m, op::Id id) {
  const ops::OpInfo* info = ops::find(op::row(id).name);
  const Solver solver = solver_of(id);
  return solver && info && solver(m, *info);
}

}  // namespace rldb::repro
