// "Open rldb Terminal Here": the prompt with a program loaded, in a terminal of the editor.
'use strict';
const fs = require('fs');
const path = require('path');
const vscode = require('vscode');
const executable = require('./executable');
const { isProgram } = require('./program_text');

async function open(uri) {
  const document = vscode.window.activeTextEditor?.document;
  const target = uri instanceof vscode.Uri ? uri : isProgram(document) ? document.uri : undefined;
  const file = target?.scheme === 'file' ? target.fsPath : undefined;
  const isFolder = file !== undefined && fs.statSync(file).isDirectory();
  if (document && !isFolder && document.uri.fsPath === file && document.isDirty) await document.save();
  const terminal = vscode.window.createTerminal({
    name: file ? `rldb ${path.basename(file)}` : 'rldb',
    iconPath: new vscode.ThemeIcon('debug-console'),
    shellPath: executable.rldb(),
    shellArgs: file && !isFolder ? ['--', file] : [],
    cwd: isFolder ? file : file ? path.dirname(file) : vscode.workspace.workspaceFolders?.[0]?.uri.fsPath,
  });
  terminal.show();
}

module.exports = { open };
