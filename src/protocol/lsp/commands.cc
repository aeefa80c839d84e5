// workspace/executeCommand: runs a function, and answers the module after passes or a kernel as text. Rows:
// command.def. Programs are read anew: an open text and its types stay as they are.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "protocol/lsp/methods.h"
#include "rldb/debug/kernel_result.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/printer.h"
#include "rldb/passes/pass.h"
#include "rldb/session/default_function.h"
#include "rldb/session/session.h"

namespace rldb::protocol::lsp {

namespace {

class CapturedOutput : public runtime::Output {
 public:
  void write(std::string_view part) override {
    constexpr std::size_t kMost = std::size_t(1) << 20;
    if (text.size() + part.size() <= kMost) text += part;
  }
  std::string text;
};

// Values of the bindings of the outermost function, as text.
class ValueNotes : public eval::Watcher {
 public:
  ValueNotes(LastRun& run, const ir::Context& ctx) : run_(run), ctx_(ctx) {}
  void enter(std::string_view, const ir::Function*, runtime::PackedArgs) override { ++depth_; }
  void leave(const runtime::Value&) override { --depth_; }
  runtime::Result<support::Unit> bound(const ir::Binding* b, const runtime::Value& value) override {
    constexpr std::size_t kMost = 20'000;
    if (depth_ <= 1 && run_.values.size() < kMost)
      run_.values.push_back({std::string(b->var->name), ctx_.span_of(b).begin, runtime::format_brief(value)});
    return support::Unit{};
  }

