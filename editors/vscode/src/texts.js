// Read-only documents of scheme `rldb`: texts and diffs that the commands show. A document lives as long as it is open.
'use strict';
const vscode = require('vscode');

const contents = new Map();  // URI -> text
const changed = new vscode.EventEmitter();

const provider = {
  onDidChange: changed.event,
  provideTextDocumentContent: (uri) => contents.get(uri.toString()) ?? '',
};

// The URI of a text; `ending` (.tvm.py) selects its language. The same title is the same document.
function put(title, ending, text) {
  const uri = vscode.Uri.from({ scheme: 'rldb', path: `/${title.replace(/[\\/?#]/g, '-')}${ending}` });
  contents.set(uri.toString(), text);
  changed.fire(uri);
  return uri;
}

async function show(title, ending, text) {
  const document = await vscode.workspace.openTextDocument(put(title, ending, text));
  return vscode.window.showTextDocument(document, { preview: true, viewColumn: vscode.ViewColumn.Beside, preserveFocus: false });
}

async function showDiff(title, ending, before, after) {
  await vscode.commands.executeCommand('vscode.diff', put(before.title, ending, before.text), put(after.title, ending, after.text), title);
}

const kEndings = { tvmscript: '.tvm.py', relay: '.relay', llvm: '.ll', asm: '.s' };

// What a command of the language server gave: {title, text, languageId} or {title, before, after, languageId}.
async function showResult(result) {
  if (!result?.title) return;
  const ending = kEndings[result.languageId] ?? '.txt';
  if (result.text !== undefined) await show(result.title, ending, result.text);
  else if (result.before === result.after) vscode.window.showInformationMessage(`rldb: ${result.title}: no change.`);
  else await showDiff(result.title, ending, { title: `before ${result.title}`, text: result.before }, { title: `after ${result.title}`, text: result.after });
}

function register(context) {
  context.subscriptions.push(
    vscode.workspace.registerTextDocumentContentProvider('rldb', provider),
    vscode.workspace.onDidCloseTextDocument((document) => {
      if (document.uri.scheme === 'rldb') contents.delete(document.uri.toString());
    }));
}

module.exports = { register, show, showDiff, showResult };
