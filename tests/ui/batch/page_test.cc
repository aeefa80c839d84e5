// Pages: their contents, that they are well formed, that no program text in them acts as markup.
#include "rldb/ui/render/page.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "rldb/ui/batch/batch.h"
#include "rldb/ui/batch/handlers.h"
#include "rldb/ui/command_line/subcommand.h"
#include "rldb/ui/prompt/session_page.h"
#include "rldb/ui/prompt/state.h"
#include "ui/batch/markup.h"

using namespace rldb;
using namespace rldb::ui;

namespace {

const char* const kMlp = RLDB_SOURCE_DIR "/docs/examples/mlp.py";

// A string constant that would end a block and begin a script.
constexpr std::string_view kHostile = R"(from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        s = R.str("</pre><script>alert('&')</script>")
        y = R.add(x, x)
        z = R.add(y, y)
        return z
)";

// CallTIRRewrite cannot allocate a result whose dtype is not known.
constexpr std::string_view kUnlowered = R"(@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2,))) -> R.Tensor((2,)):
        y = R.call_dps_packed("f", (x,), out_ty=R.Tensor((2,)))
        return y
)";

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / fmt::format("rldb_page_{}", ::getpid())) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string at(const char* name) const { return (path_ / name).string(); }
  std::string read(const char* name) const {
    std::ifstream in(at(name));
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }

 private:
  std::filesystem::path path_;
};

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string_view::npos; at += what.size()) ++n;
  return n;
}

// Of the page itself: their text is ours.
std::string without_scripts(std::string page) {
  for (std::size_t at = 0; (at = page.find("<script nonce=\"", at)) != std::string::npos;)
    page.erase(at, page.find("</script>", at) - at);
  return page;
}

// Well formed and self-contained.
void check_page(const std::string& whole) {
  CHECK(test::Markup(whole).problem() == "");
  const std::string page = without_scripts(whole);
  const std::string body = page.substr(page.find("<body>"));
  for (const char* outside : {"http:", "https:", "//cdn", "src=", "@import", "javascript:", "<link", "<iframe"})
    CHECK_MESSAGE(page.find(outside) == std::string::npos, outside);
  CHECK(count(page, "default-src 'none'") == 1);
  CHECK(count(body, "href=\"") == count(body, "href=\"#"));
}

struct Session {
  explicit Session(std::initializer_list<const char*> entries) : repl(CommandLine{}, console) {
    for (const char* entry : entries) repl.execute(entry);
  }
  std::string page() { return session_page(repl.recorded(), repl.session().program_path(), "Made for a test."); }
  CapturedConsole console;
  Repl repl;
};

CommandLine opt_line(const std::string& file, const std::string& passes, const std::string& html) {
  CommandLine line;
  line.subcommand = Subcommand::Opt;
  line.files = {file};
  line.passes = passes;
  line.opt.html = html;
  return line;
}

}  // namespace

TEST_CASE("text as HTML") {
  CHECK(html_text("a < b && c > \"d'\"\n\t") == "a &lt; b &amp;&amp; c &gt; &quot;d&#39;&quot;\n\t");
  CHECK(html_text("\x1b[31m\x01\x7f") == "\u241b[31m\u2401\u2421");
  CHECK(html_text("\xff\xc3\xa9\xe2\x82") == "\ufffd\u00e9\ufffd\ufffd");
  CHECK(html_text(std::string_view("\0", 1)) == "\u2400");
  CHECK(without_colors("\033[31;7ma\033[0m\033[K") == "a\033[K");
}

TEST_CASE("TVMScript is highlighted line by line") {
  const std::vector<std::string> lines = script_lines("x = R.add(y, y)  # <b>\n");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("<span class=\"c\"># &lt;b&gt;</span>") != std::string::npos);
  // A string over several lines has a span in each of them.
  const std::vector<std::string> two = script_lines("s = \"\"\"a\nb\"\"\"");
  REQUIRE(two.size() == 2);
  for (const std::string& line : two) CHECK(count(line, "<span") == count(line, "</span>"));
}

TEST_CASE("long blocks are folded, short ones are not") {
  const std::string text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
  CHECK(block_of(plain_lines(text), "out", 9) == "<pre class=\"out\">1\n2\n3\n4\n5\n6\n7\n8\n9</pre>\n");
  const std::string folded = block_of(plain_lines(text), "out", 4);
  CHECK(folded.starts_with("<pre class=\"out\">1\n2\n3\n4</pre>\n<details><summary>5 more lines</summary>"));
}

TEST_CASE("the page of a session has entries, results, diffs, stops, pictures and errors") {
  Session s{":load " RLDB_SOURCE_DIR "/docs/examples/mlp.py",
            ":break main:lv1",
            ":run",
            ":plot lv0",
            ":continue",
            ":run-pass ConvertToDataflow",
            ":run-pass LegalizeOps",
            ":show main",
            "R.const(1) + ",
            ":nonsense"};
  const std::string page = s.page();
  check_page(page);
  CHECK(page.find(kMlp) != std::string::npos);
  CHECK(page.find("<span class=\"prompt\">rldb&gt; </span>:break main:lv1</pre>") != std::string::npos);
  CHECK(page.find("<span class=\"prompt\">(rldb main:lv1) </span>:plot lv0</pre>") != std::string::npos);
  CHECK(count(page, "<figure>") == 1);
  CHECK(count(page, "<pre class=\"stop\">") == 1);
  CHECK(count(page, "<span class=\"now\">") == 1);
  CHECK(count(page, "<table class=\"diff\">") == 1);
  CHECK(page.find("<td class=\"del\">") != std::string::npos);
  CHECK(page.find("<td class=\"add right\">") != std::string::npos);
  CHECK(page.find("<span class=\"k\">def</span>") != std::string::npos);
  CHECK(page.find("unknown command `:nonsense`") != std::string::npos);
  CHECK(count(page, "class=\"entry failed\"") == 2);
  CHECK(page.find("10 entries, <span class=\"bad\">2 failed</span>") != std::string::npos);
}

