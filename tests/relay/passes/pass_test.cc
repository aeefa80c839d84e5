// Passes by texts (texts/*.txt): a line `passes: ToANF,LambdaLift`, a program, a line `----`, and the result, or the
// first message. The result has types and parses back. RLDB_BLESS=1 rewrites the part below the line.
#include "rldb/relay/passes/pass.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "rldb/frontend/relay.h"
#include "rldb/relay/ir/printer.h"

using namespace rldb;

namespace {

std::string after(const std::string& passes, const std::string& text) {
  relay::Context ctx;
  source::SourceManager sources;
  source::Diagnostics found;
  const auto parsed = frontend::parse_relay(ctx, sources, sources.add("test.relay", text), found);
  relay::Typing typing;
  const auto message = [&] { return "! " + found.all().front().message + "\n"; };
  if (!parsed.module || !relay::infer_types(ctx, parsed.module, typing, found)) return message();
  const auto ids = relay::parse_passes(passes, found);
  if (!ids) return message();
  const relay::Module* m = parsed.module;
  relay::PassEnv env{ctx, found};
  for (const relay::PassInvocation& pass : *ids) {
    m = relay::run_pass(pass, env, m);
    if (!m) return message();
  }
  const std::string printed = relay::print(m);
  // Its text is also a program, and has types.
  relay::Context again;
  const auto reread = frontend::parse_relay(again, sources, sources.add("after.relay", printed), found);
  relay::Typing types;
  INFO(printed);
  REQUIRE(reread.module);
  const bool typed = relay::infer_types(again, reread.module, types, found);
  const std::string wrong = found.all().empty() ? "" : found.all().front().message;
  CHECK_MESSAGE(typed, wrong);
  return printed.ends_with('\n') ? printed : printed + "\n";
}

}  // namespace

TEST_CASE("texts") {
  for (const auto& entry : std::filesystem::directory_iterator(RLDB_SOURCE_DIR "/tests/relay/passes/texts")) {
    CAPTURE(entry.path().string());
    std::ifstream in(entry.path());
    std::string text((std::istreambuf_iterator<char>(in)), {});
    const std::size_t line = text.find('\n'), cut = text.find("----\n");
    REQUIRE(text.starts_with("passes: "));
    REQUIRE(cut != std::string::npos);
    const std::string got = after(text.substr(8, line - 8), text.substr(line + 1, cut - line - 1));
    if (std::getenv("RLDB_BLESS"))
      std::ofstream(entry.path()) << text.substr(0, cut + 5) << got;
    else
      CHECK(got == text.substr(cut + 5));
  }
}

TEST_CASE("a chain of a hundred thousand operators needs no stack") {
  std::string text = "#[version = \"0.0.5\"]\ndef @main(%x: float32) {\n";
  for (int i = 0; i < 100'000; ++i)
    text += fmt::format("  %{} = add({}, 1f);\n", i, i ? fmt::format("%{}", i - 1) : "%x");
  text += "  %99999\n}\n";
  relay::Context ctx;
  source::SourceManager sources;
  source::Diagnostics found;
  const auto parsed = frontend::parse_relay(ctx, sources, sources.add("test.relay", text), found);
  REQUIRE(parsed.module);
  relay::PassEnv env{ctx, found};
  CHECK(relay::prepare_for_vm(env, parsed.module));
}
