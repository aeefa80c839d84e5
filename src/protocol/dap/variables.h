// Variables: the values of a stop as a client sees them: scopes, their variables, parts of values.
//
// A reference stands for a list that is made when it is asked for. References are never reused, so that one from before
// the program went on is known to be old. Tensors are nested by axis, and axes of more than kMostRows elements by
// ranges, as are the locals of a frame that has more: no list is much longer, whatever the client asks for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "protocol/dap/message.h"
#include "rldb/debug/debugger.h"
#include "rldb/debug/storage.h"
#include "rldb/ui/prompt/state.h"

namespace rldb::protocol::dap {

enum class ScopeKind : std::uint8_t {
  Result,
  Kernel,
  Buffers,
  Accesses,
  Locals,
  Symbols,
  ShapeHeap,
  Registers,
  Storage
};

class Variables {
 public:
  static constexpr std::int64_t kMostRows = 1000;
  static constexpr std::size_t kOfRange = 100;

  explicit Variables(ui::Repl& repl) : repl_(repl) {}

  // Values of a rank, of so many, from now on (rank_runs.h has the form of references).
  void select(std::size_t rank, std::size_t ranks) { rank_ = rank, ranks_ = ranks; }
  // The rank goes on, or its values have changed: its references are old.
  void forget();
  void forget_all();
  Json scopes(int frame);
  // `value`, `type`, the reference and its counts. `path`: the expression that it is the value of; empty: none.
  Json shown(const runtime::Value& value, const std::string& path, int frame, std::string type = {});
  // `count` 0: all.
  Answer list(std::int64_t reference, std::int64_t start, std::int64_t count);
  // The expression that `set` takes for a variable of a list, and its frame.
  struct Target {
    std::string expression;
    int frame = 0;
  };
  support::Result<Target, Failure> target_of(std::int64_t reference, const std::string& name) const;
  // The tensor that a memory reference stands for, and the expression that it is the value of (empty: none).
  struct Memory {
    runtime::Value tensor;
    std::string path;
    int frame = 0;
    std::int64_t reference = 0;
  };
  const Memory* memory(const std::string& reference) const;

 private:
  struct Scope {
    ScopeKind kind;
    int frame;
  };
  // The elements [begin, end) of an axis, behind a fixed beginning of the index.
  struct Elements {
    runtime::Value tensor;
    std::vector<std::int64_t> index;
    std::int64_t begin, end;
    std::string path;
    int frame;
  };
  struct Parts {  // of a tuple, shape or closure
    runtime::Value whole;
    std::string path;
    int frame;
  };
  struct Later {  // computed when it is asked for
    std::string expression;
    int frame;
  };
  struct Local {
    debug::LocalInfo info;
    bool kept;  // in a register at some time; else computed when it is asked for
  };
  struct Locals {  // a range of those of a frame
    std::shared_ptr<const std::vector<Local>> all;
    std::size_t first, count;
    int frame;
    std::span<const Local> list() const { return std::span(*all).subspan(first, count); }
    Locals part(std::size_t from, std::size_t n) const { return {all, first + from, n, frame}; }
  };
  // A range of a frame's registers, or of the tensors in a storage. More than `most` are listed by ranges.
  struct Registers {
    std::size_t first, count, most;
    int frame;
  };
  struct Tenants {
    std::shared_ptr<const debug::StoragePlan> plan;
    std::size_t storage, first, count, most;
  };
  using Node = std::variant<Scope, Elements, Parts, Later, Locals, Registers, Tenants>;

  std::int64_t add(Node node);
  std::vector<Json> rows_of(const Scope& scope);
  std::vector<Json> rows_of(const Elements& elements, std::int64_t start, std::int64_t count);
  std::vector<Json> rows_of(const Parts& parts);
  std::vector<Json> rows_of(const Later& later);
  std::vector<Json> kernel_rows(ScopeKind kind);
  std::vector<Json> local_rows(int frame);
  std::vector<Json> rows_of(std::span<const Local> locals, int frame);
  std::vector<Json> range_rows(const Locals& locals);
  std::vector<Json> slot_rows(int frame, bool symbols_only);
  std::size_t register_count(int frame) const;
  std::vector<Json> rows_of(const Registers& registers);
  std::vector<Json> rows_of(const Tenants& tenants);
  std::vector<Json> storage_rows(int frame);
  Json named(std::string name, const runtime::Value& value, std::string path, int frame, std::string type = {});
  Json lazy(std::string name, std::string note, std::string type, int frame);

  ui::Repl& repl_;
  std::map<std::int64_t, Node> nodes_;
  std::int64_t next_ = 1;
  std::map<std::string, Memory> memory_;
  std::size_t rank_ = 0, ranks_ = 1;
};

}  // namespace rldb::protocol::dap