 private:
  LastRun& run_;
  const ir::Context& ctx_;
  int depth_ = 0;
};

// A program of the text that the first argument names.
struct Opened {
  TextFile* file = nullptr;
  std::unique_ptr<CapturedOutput> output = std::make_unique<CapturedOutput>();
  std::unique_ptr<session::Session> session;
};

std::string text_of_argument(const Json& arguments, std::size_t i) {
  return i < arguments.size() && arguments[i].is_string() ? arguments[i].get<std::string>() : std::string();
}

support::Failure<RpcError> failed(const source::Diagnostics& found, std::string_view otherwise) {
  return rpc_failure(RpcCode::RequestFailed, found.first_error(otherwise));
}

RpcResult<Opened> open_program(Server& server, const Json& arguments) {
  const std::string uri = text_of_argument(arguments, 0);
  Opened out;
  out.file = server.find_file(uri);
  if (!out.file)
    return rpc_failure(RpcCode::InvalidParams,
                       fmt::format("the first argument must be the URI of an open text; it is `{}`", uri));
  out.session = std::make_unique<session::Session>(server.line().options, out.output.get());
  source::Diagnostics found;
  if (!out.session->load_text(path_of_uri(uri), std::string(out.file->text()), found))
    return failed(found, "the text cannot be read");
  return out;
}

std::string short_name(const TextFile& file) {
  const std::string path = path_of_uri(file.uri());
  return path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
}

// The arguments, and their dimensions by the symbolic variables of the parameters.
void note_parameters(const ir::Context& ctx, const ir::Function* f, const std::vector<session::Argument>& arguments,
                     LastRun& run) {
  for (std::size_t i = 0; f && i < std::min(f->params.size(), arguments.size()); ++i) {
    const auto* type = ir::as<ir::TensorType>(f->params[i]->type);
    const runtime::Value& value = arguments[i].value;
    const ir::Var* parameter = f->params[i];
    run.values.push_back({std::string(parameter->name), ctx.span_of(parameter).begin, runtime::format_brief(value)});
    if (!type || !value.is(runtime::ValueKind::Tensor)) continue;
    const auto& dims = value.as_tensor().shape();
    for (std::size_t k = 0; k < std::min<std::size_t>(type->shape.size(), dims.size()); ++k)
      if (const auto* symbol = ir::as<ir::Var>(type->shape[k]))
        run.symbols.insert_or_assign(std::string(symbol->name), std::to_string(dims[k]));
  }
}

// Texts from the third argument on, or a list of them.
std::optional<std::vector<std::string>> inputs_of(const Json& arguments) {
  std::vector<std::string> out;
  const Json& given = arguments.size() == 3 && arguments[2].is_array() ? arguments[2] : arguments;
  for (std::size_t i = &given == &arguments ? 2 : 0; i < given.size(); ++i) {
    if (!given[i].is_string()) return std::nullopt;
    out.push_back(given[i].get<std::string>());
  }
  return out;
}

RpcResult<Json> run_function(Server& server, const Json& arguments) {
  auto opened = open_program(server, arguments);
  if (!opened.ok()) return support::Failure(opened.error());
  session::Session& session = *opened->session;
  LastRun run;
  run.function = text_of_argument(arguments, 1);
  if (run.function.empty()) run.function = session::default_function(session);
  const auto inputs = inputs_of(arguments);
  if (!inputs) return rpc_failure(RpcCode::InvalidParams, "inputs are texts, as in `x=2x3xf32=ones`");
  source::Diagnostics found;
  const auto given = session.arguments(run.function, *inputs, found);
  if (!given) return failed(found, "the arguments do not fit");
  std::vector<runtime::Value> values;
  Json listed = Json::array();
  for (const session::Argument& a : *given) {
    values.push_back(a.value);
    listed.push_back({{"name", a.parameter}, {"value", runtime::describe(a.value)}, {"madeUp", a.generated}});
  }
  const auto* f = session.module() ? ir::as<ir::Function>(session.module()->find(run.function)) : nullptr;
  note_parameters(session.context(), f, *given, run);
  ValueNotes notes(run, session.context());
  session::RunResult result = f ? session.run_watched(session.module(), run.function, values, notes, found)
                                : session.run(run.function, values, found);
  if (!result.ok) return failed(found, "the run failed");
  if (result.value.is_null()) result.value = debug::kernel_result(session, run.function, values);
  run.result = runtime::format_brief(result.value);
  std::string text = opened->output->text;
  for (const Json& a : listed)
    text += fmt::format("{}{}: {}\n", a["madeUp"] == true ? "generated " : "", a["name"].get_ref<const std::string&>(),
                        a["value"].get_ref<const std::string&>());
  text += runtime::format_value(result.value) + "\n";
  Json out{{"title", fmt::format("{} of {}", run.function, short_name(*opened->file))},
           {"text", std::move(text)},
           {"languageId", "plaintext"},
           {"function", run.function},
           {"arguments", std::move(listed)},
           {"result", runtime::format_value(result.value)}};
  if (!server.client().shows_results)
    server.notify("window/showMessage", {{"type", 3}, {"message", fmt::format("{}: {}", run.function, run.result)}});
  opened->file->last_run = std::move(run);
  return out;
}

RpcResult<Json> after_passes(Server& server, const Json& arguments, const std::string& passes) {
  if (passes.empty())
    return rpc_failure(RpcCode::InvalidParams, "the second argument has to name passes, as in `FuseOps`");
  auto opened = open_program(server, arguments);
  if (!opened.ok()) return support::Failure(opened.error());
  session::Session& session = *opened->session;
  source::Diagnostics found;
  if (!session.run_passes(passes, found)) return failed(found, "a pass failed");
  session::Program& program = *session.program();
  const std::size_t last = program.position();
  return Json{{"title", fmt::format("{} after {}", short_name(*opened->file), passes)},
              {"languageId", opened->file->is_relay() ? "relay" : "tvmscript"},
              {"before", program.text(0, session::TextFor::Reading).value_or("")},
              {"after", program.text(last, session::TextFor::Reading).value_or("")},
              {"changed", program.changed(0, last)}};
}

RpcResult<Json> apply_passes(Server& server, const Json& arguments) {
  return after_passes(server, arguments, text_of_argument(arguments, 1));
}

RpcResult<Json> lower(Server& server, const Json& arguments) { return after_passes(server, arguments, "minimum"); }

RpcResult<Json> show_kernel(Server& server, const Json& arguments) {
  auto opened = open_program(server, arguments);
  if (!opened.ok()) return support::Failure(opened.error());
  const std::string name = text_of_argument(arguments, 1);
  const std::string what = arguments.size() > 2 ? text_of_argument(arguments, 2) : std::string("llvm");
  source::Diagnostics found;
  std::optional<std::string> text;
  if (what == "tir") {
    if (const ir::PrimFunc* f = opened->session->find_kernel(name, found)) text = ir::print_function(name, f);
  } else if (what == "llvm" || what == "asm") {
    text = opened->session->kernel_text(
        name, what == "llvm" ? session::Session::KernelText::Llvm : session::Session::KernelText::Assembly, found);
  } else {
    return rpc_failure(RpcCode::InvalidParams,
                       fmt::format("the third argument must be tir, llvm or asm; it is `{}`", what));
  }
  if (!text) return failed(found, "there is no such kernel");
  return Json{{"title", fmt::format("{} ({})", name, what)},
              {"text", std::move(*text)},
              {"languageId", what == "tir" ? "tvmscript" : what}};
}

RpcResult<Json> list_passes(Server&, const Json&) {
  Json out = Json::array();
  for (const passes::PassInfo& p : passes::all_passes()) out.push_back({{"name", p.name}, {"doc", p.doc}});
  for (const passes::PipelineInfo& p : passes::named_pipelines())
    out.push_back({{"name", p.name}, {"doc", p.doc}, {"passes", p.passes}});
  return out;
}

struct Command {
  std::string_view name;
  RpcResult<Json> (*run)(Server&, const Json&);
};
constexpr Command kCommands[] = {
#define RLDB_LSP_COMMAND(name, function) {name, function},
#include "protocol/lsp/command.def"
};

}  // namespace

Json command_names() {
  Json out = Json::array();
  for (const Command& c : kCommands) out.push_back(c.name);
  return out;
}

RpcResult<Json> execute_command(Server& server, const Json& params) {
  const std::string name = text_at(params, {"command"});
  const Json* given = find(params, {"arguments"});
  const Json arguments = given && given->is_array() ? *given : Json::array();
  for (const Command& c : kCommands)
    if (c.name == name) return c.run(server, arguments);
  return rpc_failure(RpcCode::InvalidParams, fmt::format("there is no command `{}`", name));
}

}  // namespace rldb::protocol::lsp
