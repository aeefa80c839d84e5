// Run files: their fields, written and read by one description.
#include "rldb/ui/prompt/run_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/runtime/compressed.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/support/hash.h"
#include "ui/prompt/run_file/values.h"

namespace rldb::ui {

using debug::Breakpoint;
using debug::PointKind;
using runtime::Value;

namespace {

// Visits the fields of a RunFile in the order of the file. `Archive` has `field` for each of the types below: a writer
// or a reader.
class RunWriter {
 public:
  void field(const std::string& v) { out.string(v); }
  void field(bool v) { out.u8(v); }
  void field(char v) { out.u8(std::uint8_t(v)); }
  void field(std::int64_t v) { out.i64(v); }
  void field(std::uint64_t v) { out.u64(v); }
  void field(int v) { out.i64(v); }
  void field(std::uint32_t v) { out.u64(v); }
  void field(PointKind v) { out.u8(std::uint8_t(v)); }
  void field(const Value& v) {
    if (!values.write(v, why)) failed = true;
  }
  template <class T>
  void list(std::vector<T>& items, std::uint64_t /*least*/, const auto& each) {
    out.u64(items.size());
    for (T& item : items) each(item);
  }
  support::ByteWriter out;
  ValueWriter values{out};
  bool failed = false;
  std::string why;
};

class RunReader {
 public:
  explicit RunReader(std::string_view bytes) : in(bytes) {}
  void field(std::string& v) { v = in.string(); }
  void field(bool& v) {
    const std::uint8_t b = in.u8();
    if (b > 1) in.fail("a truth value that is neither 0 nor 1");
    v = b == 1;
  }
  void field(char& v) { v = char(in.u8()); }
  void field(std::int64_t& v) { v = in.i64(); }
  void field(std::uint64_t& v) { v = in.u64(); }
  void field(int& v) {
    const std::int64_t wide = in.i64();
    v = int(wide);
    if (v != wide) in.fail("a number that is too large");
  }
  void field(std::uint32_t& v) {
    const std::uint64_t wide = in.u64();
    v = std::uint32_t(wide);
    if (v != wide) in.fail("a number that is too large");
  }
  void field(PointKind& v) {
    const std::uint8_t kind = in.u8();
    if (kind > std::uint8_t(PointKind::Catch)) in.fail("a breakpoint of an unknown kind");
    v = in.ok() ? PointKind(kind) : PointKind::Break;
  }
  void field(Value& v) { v = values.read(); }
  template <class T>
  void list(std::vector<T>& items, std::uint64_t least, const auto& each) {
    const std::uint64_t count = in.count(least, "items");
    items.clear();
    for (std::uint64_t i = 0; i < count && in.ok(); ++i) each(items.emplace_back());
  }
  support::ByteReader in;
  ValueReader values{in};
};

constexpr std::uint64_t kLeastText = 8, kLeastNumber = 8;

template <class Archive>
void visit_entry(Archive& a, debug::StoredEntry& e) {
  a.field(e.text);
  a.field(e.author.script);
  a.field(e.author.line);
}

template <class Archive>
void visit_breakpoint(Archive& a, Breakpoint& b) {
  a.field(b.number);
  a.field(b.kind);
  a.field(b.spec);
  a.field(b.enabled);
  a.field(b.temporary);
  a.field(b.condition);
  a.field(b.ignore);
  a.field(b.hits);
  a.list(b.commands, kLeastText, [&](std::string& c) { a.field(c); });
  a.field(b.commands_by.script);
  a.field(b.commands_by.line);
  a.field(b.log);
  std::uint64_t frame = b.frame;
  a.field(frame);
  b.frame = std::size_t(frame);
  a.field(b.function);
  a.field(b.entered);
  a.field(b.every_activation);
  a.field(b.iterations);
}

template <class Archive>
void visit_program(Archive& a, RunFile& r) {
  a.field(r.made_by);
  a.field(r.cpu);
  a.list(r.cpu_features, kLeastText, [&](std::string& f) { a.field(f); });
  a.field(r.path);
  a.field(r.program);
  a.list(r.passes, kLeastText, [&](std::string& p) { a.field(p); });
  a.field(r.text_hash);
}

template <class Archive>
void visit_options(Archive& a, RunFile& r) {
  a.field(r.engine);
  a.field(r.machine);
  a.list(r.kernel_engines, 2 * kLeastText, [&](auto& k) {
    a.field(k.first);
    a.field(k.second);
  });
  for (bool* flag : {&r.fast_math, &r.check_accesses, &r.check_bounds, &r.schedule, &r.poisoned_memory, &r.bind_params})
    a.field(*flag);
  a.field(r.opt_level);
  a.field(r.seed);
  a.field(r.default_dim);
  std::vector<std::pair<std::string, std::int64_t>> dims(r.dims.begin(), r.dims.end());
  a.list(dims, kLeastText + kLeastNumber, [&](auto& d) {
    a.field(d.first);
    a.field(d.second);
  });
  r.dims = {dims.begin(), dims.end()};
  a.list(r.devices, kLeastText, [&](std::string& d) { a.field(d); });
}

template <class Archive>
void visit_run(Archive& a, RunFile& r) {
  a.field(r.function);
  a.list(r.arguments, 1, [&](Value& v) { a.field(v); });
  a.list(r.values, kLeastText + 1, [&](auto& v) {
    a.field(v.first);
    a.field(v.second);
  });
  a.list(r.changes, 4 * kLeastNumber, [&](RunFile::Change& c) {
    a.field(c.time);
    a.field(c.frame);
    visit_entry(a, c.entry);
  });
  a.field(r.time);
  a.field(r.finished);
  a.field(r.faulted);
  a.field(r.in_kernel);
  a.field(r.frame);
  a.list(r.digests, 2 * kLeastNumber, [&](auto& d) {
    a.field(d.first);
    a.field(d.second);
  });
}

template <class Archive>
void visit_debugger(Archive& a, RunFile& r) {
  constexpr std::uint64_t kLeastBreakpoint = 16;
  a.list(r.breakpoints, kLeastBreakpoint, [&](Breakpoint& b) { visit_breakpoint(a, b); });
  a.list(r.displays, kLeastText + 1, [&](RunFile::Shown& d) {
    a.field(d.format);
    a.field(d.text);
  });
  a.list(r.checkpoints, kLeastText + kLeastNumber, [&](auto& c) {
    a.field(c.first);
    a.field(c.second);
  });
  a.list(r.notes, kLeastText + kLeastNumber, [&](auto& n) {
    a.field(n.first);
    a.field(n.second);
  });
}

template <class Archive>
void visit_all(Archive& a, RunFile& r) {
  visit_program(a, r);
  visit_options(a, r);
  visit_run(a, r);
  visit_debugger(a, r);
}

}  // namespace

bool is_writable(const Value& v) {
  if (v.is(runtime::ValueKind::Tuple)) {
    const auto& fields = v.as_tuple().fields;
    return std::all_of(fields.begin(), fields.end(), is_writable);
  }
  return !v.is(runtime::ValueKind::Function) && !v.is(runtime::ValueKind::Storage) && !v.is(runtime::ValueKind::Object);
}

bool is_run_file(std::string_view bytes) { return bytes.starts_with(kRunFileMagic); }

std::string run_file_around(std::string_view contents) {
  const std::string frame = runtime::compress(contents);
  std::string out(kRunFileMagic);
  support::append_little(out, support::fnv1a(frame), sizeof(std::uint64_t));
  return out + frame;
}

std::optional<std::string> write_run_file(const RunFile& run, source::Diagnostics& out) {
  RunWriter writer;
  writer.out.u32(kRunFileVersion);
  RunFile copy = run;  // a description for both directions does not take a constant
  visit_all(writer, copy);
  if (!writer.failed) return run_file_around(writer.out.bytes());
  out.add({}, source::message(diag::RunNotWritten,
                              fmt::format("a value that it needs has no form in a file: {}", writer.why)));
  return std::nullopt;
}

std::optional<RunFile> read_run_file(std::string_view bytes, std::string_view path, source::Diagnostics& out) {
  const auto refuse = [&](std::string_view why) {
    out.add({}, source::message(diag::BadRunFile, path, why));
    return std::nullopt;
  };
  if (!is_run_file(bytes)) return refuse("it does not begin like one");
  bytes.remove_prefix(kRunFileMagic.size());
  constexpr std::size_t kHash = sizeof(std::uint64_t);
  if (bytes.size() < kHash) return refuse("it is cut off");
  const std::uint64_t hash = support::read_little(bytes, 0, kHash);
  bytes.remove_prefix(kHash);
  // The checksum in the frame is of the contents: bits that do not change them would pass.
  if (support::fnv1a(bytes) != hash) return refuse("its bytes are not those that were written");
  auto contents = runtime::decompress(bytes, runtime::memory_limit() / 2);
  if (!contents.ok()) return refuse(contents.error().message);
  RunReader reader(*contents);
  const std::uint32_t version = reader.in.u32();
  if (reader.in.ok() && version != kRunFileVersion)
    return refuse(fmt::format("its format is number {}, and this rldb reads number {}", version, kRunFileVersion));
  RunFile run;
  visit_all(reader, run);
  if (reader.in.ok() && reader.in.left() > 0) reader.in.fail("bytes follow the last field");
  constexpr int kMostNumber = 100'000;
  for (const Breakpoint& b : run.breakpoints)
    if (b.number < 1 || b.number > kMostNumber) reader.in.fail("a breakpoint with an impossible number");
  if (!reader.in.ok()) return refuse(reader.in.error());
  return run;
}

}  // namespace rldb::ui
