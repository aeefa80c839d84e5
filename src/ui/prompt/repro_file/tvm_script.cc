// Scripts for TVM: the text of the script, in the present Python API of TVM, and the .npz beside it.
#include "rldb/ui/prompt/tvm_script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/verifier.h"
#include "rldb/passes/pass.h"
#include "rldb/passes/pass_id.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/support/file.h"
#include "rldb/support/text.h"
#include "rldb/ui/render/version.h"
#include "ui/prompt/repro_file/verdict_lines.h"

namespace rldb::ui {

namespace {

using passes::PassId;
using runtime::DType;
using runtime::Value;
using runtime::ValueKind;

constexpr std::string_view kRelax = "relax";  // TVM's Python module

constexpr std::string_view kHelpers = R"(

def leaves(value):
    """The tensors of a result, in order."""
    if hasattr(value, "numpy"):
        return [value.numpy()]
    if isinstance(value, (int, float)):
        return [np.asarray(value)]
    return [leaf for field in value for leaf in leaves(field)]


def check(what, actual, expected):
    assert len(actual) == len(expected), f"{what}: {len(actual)} results, not {len(expected)}"
    for i, (a, e) in enumerate(zip(actual, expected)):
        rtol, atol = TOLERANCES[i] if i < len(TOLERANCES) else (1e-5, 1e-5)
        a, e = (np.asarray(x) if np.asarray(x).dtype.kind in "biu" else np.asarray(x).astype("float64") for x in (a, e))
        np.testing.assert_allclose(a, e, rtol=rtol, atol=atol, err_msg=f"{what}, result {i}")
)";

// The sides have to leave the caller's tensors alike as well.
constexpr std::string_view kRun = R"(

def tensors(values):
    """The tensors among arguments, in order."""
    return [leaf for value in values if hasattr(value, "numpy") or isinstance(value, list)
            for leaf in (tensors(value) if isinstance(value, list) else leaves(value))]


def run(mod):
    """The results, and after them the arguments that it wrote to."""
    vm = relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())
    given = arguments()
    results = leaves(vm[FUNCTION](*given))
    pairs = zip(tensors(given), tensors(arguments()))
    return results + [now for now, before in pairs if now.tobytes() != before.tobytes()]
)";

// A kernel alone writes to its arguments.
constexpr std::string_view kRunKernel = R"(

def run(mod):
    kernel = tvm.compile(mod[FUNCTION].with_attr(SYMBOL, "main"), target="llvm")
    given = arguments()
    kernel(*given)
    return [leaf for value in given if hasattr(value, "numpy") for leaf in leaves(value)]
)";

constexpr std::string_view kTensorIrPass = R"(

def tensorir_pass(name, *arguments, **options):
    """A pass on TensorIR: in `tirx`, or in `s_tir` if it is about blocks and schedules."""
    for home in ("tirx", "s_tir"):
        transform = getattr(getattr(tvm, home, None), "transform", None)
        if hasattr(transform, name):
            return getattr(transform, name)(*arguments, **options)
    raise AttributeError(f"this TVM has no pass {name}")
)";

// Passes on whole modules that are about TensorIR.
constexpr PassId kTensorIrModulePasses[] = {PassId::AnnotateEntryFunc,      PassId::BindTarget,
                                            PassId::InlinePrivatePrimFuncs, PassId::LowerDeviceKernelLaunch,
                                            PassId::MakePackedAPI,          PassId::SplitHostDevice};

bool is_on_tensorir(const passes::PassInfo& info) {
  return info.kind == passes::PassKind::PrimFunc ||
         std::find(std::begin(kTensorIrModulePasses), std::end(kTensorIrModulePasses), info.id) !=
             std::end(kTensorIrModulePasses);
}

std::string python_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string python_list(const pipeline::WrittenValue& value) {
  pipeline::option::Names names;
  pipeline::assign(value, names);
  for (std::string& name : names) name = python_string(name);
  return fmt::format("[{}]", fmt::join(names, ", "));
}

// A target in TVMScript.
constexpr std::string_view kTarget = "T.target";

std::string python_value(pipeline::OptionType type, const pipeline::WrittenValue& value) {
  using Kind = pipeline::WrittenValue::Kind;
  if (value.is(Kind::None)) return "None";
  if (type == pipeline::OptionType::Bool) {
    bool on = false;
    pipeline::assign(value, on);
    return on ? "True" : "False";
  }
  if (type == pipeline::OptionType::Names) return python_list(value);
  if (value.written.starts_with(kTarget)) return "tvm.target.Target" + value.written.substr(kTarget.size());
  if (type == pipeline::OptionType::Text || value.is(Kind::Text)) return python_string(value.name());
  return value.written;
}

