// The accesses of a GPU kernel's threads, as the evaluator makes them, and the first race of each buffer. Room-private;
// user: race.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "rldb/eval/access_watcher.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/stmt.h"
#include "rldb/repro/sanitize.h"

namespace rldb::repro {

// The statements of a launch, each kind of thread in the order x, y, z.
struct Launches {
  std::vector<const ir::AttrStmt*> blocks, threads;
};
bool is_thread_index(std::string_view tag);  // of threads that run at the same time
bool is_launch(const ir::AttrStmt* s);

class ThreadAccesses : public eval::AccessWatcher {
 public:
  explicit ThreadAccesses(const eval::TirMachine& machine) : machine_(machine) {}

  // Before each statement.
  void see_statement();
  void loaded(const ir::BufferLoad* load, const std::byte* at, std::size_t bytes) override;
  void stored(const std::byte* at, std::size_t bytes) override;
  void allocated(const std::byte* at, std::size_t bytes) override;
  void passed(const runtime::Value& tensor) override;
  void launched(const ir::AttrStmt* outer) override;

  // More elements than are remembered: races may have been missed.
  bool is_full() const { return full_; }
  // To a packed function, which accesses it unseen.
  bool passed_memory() const { return passed_memory_; }
  std::vector<Finding> take() { return std::move(found_); }

 private:
  using Indices = std::vector<std::int64_t>;

  // A thread at a moment between its barriers.
  struct Who {
    std::uint32_t block = 0, thread = 0, warp = 0;  // numbers in `blocks_`, `threads_`; of the warp in its block
    std::uint32_t barriers = 0, warp_barriers = 0;  // that it has passed
    bool same_thread(const Who& o) const { return block == o.block && thread == o.thread; }
    bool same_epoch(const Who& o) const {
      return barriers == o.barriers && (warp != o.warp || warp_barriers == o.warp_barriers);
    }
    // Nothing orders the two.
    bool races_with(const Who& o) const { return block != o.block || (thread != o.thread && same_epoch(o)); }
  };
  // An element: of an argument by its address, of the kernel's own memory by its allocation, so that it is the same
  // for all threads of a block and another one for each block.
  struct Element {
    const void* memory;
    std::uint64_t offset;
    std::uint32_t block;
    bool operator==(const Element&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Element& e) const;
  };
  struct History {
    bool written = false;
    Who writer;
    std::vector<Who> readers;  // at most two: whoever writes races with one that it is not
  };
  struct Own {
    const ir::Stmt* by;
    std::uint64_t number;  // among those of the statement
    std::size_t bytes;
  };

  const Who& now();
  Indices values(const std::vector<const ir::AttrStmt*>& launches) const;
  std::uint32_t warp_of(const Indices& thread);
  History* history(const ir::Buffer* buffer, const std::byte* at, const Who& who);
  std::string name_of(const Who& who) const;
  void tell(const ir::Buffer* buffer, ir::Span<const ir::Expr*> indices, const Who& writer, const Who& other,
            std::string_view what);

  const eval::TirMachine& machine_;
  Launches launches_;  // of the present one
  std::unordered_map<Element, History, Hash> elements_;
  std::map<const std::byte*, Own> own_;  // by its beginning
  std::map<Indices, std::uint32_t> blocks_, threads_;
  struct Passed {
    std::uint32_t barriers = 0, warp_barriers = 0;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Passed> passed_;  // by block and thread
  std::vector<std::int64_t> extents_;                                 // of the threads
  Who now_;
  std::uint64_t allocations_ = 0;  // of the present statement
  bool fresh_ = false;             // `now_` is of this statement
  bool busy_ = false;              // what is looked up here is itself an access
  bool done_ = false;
  bool full_ = false;
  bool passed_memory_ = false;
  std::vector<Finding> found_;
};

}  // namespace rldb::repro
