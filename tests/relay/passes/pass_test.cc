// Passes by texts: the cases of texts/*.txt are a pipeline, a program, and the result, or the first message. The result
// has types and parses back.
#include "rldb/relay/passes/pass.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "golden/golden.h"
#include "rldb/frontend/relay.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/support/text.h"

using namespace rldb;

namespace {

// The program after the passes; `failed` with the first message.
std::string after(const std::string& passes, const std::string& text, bool& failed) {
  relay::Context ctx;
  source::SourceManager sources;
  source::Diagnostics found;
  const auto parsed = frontend::parse_relay(ctx, sources, sources.add("test.relay", text), found);
  relay::Typing typing;
  failed = true;
  const auto message = [&] { return found.all().front().message; };
  if (!parsed.module || !relay::infer_types(ctx, parsed.module, typing, found)) return message();
  const auto read = pipeline::parse(relay::pass_table(), passes, sources, found);
  if (!read) return message();
  relay::PassEnv env{ctx, found};
  const relay::Module* m = relay::run_pipeline(env, parsed.module, *read, {});
  if (!m) return message();
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
  failed = false;
  return std::string(support::trim(printed));
}

}  // namespace

TEST_CASE("tests/relay/passes/texts: Relay passes by example") {
  golden::check_cases("relay/passes/texts", [](golden::Case& c) {
    const golden::Part* run = c.find("RUN");
    REQUIRE(run);
    bool failed = false;
    const std::string got = after(run->argument, run->text + "\n", failed);
    c.set(failed ? "FAILS" : "GIVES", failed ? got : "", failed ? "" : got);
    c.remove(failed ? "GIVES" : "FAILS");
  });
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
