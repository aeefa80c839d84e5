// The language client: `rldb lsp` on standard input and output, for the documents that program_text.js selects. It is started
// with the first of them. Python files without TVMScript are never sent to the server, nor asked about.
'use strict';
const vscode = require('vscode');
const { LanguageClient, DidChangeConfigurationNotification, DidOpenTextDocumentNotification } = require('vscode-languageclient/node');
const executable = require('./executable');
const texts = require('./texts');
const { isProgram, kSchemes } = require('./program_text');

let client;  // a promise of the running client
let failed = false;  // until it is started again by a command or a changed setting
const sent = new Set();  // URIs of the Python files that the server knows

function selector() {
  const languages = ['tvmscript', 'relay', 'python'];
  return [...kSchemes].flatMap((scheme) => languages.map((language) => ({ scheme, language })));
}

const isPython = (document) => document?.languageId === 'python' && document.uri !== undefined;

async function didOpen(document, next) {
  if (isPython(document)) {
    if (!isProgram(document)) return;
    sent.add(document.uri.toString());
  }
  await next(document);
}

// A Python file becomes known to the server when the first module is typed into it.
async function didChange(event, next) {
  const document = event.document;
  if (!isPython(document) || sent.has(document.uri.toString())) return next(event);
  if (!isProgram(document)) return;
  sent.add(document.uri.toString());
  const running = await client;
  await running.sendNotification(DidOpenTextDocumentNotification.type, running.code2ProtocolConverter.asOpenTextDocumentParams(document));
}

async function didClose(document, next) {
  if (isPython(document) && !sent.delete(document.uri.toString())) return;
  await next(document);
}

// Every other question about a document: asked only if the server knows the document.
function guarded(document, ...rest) {
  const next = rest.at(-1);
  if (isPython(document) && !sent.has(document.uri.toString())) return undefined;
  return next(document, ...rest.slice(0, -1));
}

// The server's commands (lenses): their results are shown here.
async function executeCommand(command, values, next) {
  const result = await next(command, values);
  await texts.showResult(result);
  return result;
}

const own = { executeCommand, didOpen, didChange, didClose, didSave: guarded };
const middleware = new Proxy(own, {
  get: (methods, name) => methods[name] ?? (typeof name === 'string' && /^(provide|prepare)/.test(name) ? guarded : undefined),
});

function serverSettings() {
  const settings = vscode.workspace.getConfiguration('rldb');
  return { passes: executable.trustedSetting('passes'), inlayHints: settings.get('inlayHints'), codeLenses: settings.get('codeLenses') };
}

async function start(output) {
  const command = executable.rldb();
  const options = {
    documentSelector: selector(),
    initializationOptions: { ...serverSettings(), debugs: true, showsResults: true },
    middleware,
    outputChannel: output,
    traceOutputChannel: output,
    revealOutputChannelOn: 4,  // never: a message and the problem list are enough
  };
  const made = new LanguageClient('rldb', 'rldb', { command, args: ['lsp'], options: {} }, options);
  await made.start();
  return made;
}

// Starts the server if `document` is a program and none runs. An error is reported once.
function ensure(document, output) {
  if (client || failed || !isProgram(document)) return;
  client = start(output);
  client.catch((error) => {
    client = undefined;
    failed = true;
    output.appendLine(String(error.message ?? error));
    vscode.window.showErrorMessage(`rldb: ${error.message ?? error}`, 'Open Settings').then((choice) => {
      if (choice) vscode.commands.executeCommand('workbench.action.openSettings', 'rldb.path');
    });
  });
}

async function stop() {
  const running = client;
  client = undefined;
  failed = false;
  sent.clear();
  if (running) await running.then((c) => c.stop()).catch(() => undefined);
}

// Tells a running server that settings have changed.
async function tellSettings() {
  const running = await client?.catch(() => undefined);
  await running?.sendNotification(DidChangeConfigurationNotification.type, { settings: { rldb: serverSettings() } });
}

async function restart(output) {
  await stop();
  for (const document of vscode.workspace.textDocuments) ensure(document, output);
}

module.exports = { ensure, restart, stop, tellSettings };
