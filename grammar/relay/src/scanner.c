// Comments of Relay text: `// to the end of the line` and `/* that nest */`.
#include <tree_sitter/parser.h>

enum Token { COMMENT, UNTERMINATED_COMMENT, ERROR_SENTINEL };

void* tree_sitter_relay_external_scanner_create(void) { return 0; }
void tree_sitter_relay_external_scanner_destroy(void* payload) { (void)payload; }
unsigned tree_sitter_relay_external_scanner_serialize(void* payload, char* buffer) {
  (void)payload;
  (void)buffer;
  return 0;
}
void tree_sitter_relay_external_scanner_deserialize(void* payload, const char* buffer, unsigned length) {
  (void)payload;
  (void)buffer;
  (void)length;
}

static void line_comment(TSLexer* lexer) {
  while (!lexer->eof(lexer) && lexer->lookahead != '\n') lexer->advance(lexer, false);
  lexer->result_symbol = COMMENT;
}

static void block_comment(TSLexer* lexer) {
  unsigned depth = 1;
  while (!lexer->eof(lexer)) {
    int32_t c = lexer->lookahead;
    lexer->advance(lexer, false);
    if (c == '*' && lexer->lookahead == '/') {
      lexer->advance(lexer, false);
      if (--depth == 0) {
        lexer->result_symbol = COMMENT;
        return;
      }
    } else if (c == '/' && lexer->lookahead == '*') {
      lexer->advance(lexer, false);
      depth++;
    }
  }
  lexer->result_symbol = UNTERMINATED_COMMENT;
}

// Blanks and line ends; of `\r` only the one before a line feed. False: another `\r`.
static bool skip_blanks(TSLexer* lexer) {
  for (;;) {
    const int32_t c = lexer->lookahead;
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return true;
    lexer->advance(lexer, true);
    if (c == '\r' && lexer->lookahead != '\n') return false;
  }
}

bool tree_sitter_relay_external_scanner_scan(void* payload, TSLexer* lexer, const bool* valid) {
  (void)payload;
  (void)valid;  // comments may stand anywhere, while the runtime recovers too
  if (!skip_blanks(lexer) || lexer->lookahead != '/') return false;
  lexer->advance(lexer, false);
  if (lexer->lookahead == '/') {
    line_comment(lexer);
    return true;
  }
  if (lexer->lookahead != '*') return false;
  lexer->advance(lexer, false);
  block_comment(lexer);
  return true;
}
