// Which documents are programs of rldb: TVMScript, Relay, and Python files with TVMScript in them. Such a Python file becomes
// TVMScript if nothing else is in it, unless the setting rldb.pythonFiles says otherwise.
'use strict';
const vscode = require('vscode');

const kSchemes = new Set(['file', 'untitled', 'rldb', 'debug']);
const kScript = /^[ \t]*@(?:\w+\.)*(?:ir_module|prim_func)\b|^[ \t]*@R\.func(?:tion)?\b/m;
const kImport = /^(?:import[ \t]+([\w.]+)|from[ \t]+([\w.]+)[ \t]+import)/gm;
const known = new WeakMap();  // document -> {version, is}

function holdsScript(document) {
  const before = known.get(document);
  if (before?.version === document.version) return before.is;
  const is = kScript.test(document.getText());
  known.set(document, { version: document.version, is });
  return is;
}

const pythonFiles = () => vscode.workspace.getConfiguration('rldb').get('pythonFiles');

function isProgram(document) {
  if (!document || !kSchemes.has(document.uri.scheme)) return false;
  if (document.languageId === 'tvmscript' || document.languageId === 'relay') return true;
  return document.languageId === 'python' && pythonFiles() !== 'off' && holdsScript(document);
}

function isOnlyScript(text) {
  for (const [, plain, from] of text.matchAll(kImport))
    if (!/^tvm(?:\.script(?:\.|$)|$)/.test(plain ?? from)) return false;
  return true;
}

// Sets the language of a Python file that is TVMScript only.
async function adopt(document) {
  if (document.languageId !== 'python' || !kSchemes.has(document.uri.scheme) || pythonFiles() !== 'auto') return;
  if (holdsScript(document) && isOnlyScript(document.getText())) await vscode.languages.setTextDocumentLanguage(document, 'tvmscript');
}

module.exports = { adopt, isProgram, kSchemes };
