// The HTML document of the live page and of its static form: markup, style and scripts in one text, without anything
// from elsewhere (src/ui/page/assets). Nothing of a program is ever markup: documents are JSON, texts are escaped.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rldb/session/session.h"

namespace rldb::ui {

// 32 characters that nobody can guess.
std::string random_word();

// `nonce` marks the scripts that may run; the policy, a header of the response, names it.
std::string live_document(std::string_view nonce);
std::string live_policy(std::string_view nonce);

// Requests of the page, with what is replied to them.
using PageReplies = std::vector<std::pair<std::string, nlohmann::ordered_json>>;
// One file: the report of the passes (HTML, the body of a page), which is read without scripts, the texts of versions,
// and the page over them. `values`: of a run, if there was one (docs/page.md).
std::string static_document(session::Session& session, std::string_view title, const std::string& report,
                            const PageReplies& values = {});

}  // namespace rldb::ui
