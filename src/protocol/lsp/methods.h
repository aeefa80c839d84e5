// The functions of method.def, and what they share.
#pragma once

#include <string>
#include <vector>

#include "protocol/lsp/server.h"
#include "rldb/frontend/unfinished.h"

namespace rldb::protocol::lsp {

using Text = std::string;
#define RLDB_LSP_METHOD(name, function, Reply) RpcResult<Reply> function(Server& server, const Json& params);
#include "protocol/lsp/method.def"

// diagnostics.cc
Json diagnostics_of(Server& server, TextFile& file);
// hover.cc: a variable of the index as a hover shows it: `lv: R.Tensor((4,), dtype="float32")`
std::string declaration_text(TextFile& file, const frontend::TextIndex& index, std::uint32_t name);
// The signature and the description of `R.add`, `T.exp`; empty: not known.
std::string builtin_text(std::string_view dotted, std::string* doc = nullptr);
// `R.nn.relu` for the mark of `nn.relu`, whatever `R` is called in the text.
std::string dotted_name(const TextFile& file, const frontend::NameMark& mark);
// completion.cc: the call that is open at a place
frontend::OpenCall call_before(std::string_view text, std::uint32_t offset);
// tokens.cc, fixes.cc, commands.cc: what `initialize` announces
Json token_legend();
Json command_names();
// pipeline.cc: the pipeline that a text names, and where; its findings.
struct NamedPipeline {
  std::string passes;
  frontend::TextRange at;  // empty: a setting names it
};
std::optional<NamedPipeline> pipeline_of(const Server& server, const TextFile& file);
void run_pipeline(Server& server, TextFile& file, const NamedPipeline& pipeline);
// `# rldb: passes=A,B|` before the offset: the text of the pass being typed.
std::optional<std::string_view> pass_being_typed(std::string_view text, std::uint32_t offset);

}  // namespace rldb::protocol::lsp
