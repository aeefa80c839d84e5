// Texts for the client.
#include "protocol/dap/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "rldb/bytecode/disassemble.h"
#include "rldb/ir/printer.h"
#include "rldb/support/file.h"
#include "rldb/support/hash.h"

namespace rldb::protocol::dap {

namespace fs = std::filesystem;

namespace {

std::string hash_text(std::string_view text) { return fmt::format("{:016x}", support::fnv1a(text)); }

std::string key_of(const SourceRef& ref) {
  return fmt::format("{}:{}:{}:{}", int(ref.kind), ref.version, ref.hash, ref.name);
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return !path.empty() && fs::is_regular_file(path, ignored);
}

}  // namespace

std::string Sources::module_name() const { return repl_.session().program_path(); }

int Sources::reference_of(const std::string& key, const SourceRef& ref) {
  const auto [it, fresh] = references_.try_emplace(key, int(known_.size()) + 1);
  if (fresh) known_.push_back(ref);
  return it->second;
}

// ---- versions ----

std::vector<debug::ModuleVersion> Sources::module_versions() {
  if (!repl_.session().module()) return {};
  std::shared_ptr<const session::Build> build = repl_.debugger().build();
  if (!build || build->source != repl_.session().module()) {
    source::Diagnostics ignored;  // a program that does not build has no versions after the ones of its passes
    build = repl_.session().viewable(ignored);
  }
  if (build != build_) cached_.clear();
  build_ = build;
  return debug::module_versions(repl_.session(), build.get());
}

const Sources::Cached& Sources::version(std::size_t index, const std::vector<debug::ModuleVersion>& versions) {
  Cached& cached = cached_[index];
  if (cached.text && cached.module == versions[index].module && cached.build == build_) return cached;
  cached.build = build_;
  cached.module = versions[index].module;
  cached.text = std::make_shared<const debug::VersionText>(repl_.session(), versions, index, build_);
  cached.hash = hash_text(cached.text->text());
  return cached;
}

std::vector<SourceRef> Sources::versions() {
  const std::vector<debug::ModuleVersion> all = module_versions();
  std::vector<SourceRef> list;
  for (std::size_t i = 0; i < all.size(); ++i)
    list.push_back({SourceKind::Version, all[i].pass, i, version(i, all).hash});
  return list;
}

std::shared_ptr<const debug::VersionText> Sources::version_text(const SourceRef& ref) {
  const std::vector<debug::ModuleVersion> all = module_versions();
  if (ref.version >= all.size()) return nullptr;
  const Cached& cached = version(ref.version, all);
  return cached.hash == ref.hash ? cached.text : nullptr;
}

void Sources::tell(Channel& channel) {
  std::map<int, Json> now;
  for (const SourceRef& version : versions()) {
    Json source = source_of(version);
    const int reference = source["sourceReference"];
    now.emplace(reference, std::move(source));
  }
  const auto tell_each = [&](std::string_view reason, const std::map<int, Json>& some,
                             const std::map<int, Json>& others) {
    for (const auto& [reference, source] : some)
      if (!others.contains(reference)) channel.event("loadedSource", {{"reason", reason}, {"source", source}});
  };
  tell_each("removed", told_, now);
  tell_each("new", now, told_);
  told_ = std::move(now);
}

std::shared_ptr<const session::Build> Sources::build() {
  (void)module_versions();
  return build_;
}

// ---- other texts ----

std::string Sources::kernel_text(const std::string& name) {
  const ir::PrimFunc* f = repl_.debugger().active() ? repl_.debugger().kernel_of_run(name) : nullptr;
  source::Diagnostics ignored;
  if (!f) f = repl_.session().find_kernel(name, ignored);
  // The lines are those that breakpoints in kernels mean (debug/kernel/text.cc).
  ir::PrintOptions options;
  options.header = false;
  return f ? ir::print_function(name, f, options) : std::string();
}

std::string Sources::listing(const bytecode::Executable& exe, const std::string& function) const {
  const bytecode::FunctionIndex f = exe.find_function(function);
  std::string text;
  if (f < 0) return text;
  const bytecode::FunctionEntry& entry = exe.functions[std::size_t(f)];
  for (bytecode::Pc pc = entry.start; pc < entry.end; ++pc)
    text += fmt::format("{:>5}  {}\n", pc, bytecode::instruction_text(exe, pc));
  return text;
}

std::string Sources::buffer_name(const std::string& path) const {
  const source::SourceManager& sources = repl_.session().sources();
  std::string same;
  for (std::uint32_t i = 1; i <= sources.size(); ++i) {
    const source::Buffer* buffer = sources.find(source::FileId{i});
    if (!buffer) continue;
    if (buffer->name() == path) return path;
    std::error_code ignored;
    if (same.empty() && is_file(buffer->name()) && fs::equivalent(buffer->name(), path, ignored)) same = buffer->name();
  }
  return same;
}

std::string_view Sources::file_text(const std::string& path) const {
  const std::string name = buffer_name(path);
  const ir::Module* module = repl_.session().module();
  if (name.empty() || !module) return {};
  for (const ir::ModuleEntry& e : module->entries) {
    const source::FileId file = repl_.session().context().span_of(e.function).file;
    if (const source::Buffer* buffer = repl_.session().sources().find(file); buffer && buffer->name() == name)
      return buffer->text();
  }
  return {};
}

bool Sources::is_written(const std::string& path) const {
  const std::string_view known = file_text(path);
  if (known.empty()) return false;
  const auto text = support::read_file(path, source::kMaxBytes);
  return text.ok() && *text != known;
}

support::Result<std::string, Failure> Sources::text(const SourceRef& ref) {
  switch (ref.kind) {
    case SourceKind::File: {
      const source::SourceManager& sources = repl_.session().sources();
      for (std::uint32_t i = std::uint32_t(sources.size()); i >= 1; --i)
        if (const source::Buffer* buffer = sources.find(source::FileId{i}); buffer && buffer->name() == ref.name)
          return std::string(buffer->text());
      break;
    }
    case SourceKind::Version:
      if (const auto text = version_text(ref)) return text->text();
      break;
    case SourceKind::Kernel:
      if (std::string text = kernel_text(ref.name); !text.empty()) return text;
      break;
    case SourceKind::Listing: {
      source::Diagnostics ignored;
      const vm::Machine* machine = repl_.debugger().machine();
      const auto build = machine ? nullptr : repl_.session().viewable(ignored);
      const bytecode::Executable* exe = machine ? &machine->executable() : build ? build->executable.get() : nullptr;
      if (std::string text = exe ? listing(*exe, ref.name) : std::string(); !text.empty()) return text;
      break;
    }
  }
  return refused(fmt::format("the program has no `{}` any more", ref.name));
}

support::Result<std::string, Failure> Sources::text_of_reference(std::int64_t reference) {
  if (reference < 1 || reference > std::int64_t(known_.size()))
    return refused(fmt::format("there is no source {}", reference));
  const SourceRef ref = known_[std::size_t(reference - 1)];
  // A text that was shown stays the same, whatever becomes of the program.
  const auto it = texts_.find(key_of(ref));
  if (it != texts_.end()) return it->second;
  auto made = text(ref);
  if (made.ok() && ref.kind == SourceKind::Version) texts_[key_of(ref)] = *made;
  return made;
}

// ---- the client's objects ----

Json Sources::source_of_buffer(const source::Buffer& buffer) {
  if (is_file(buffer.name())) {
    std::error_code ignored;
    const fs::path absolute = fs::absolute(buffer.name(), ignored);
    return {{"name", absolute.filename().string()}, {"path", absolute.string()}};
  }
  return source_of({SourceKind::File, buffer.name(), 0, {}});
}

Json Sources::source_of(const SourceRef& ref) {
  const int reference = reference_of(key_of(ref), ref);
  Json out{{"name", ref.name}, {"path", ref.name}, {"sourceReference", reference}};
  switch (ref.kind) {
    case SourceKind::File:
      out["origin"] = "entered at the prompt";
      break;
    case SourceKind::Version:
      out["name"] = fmt::format("{:02} {}.tvm.py", ref.version, ref.name.empty() ? "loaded" : ref.name);
      out["origin"] = ref.name.empty() ? std::string("IR as loaded") : fmt::format("IR after {}", ref.name);
      out["adapterData"] = {
          {"module", module_name()}, {"version", ref.version}, {"pass", ref.name}, {"hash", ref.hash}};
      break;
    case SourceKind::Kernel:
      out["name"] = fmt::format("kernel {}.tvm.py", ref.name);
      out["origin"] = "TensorIR of the kernel";
      out["adapterData"] = {{"kernel", ref.name}};
      break;
    case SourceKind::Listing:
      out["name"] = fmt::format("{}.vm", ref.name);
      out["origin"] = "VM instructions";
      out["adapterData"] = {{"listing", ref.name}};
      break;
  }
  // VS Code identifies the text of a breakpoint by its path, and shows it under that name.
  out["path"] = out["name"];
  return out;
}

support::Result<SourceRef, Failure> Sources::find(const Json& source) {
  Fields fields(source);
  const Json& data = fields.object("adapterData");
  const std::int64_t reference = fields.integer_or("sourceReference", 0);
  const std::string path = fields.text_or("path");
  Fields own(data);
  if (own.has("hash")) {
    const std::string pass = own.text_or("pass"), hash = own.text("hash");
    const std::int64_t index = own.integer("version");
    if (own.failure()) return support::Failure(*own.failure());
    for (SourceRef& ref : versions())
      if (ref.hash == hash && ref.name == pass && std::int64_t(ref.version) == index) return std::move(ref);
    return refused(fmt::format("the IR after {} is not what it was", pass.empty() ? "loading" : pass));
  }
  if (own.has("kernel")) return SourceRef{SourceKind::Kernel, own.text_or("kernel"), 0, {}};
  if (own.has("listing")) return SourceRef{SourceKind::Listing, own.text_or("listing"), 0, {}};
  if (fields.failure()) return support::Failure(*fields.failure());
  if (own.failure()) return support::Failure(*own.failure());
  if (reference > 0) {
    if (reference > std::int64_t(known_.size())) return refused(fmt::format("there is no source {}", reference));
    return known_[std::size_t(reference - 1)];
  }
  if (path.empty()) return refused("the source has neither a path nor a reference");
  return SourceRef{SourceKind::File, path, 0, {}};
}

}  // namespace rldb::protocol::dap