TEST_CASE("nothing of a program is markup, in the page of a session") {
  Folder folder;
  std::ofstream(folder.at("x.py")) << kHostile;
  Session s{(":load " + folder.at("x.py")).c_str(),
            ":show",
            ":run",
            "R.str(\"</pre><script>\")",
            ":run-pass LegalizeOps",
            "</pre><script>",
            ":graph"};
  const std::string page = s.page();
  check_page(page);
  CHECK(page.find("<script") == std::string::npos);
  CHECK(page.find("&lt;/pre&gt;&lt;script&gt;") != std::string::npos);
}

TEST_CASE("entries of a script come after the one that reads it") {
  Folder folder;
  std::ofstream(folder.at("s")) << ":set seed 7\n:nonsense\n";
  Session s{(":source " + folder.at("s")).c_str()};
  REQUIRE(s.repl.recorded().entries().size() == 3);
  CHECK(s.repl.recorded().entries()[0].failed);
  CHECK(s.repl.recorded().entries()[1].text == ":set seed 7");
  CHECK(!s.repl.recorded().entries()[1].failed);
  CHECK(s.repl.recorded().entries()[2].failed);
}

TEST_CASE("a record that is full says so") {
  SessionRecord record;
  record.begin("rldb> ", "x");
  const std::string megabyte(std::size_t(1) << 20, 'x');
  for (std::size_t i = 0; i < 40; ++i) record.add({OutputKind::Picture, megabyte, {}, {}, {}});
  record.end(false);
  record.begin("rldb> ", "y");
  record.write(OutputKind::Text, "y");
  record.end(false);
  CHECK(record.full());
  CHECK(record.entries().size() == 1);
  CHECK(record.entries()[0].pieces.size() == 31);
}

TEST_CASE("a page that cannot be written is diagnosed") {
  Session s{":html /nonexistent/folder/page.html"};
  CHECK(s.console.text().find("cannot write `/nonexistent/folder/page.html`") != std::string::npos);
  CapturedConsole console;
  CHECK(batch_opt(opt_line(kMlp, "Normalize", "/nonexistent/folder/page.html"), console) != kGood);
  CHECK(console.text().find("cannot write `/nonexistent/folder/page.html`") != std::string::npos);
}

TEST_CASE("the report of a pipeline") {
  Folder folder;
  CapturedConsole console;
  CommandLine line = opt_line(kMlp, "LegalizeOps,FoldConstant,FuseOps,FuseTIR", folder.at("r.html"));
  line.output = folder.at("out.py");
  REQUIRE(batch_opt(line, console) == kGood);
  const std::string page = folder.read("r.html");
  check_page(page);
  CHECK(page.find("pipeline <code>LegalizeOps,FoldConstant,FuseOps,FuseTIR</code>") != std::string::npos);
  CHECK(page.find("<a href=\"#p1\">LegalizeOps</a>") != std::string::npos);
  CHECK(page.find("<td class=\"names\">FoldConstant</td>") != std::string::npos);  // changed nothing: no link
  CHECK(page.find("<h3 id=\"p1\">1. LegalizeOps</h3>") != std::string::npos);
  CHECK(page.find("<code>main</code> <span class=\"added\">+") != std::string::npos);
  CHECK(page.find("<code>matmul</code> new ") != std::string::npos);
  CHECK(page.find("<h2 id=\"memory\">Memory plan</h2>") != std::string::npos);
  CHECK(count(page, "<figure>") == 2);
  CHECK(page.find("<h2 id=\"module\">Module after the passes</h2>") != std::string::npos);
}

TEST_CASE("nothing of a program is markup, in a report; a pass that fails is in it") {
  Folder folder;
  std::ofstream(folder.at("x.py")) << kHostile;
  CapturedConsole console;
  REQUIRE(batch_opt(opt_line(folder.at("x.py"), "LegalizeOps,ToNonDataflow", folder.at("r.html")), console) == kGood);
  const std::string page = folder.read("r.html");
  check_page(page);
  CHECK(page.find("&lt;/pre&gt;&lt;script&gt;") != std::string::npos);
  std::ofstream(folder.at("open.py")) << kUnlowered;
  REQUIRE(batch_opt(opt_line(folder.at("open.py"), "ToNonDataflow,CallTIRRewrite", folder.at("f.html")), console) ==
          kFailed);
  const std::string failed = folder.read("f.html");
  check_page(failed);
  CHECK(failed.find("<span class=\"bad\">failed</span>") != std::string::npos);
  CHECK(failed.find("<h2 id=\"diagnostics\">Diagnostics</h2>") != std::string::npos);
  CHECK(failed.find("Module before the pass that failed") != std::string::npos);
}
