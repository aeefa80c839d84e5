// Random Relay programs: they load, run both ways and agree.
#include "rldb/repro/relay_fuzz.h"

#include <doctest/doctest.h>

#include "repro/loaded.h"

using namespace rldb;
using namespace rldb::repro_test;

TEST_CASE("fuzz: Relay programs run before and after the passes and as Relax") {
  Loaded p;
  repro::FuzzOptions options;
  options.passes = "default";
  options.seed = 20;
  options.programs = 12;
  options.seconds = 0;
  const repro::RelayFuzzReport r = repro::fuzz_relay(p.session(), options);
  INFO(repro::to_string(r));
  CHECK(r.programs == 12);
  CHECK(r.compared == 12);
  CHECK(r.translated == 12);
  CHECK(r.findings.empty());
}
