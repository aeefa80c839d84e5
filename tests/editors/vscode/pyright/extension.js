// Starts pyright's language server for Python files, as its extension does: for tests of two servers on one file. The language
// client is that of rldb's extension.
'use strict';
const path = require('path');
const { LanguageClient, TransportKind } = require(path.join(process.env.RLDB_EXTENSION, 'node_modules/vscode-languageclient/node'));

let client;

exports.activate = async () => {
  const module = path.join(process.env.RLDB_EDITOR_TOOLS, 'node_modules/pyright/langserver.index.js');
  const run = { module, transport: TransportKind.stdio };
  client = new LanguageClient('pyright', 'Pyright', { run, debug: run }, { documentSelector: [{ scheme: 'file', language: 'python' }] });
  await client.start();
};
exports.deactivate = () => client?.stop();
