// The steps: plan, kernels' text and code, the program's code, linking, writing.
#include "rldb/aot/build.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

#include "aot/header.h"
#include "aot/linker.h"
#include "aot/plan.h"
#include "aot/runtime_objects.h"
#include "rldb/bytecode/library_program.h"
#include "rldb/ir/printer.h"
#include "rldb/source/diagnostic_aot.h"
#include "rldb/source/diagnostic_executable.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/support/file.h"
#include "rldb/support/folder.h"

namespace rldb::aot {

namespace {

constexpr std::string_view kTextSuffix = ".kernels.py";

// Remembers the line that each statement begins.
class LineKeeper : public ir::Decorator {
 public:
  explicit LineKeeper(codegen::SourceLines& lines) : lines_(lines) {}
  void line(int number, const ir::Node* node) override {
    if (node) lines_.lines.emplace(node, number);
  }

 private:
  codegen::SourceLines& lines_;
};

class Builder {
 public:
  Builder(session::Session& session, const Request& request, source::Diagnostics& out)
      : session_(session), request_(request), out_(out), name_(library_name(request.output)) {}

  std::optional<std::vector<std::string>> run() {
    auto planned = plan(session_, out_);
    if (!planned) return std::nullopt;
    plan_ = std::move(*planned);
    if (folder_.path().empty()) return failed("there is no folder for temporary files");
    write_kernels_text();
    if (!add_kernels() || !add_program()) return std::nullopt;
    if (!add_object("runtime", runtime_object())) return std::nullopt;
    if (request_.form == Form::Program && !add_object("standalone", standalone_object())) return std::nullopt;
    const std::string linked = folder_.path() + "/linked";
    auto done = link(request_, objects_, folder_.path(), linked);
    if (!done.ok()) return failed(done.error());
    return write_files(linked);
  }

 private:
  std::nullopt_t failed(std::string_view why) {
    out_.add({}, source::message(diag::AotLink, request_.output, why));
    return std::nullopt;
  }

  // The text that debuggers show for the kernels' lines.
  void write_kernels_text() {
    ir::ModuleBuilder kernels(session_.context());
    for (const PlannedKernel& k : plan_.kernels) kernels.set(k.name, k.scheduled);
    const std::filesystem::path output = std::filesystem::absolute(request_.output);
    lines_.folder = output.parent_path().string();
    lines_.file = output.filename().string() + std::string(kTextSuffix);
    LineKeeper keeper(lines_);
    kernels_text_ = ir::print(kernels.build(), {}, &keeper) + "\n";
  }

  bool add_object(std::string_view name, std::string_view bytes) {
    objects_.push_back(fmt::format("{}/{}.o", folder_.path(), name));
    auto written = support::write_file(objects_.back(), bytes, support::Durable::No);
    if (!written.ok()) failed(written.error().reason);
    return written.ok();
  }

  bool add_kernels() {
    for (std::size_t i = 0; i < plan_.kernels.size(); ++i) {
      const PlannedKernel& k = plan_.kernels[i];
      auto made = codegen::compile_kernel(k.scheduled, k.function, k.name, fmt::format("{}_kernel_{}", name_, i),
                                          plan_.options, lines_);
      if (!made.ok()) {
        out_.add(session_.context().span_of(k.function), source::message(diag::AotKernel, k.name, made.error().text));
        return false;
      }
      if (!add_object(fmt::format("kernel_{}", i), made->object)) return false;
      made->object.clear();
      kernels_.push_back(std::move(*made));
    }
    return true;
  }

  bool add_program() {
    codegen::AotProgram program;
    program.name = name_;
    program.targets = plan_.targets;
    program.kernels = std::move(kernels_);
    bytecode::Executable named = *plan_.build->executable;
    if (request_.names) named.debug = *request_.names;
    program.executable = &named;  // with the names that its errors give
    auto description = bytecode::library_program(named);
    if (!description.ok()) {
      out_.add({}, source::message(diag::NotSerialisable, description.error().message));
      return false;
    }
    program.description = std::move(description).value();
    program.standalone = request_.form == Form::Program;
    auto object = codegen::compile_program(program);
    if (object.ok()) return add_object("program", *object);
    out_.add({}, std::move(object).error());
    return false;
  }

  bool write(const std::string& path, std::string_view bytes) {
    auto written = support::write_file(path, bytes);
    if (written.ok()) {
      files_.push_back(path);
      return true;
    }
    out_.add({}, source::message(diag::FileNotWritten, path, written.error().reason));
    return false;
  }

  std::optional<std::vector<std::string>> write_files(const std::string& linked) {
    auto bytes = support::read_file(linked);
    if (!bytes.ok()) return failed(bytes.error().reason);
    if (!write(request_.output, *bytes)) return std::nullopt;
    if (request_.form == Form::Program) ::chmod(request_.output.c_str(), 0755);
    if (!plan_.kernels.empty() && !write(request_.output + std::string(kTextSuffix), kernels_text_))
      return std::nullopt;
    if (request_.form != Form::Program) {
      const std::string header = std::filesystem::path(request_.output).replace_extension(".h").string();
      if (!write(header, header_text(plan_, name_))) return std::nullopt;
    }
    for (const std::string& e : plan_.externals)
      out_.add({}, request_.form == Form::Program ? source::message(diag::AotMissing, e)
                                                  : source::message(diag::AotExternal, e, name_));
    return files_;
  }

  session::Session& session_;
  const Request& request_;
  source::Diagnostics& out_;
  std::string name_;
  Plan plan_;
  support::TemporaryFolder folder_{"aot"};
  codegen::SourceLines lines_;
  std::string kernels_text_;
  std::vector<std::string> objects_;
  std::vector<codegen::AotKernel> kernels_;
  std::vector<std::string> files_;
};

}  // namespace

std::optional<std::vector<std::string>> build(session::Session& session, const Request& request,
                                              source::Diagnostics& out) {
  return Builder(session, request, out).run();
}

}  // namespace rldb::aot