std::string pass_text(const passes::PassInvocation& pass) {
  const passes::PassInfo& info = passes::info(pass);
  std::vector<std::string> options;
  for (const pipeline::Argument& a : pass.arguments) {
    const pipeline::OptionInfo& option = info.options[a.option];
    const std::string value = python_value(option.type, a.value);
    options.push_back(a.named ? fmt::format("{}={}", option.name, value) : value);
  }
  if (!is_on_tensorir(info)) return fmt::format("{}.transform.{}({})", kRelax, info.name, fmt::join(options, ", "));
  options.insert(options.begin(), python_string(info.name));
  return fmt::format("tensorir_pass({})", fmt::join(options, ", "));
}

// A module's text, with the imports that it needs taken out of it. Python finds the source of a class by its name: two
// modules in one file need two.
std::string python_module(const ir::Module* module, ir::Context& ctx, std::string_view name,
                          std::vector<std::string>& imports) {
  ir::ModuleBuilder renamed(ctx, *module);
  renamed.set_name(name);
  module = renamed.build();
  ir::PrintOptions print;
  print.show_meta = true;
  std::string out;
  std::string_view rest;
  const std::string text = ir::print(module, print);
  source::Diagnostics ignored;
  const bool fine = ir::verify(ctx, module, ignored);
  for (rest = text; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.starts_with("# from ") || line.starts_with("# import ")) {
      const std::string import(line.substr(2));
      if (std::find(imports.begin(), imports.end(), import) == imports.end()) imports.push_back(import);
    } else if (!fine && line == "@I.ir_module") {
      out += "@I.ir_module(check_well_formed=False)\n";
    } else {
      out += std::string(line) + "\n";
    }
  }
  return out;
}

// Numbers that .npy files lack are stored as unsigned integers of their size.
bool is_narrow(DType t) { return t.is_float() && (t.is_bfloat16() || t.bits < 16); }

class Script {
 public:
  Script(const TvmScript& s, ir::Context& ctx, std::string path) : s_(s), ctx_(ctx), path_(std::move(path)) {}

  // Empty: refused, `why`.
  std::string text() {
    std::vector<std::string> imports;
    const std::string module = python_module(s_.module, ctx_, "Before", imports);
    const std::string other = s_.other ? python_module(s_.other, ctx_, "After", imports) : std::string();
    const std::string given = s_.checks == TvmScript::Checks::Passes ? std::string() : arguments();
    if (!why_.empty()) return {};
    const std::string last = ending();
    if (!why_.empty()) return {};
    std::string out = header();
    out += "from pathlib import Path\n\nimport numpy as np\nimport tvm\nfrom tvm import relax\n";
    for (const std::string& import : imports) out += import + "\n";
    out += "\nprint(\"TVM\", tvm.__version__)\n";
    if (!npz_.empty()) out += fmt::format("DATA = np.load(Path(__file__).with_name({}))\n", python_string(npz_name()));
    if (s_.checks != TvmScript::Checks::Passes)
      out += fmt::format("FUNCTION = {}\nTOLERANCES = [{}]  # rtol and atol of each result\n",
                         python_string(s_.function), fmt::join(tolerances_, ", "));
    out += "\n\n" + std::string(support::trim(module)) + "\n";
    if (!other.empty()) out += "\n\n" + std::string(support::trim(other)) + "\n";
    return out + given + helpers() + last;
  }
  const std::string& why() const { return why_; }
  const runtime::NamedTensors& npz() const { return npz_; }
  std::string npz_name() const { return std::filesystem::path(path_).stem().string() + ".npz"; }

 private:
  bool is_kernel() const { return ir::as<ir::PrimFunc>(s_.module->find(s_.function)) != nullptr; }

  std::string header() const {
    std::string out =
        fmt::format("# rldb {}, seed {}; for the Python API of TVM 0.26. It fails as long as the fault is there:\n",
                    kVersion, s_.seed);
    for (const std::string& line : verdict_lines(s_.seen)) out += "# " + line + "\n";
    return out;
  }

  std::string helpers() const {
    std::string out;
    if (s_.checks != TvmScript::Checks::Passes) {
      out += kHelpers;
      if (is_kernel())
        out += fmt::format("\n\nSYMBOL = {}  # the attribute with a kernel's name\n",
                           python_string(attr_name::GlobalSymbol));
      out += is_kernel() ? kRunKernel : kRun;
    }
    if (passes_.find("tensorir_pass(") != std::string::npos) out += kTensorIrPass;
    return out + "\n\n";
  }

  std::string stored(const Value& v, const std::string& name) {
    const DType t = v.as_tensor().dtype();
    npz_.emplace_back(name, v);
    const std::string read = fmt::format("DATA[{}]", python_string(name));
    return is_narrow(t) ? fmt::format("{}.view({})", read, python_string(runtime::to_string(t))) : read;
  }

