// RunFile: a run as a file (`.rldbrun`) that another machine can open: everything on which it depends, where it was
// stopped, and digests of its state, by which the other machine knows that it computes the same bits.
//
// The file: kRunFileMagic, a hash of the rest, one Zstandard frame with a checksum. Reading trusts nothing and takes no
// more memory than the contents say, which is checked against the limit first. Made and opened by run_record.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rldb/debug/debugger.h"
#include "rldb/source/diagnostic.h"

namespace rldb::ui {

inline constexpr std::string_view kRunFileMagic = "\x89rldbrun\r\n\x1a\n";
inline constexpr std::uint32_t kRunFileVersion = 3;

struct RunFile {
  std::string made_by;  // version of rldb
  std::string cpu;
  std::vector<std::string> cpu_features;

  // ---- the program ----
  std::string path;                 // as it was opened; a name only
  std::string program;              // its text, or the bytes of an executable
  std::vector<std::string> passes;  // applied to it
  std::uint64_t text_hash = 0;      // of the version that ran; 0: an executable

  // ---- options ----
  std::string engine, machine;
  std::vector<std::pair<std::string, std::string>> kernel_engines;
  bool fast_math = false, check_accesses = false, check_bounds = true, schedule = true, poisoned_memory = false;
  std::vector<std::string> devices;  // of the option
  bool bind_params = true;
  std::int64_t opt_level = 3;
  std::uint64_t seed = 0;
  std::int64_t default_dim = 4;
  std::map<std::string, std::int64_t> dims;

  // ---- the run ----
  std::string function;
  std::vector<runtime::Value> arguments;
  std::vector<std::pair<std::string, runtime::Value>> values;  // of the session
  struct Change {
    std::uint64_t time = 0;
    std::int64_t frame = 0;
    debug::StoredEntry entry;
  };
  std::vector<Change> changes;  // entries that changed it, in the order in which they were given
  std::uint64_t time = 0;       // where it is stopped
  bool finished = false;        // at its end
  bool faulted = false;         // at its fault
  bool in_kernel = false;       // before the call at that time, to be precise inside of it
  std::int64_t frame = 0;       // selected
  // State at some times, ascending, the last one at `time` unless it is the end.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> digests;

  // ---- the debugger's ----
  std::vector<debug::Breakpoint> breakpoints;  // without what is resolved from their specs
  struct Shown {
    char format = '\0';
    std::string text;
  };
  std::vector<Shown> displays;
  std::vector<std::pair<std::string, std::uint64_t>> checkpoints;
  std::vector<std::pair<std::uint64_t, std::string>> notes;
};

bool is_run_file(std::string_view bytes);
// A file with these contents, which are its fields one after the other.
std::string run_file_around(std::string_view contents);
// Has it a form in a file? A function, a storage or an object has none.
bool is_writable(const runtime::Value& v);
// Nullopt: a value cannot be written (a function, an object), which is diagnosed.
std::optional<std::string> write_run_file(const RunFile& run, source::Diagnostics& out);
// Nullopt: damaged, cut off, of another version, or too large; diagnosed.
std::optional<RunFile> read_run_file(std::string_view bytes, std::string_view path, source::Diagnostics& out);

// Of a machine's frames and registers.
std::uint64_t state_digest(const vm::Machine& machine);
// Features that only one of two CPUs has, in words; empty: none.
std::string feature_difference(const std::vector<std::string>& theirs, const std::vector<std::string>& ours);

}  // namespace rldb::ui
