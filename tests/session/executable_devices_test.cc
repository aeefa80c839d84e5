// The devices of an executable's program: written with it, and those of its runs.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "rldb/bytecode/serialise.h"
#include "rldb/session/session.h"

using namespace rldb;

namespace {

struct Quiet : runtime::Output {
  void write(std::string_view) override {}
};

constexpr const char* kText = R"(
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0, "global")]})
    @R.function
    def main(x: R.Tensor((4,), "float32", "llvm:0"), y: R.Tensor((4,), "float32", "cuda:0")):
        a = R.to_vdevice(x, "cuda:0")
        b = R.add(a, y)
        return b
)";

std::string text_of(const source::Diagnostics& d) {
  std::string text;
  for (const source::Diagnostic& one : d.all()) text += one.message + "\n";
  return text;
}

// Runs `main` with ones; where its result is, or the message.
std::string run(session::Session& s) {
  source::Diagnostics d;
  const std::vector<std::string> texts{"4xf32=ones", "4xf32=ones"};
  const auto args = s.arguments("main", texts, d);
  REQUIRE_MESSAGE(args, text_of(d));
  const std::vector<runtime::Value> values{(*args)[0].value, (*args)[1].value};
  const auto result = s.run("main", values, d);
  return result.ok ? runtime::describe(result.value) : text_of(d);
}

}  // namespace

TEST_CASE("executables: devices are in the file") {
  Quiet quiet;
  session::Session text({}, &quiet);
  source::Diagnostics d;
  REQUIRE_MESSAGE(text.load_text("program.py", kText, d), text_of(d));
  const std::string wanted = run(text);
  CHECK(wanted == "Tensor[(4,), \"float32\", \"cuda:0\"]");
  const auto bytes = text.serialise(d);
  REQUIRE_MESSAGE(bytes, text_of(d));
  const auto exe = bytecode::load(*bytes);
  REQUIRE(exe.ok());
  CHECK(exe->metadata.at("rldb.devices") == "cpu,cuda:0");
  CHECK(exe->metadata.at("rldb.devices.of main") == "cpu,cuda:0");

  const std::string path =
      (std::filesystem::temp_directory_path() / ("rldb_devices_" + std::to_string(::getpid()) + ".rlvm")).string();
  std::ofstream(path, std::ios::binary) << *bytes;
  session::Session opened({}, &quiet);
  const bool loaded = opened.load_file(path, d);
  std::remove(path.c_str());
  REQUIRE_MESSAGE(loaded, text_of(d));
  CHECK(run(opened) == wanted);
}
