// The extension: what starts when, and which command calls what.
'use strict';
const vscode = require('vscode');
const client = require('./client');
const debugCommands = require('./debug_commands');
const debugViews = require('./debug_views');
const debuggers = require('./debugger');
const kernels = require('./kernels');
const passes = require('./passes');
const programText = require('./program_text');
const terminal = require('./terminal');
const texts = require('./texts');

// A command whose error becomes a message.
function command(name, action) {
  return vscode.commands.registerCommand(`rldb.${name}`, async (...values) => {
    try {
      return await action(...values);
    } catch (error) {
      if (!(error instanceof vscode.CancellationError)) vscode.window.showErrorMessage(`rldb: ${error.message ?? error}`);
    }
  });
}

// A command on the program in the editor.
function onProgram(name, action) {
  return command(name, () => {
    const document = vscode.window.activeTextEditor?.document;
    if (!programText.isProgram(document)) throw new Error('the active editor shows no TVMScript or Relay.');
    return action(document);
  });
}

function tellContext() {
  vscode.commands.executeCommand('setContext', 'rldb.isProgram', programText.isProgram(vscode.window.activeTextEditor?.document));
}

function activate(context) {
  const output = vscode.window.createOutputChannel('rldb');
  const opened = async (document) => {
    await programText.adopt(document);
    client.ensure(document, output);
    tellContext();
  };
  texts.register(context);
  debuggers.register(context);
  debugViews.register(context);
  context.subscriptions.push(
    output,
    vscode.workspace.onDidOpenTextDocument(opened),
    vscode.workspace.onDidChangeTextDocument((event) => client.ensure(event.document, output)),
    vscode.window.onDidChangeActiveTextEditor(tellContext),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('rldb.path') || event.affectsConfiguration('rldb.pythonFiles')) client.restart(output);
      else if (event.affectsConfiguration('rldb')) client.tellSettings();
      tellContext();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => client.restart(output)),
    onProgram('runPass', passes.runPass),
    onProgram('showAfterPass', passes.showAfterPass),
    onProgram('showKernel', kernels.showKernel),
    onProgram('showGraph', kernels.showGraph),
    command('debug', debuggers.debugFunction),
    onProgram('runModule', (document) => debuggers.launch(document, { noDebug: true })),
    command('openTerminal', terminal.open),
    command('restartServer', () => client.restart(output)),
    command('goToTime', debugCommands.goToTime),
    command('showIr', debugCommands.showIr),
    command('showStorage', debugCommands.showStorage),
    command('variableWhy', debugCommands.variableWhy),
    command('variableStats', debugCommands.variableStats),
    command('variablePlot', debugCommands.variablePlot));
  vscode.workspace.textDocuments.forEach(opened);
}

module.exports = { activate, deactivate: client.stop };