  // A tensor, shape, number or tuple as an argument.
  std::string argument(const Value& v, const std::string& name) {
    switch (v.kind()) {
      case ValueKind::Tensor:
        narrow_ = narrow_ || is_narrow(v.as_tensor().dtype());
        return fmt::format("tvm.runtime.tensor({})", stored(v, name));
      case ValueKind::Shape:
        return fmt::format("tvm.runtime.ShapeTuple([{}])", fmt::join(v.as_shape(), ", "));
      case ValueKind::Int:
        return fmt::format("{}", v.as_int());
      case ValueKind::Bool:
        return v.as_int() != 0 ? "True" : "False";
      case ValueKind::Float:
        return std::isfinite(v.as_float()) ? fmt::format("{:.17g}", v.as_float())
                                           : fmt::format("float(\"{}\")", v.as_float());
      case ValueKind::String:
        return python_string(v.as_string());
      case ValueKind::DType:
        return python_string(runtime::to_string(v.as_dtype()));
      case ValueKind::Null:
        return "None";
      case ValueKind::Tuple: {
        std::vector<std::string> fields;
        const auto& values = v.as_tuple().fields;
        for (std::size_t i = 0; i < values.size(); ++i)
          fields.push_back(argument(values[i], fmt::format("{}.{}", name, i)));
        return fmt::format("[{}]", fmt::join(fields, ", "));
      }
      case ValueKind::Function:
      case ValueKind::Storage:
      case ValueKind::Object:
        break;
    }
    why_ = fmt::format("argument `{}` is {}", name, runtime::describe(v));
    return {};
  }

  std::string arguments() {
    std::string out = "\n\ndef arguments():\n    return [\n";
    for (const session::Argument& a : s_.inputs) out += fmt::format("        {},\n", argument(a.value, a.parameter));
    out += "    ]\n";
    for (const Value& v : s_.expected) add_expected(v);
    return out;
  }

  void add_expected(const Value& v) {
    const DType t = v.is(ValueKind::Tensor)  ? v.as_tensor().dtype()
                    : v.is(ValueKind::Float) ? DType::Float(64)
                                             : DType::Int(64);
    const runtime::Tolerance allowed = s_.tolerances.of(t);
    const bool whole = !t.is_float() || s_.tolerances.exact;
    tolerances_.push_back(whole ? "(0, 0)" : fmt::format("({:g}, {:g})", allowed.rtol, allowed.atol));
    if (v.is(ValueKind::Tensor))
      expected_.push_back(stored(v, fmt::format("expected.{}", expected_.size())));
    else
      expected_.push_back(argument(v, "expected"));
    narrow_ = narrow_ || is_narrow(t);
  }

  std::string ending() {
    std::string out;
    if (!s_.passes.empty()) {
      auto pipeline = passes::parse_pipeline(s_.passes);
      if (!pipeline.ok()) {
        why_ = pipeline.error().text;
        return {};
      }
      std::string list;
      for (const passes::PassInvocation& p : *pipeline) list += "    " + pass_text(p) + ",\n";
      if (list.find('@') != std::string::npos) {
        why_ = "an option of a pass reads a file";
        return {};
      }
      passes_ = list;
    }
    if (narrow_) out += "import ml_dtypes  # registers the dtypes that NumPy lacks\n\n";
    if (!expected_.empty()) out += fmt::format("expected = [\n    {},\n]\n", fmt::join(expected_, ",\n    "));
    const bool changes = !passes_.empty() || s_.other;
    if (s_.checks == TvmScript::Checks::Values)
      out += expected_.empty() ? "expected = run(Before)\n" : "check(\"the module\", run(Before), expected)\n";
    if (!passes_.empty()) out += fmt::format("after = tvm.transform.Sequential([\n{}])(Before)\n", passes_);
    if (s_.checks == TvmScript::Checks::Passes) return out + "print(\"the passes accept the module\")\n";
    if (s_.checks == TvmScript::Checks::Finite)
      out += fmt::format(
          "assert all(np.isfinite(x.astype(\"float64\")).all() for x in run({}) if x.dtype.kind not in \"biu\"), \"a "
          "result is not finite\"\n",
          !changes          ? "Before"
          : passes_.empty() ? "After"
                            : "after");
    else if (changes)
      out += fmt::format("check(\"after the passes\", run({}), expected)\n", passes_.empty() ? "After" : "after");
    return out + "print(\"no difference\")\n";
  }

  const TvmScript& s_;
  ir::Context& ctx_;
  std::string path_, why_, passes_;
  runtime::NamedTensors npz_;
  std::vector<std::string> expected_, tolerances_;
  bool narrow_ = false;
};

}  // namespace

bool write_tvm_script(const std::string& path, const TvmScript& script, ir::Context& ctx, Console& console) {
  source::Diagnostics found;
  Script made(script, ctx, path);
  const std::string text = made.text();
  const auto put = [&](const std::string& file, const std::string& bytes) {
    const auto written = support::write_file(file, bytes);
    if (!written.ok()) found.add({}, source::message(diag::FileNotWritten, file, written.error().reason));
    return written.ok();
  };
  if (!made.why().empty())
    found.add({}, source::message(diag::NoTvmScript, made.why()));
  else if (made.npz().empty() ||
           put((std::filesystem::path(path).parent_path() / made.npz_name()).string(), runtime::write_npz(made.npz())))
    put(path, text);
  if (!found.has_errors()) return true;
  console.diagnose(found, {});
  return false;
}

}  // namespace rldb::ui
