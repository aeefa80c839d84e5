// The debugger: `rldb dap` on standard input and output, F5 without a launch.json, and defaults of launch configurations.
// debug_data.js asks a session about its state, debug_views.js shows it.
'use strict';
const path = require('path');
const vscode = require('vscode');
const executable = require('./executable');
const { isProgram } = require('./program_text');

// Breakpoints that this program can reach: those of its file, of its IR after a pass, of functions and data.
function hasBreakpoints(program) {
  return vscode.debug.breakpoints.some((b) => {
    const uri = b.enabled ? b.location?.uri : undefined;
    return b.enabled && (!uri || uri.scheme === 'debug' || uri.fsPath === program);
  });
}

const configurations = {
  // For F5 without a launch.json, and for "Show all automatic debug configurations".
  provideDebugConfigurations: () => [{ type: 'rldb', request: 'launch', name: 'rldb: debug this module', program: '${file}' }],

  resolveDebugConfiguration(_, configuration) {
    if (configuration.type || configuration.request || configuration.name) return configuration;
    if (!isProgram(vscode.window.activeTextEditor?.document)) return configuration;
    return { type: 'rldb', request: 'launch', name: 'rldb', program: '${file}' };
  },

  resolveDebugConfigurationWithSubstitutedVariables(folder, configuration) {
    if (!configuration.program) {
      vscode.window.showErrorMessage('rldb: the launch configuration has no `program`: the file of a module, e.g. "${file}".');
      return undefined;
    }
    const made = { ...configuration };
    made.cwd ??= folder?.uri.fsPath ?? path.dirname(made.program);
    if (made.request === 'attach') return made;
    const passes = executable.trustedSetting('passes');
    if (passes) made.passes ??= passes;
    made.engine ??= executable.trustedSetting('engine');
    made.stopOnEntry ??= !hasBreakpoints(made.program) && !made.noDebug;
    return made;
  },
};

const adapters = {
  createDebugAdapterDescriptor(session) {
    return new vscode.DebugAdapterExecutable(executable.rldb(), ['dap'], { cwd: session.configuration.cwd });
  },
};

// VS Code saves the file first.
function launch(document, { noDebug, functionName }) {
  const configuration = { type: 'rldb', request: 'launch', name: path.basename(document.uri.fsPath), program: document.uri.fsPath };
  if (functionName) configuration.function = functionName;
  return vscode.debug.startDebugging(vscode.workspace.getWorkspaceFolder(document.uri), configuration, { noDebug });
}

// The button above the editor, and the lens above a function: (URI, name of the function).
async function debugFunction(uri, functionName) {
  const active = vscode.window.activeTextEditor?.document;
  const document = typeof uri === 'string' ? await vscode.workspace.openTextDocument(vscode.Uri.parse(uri)) : active;
  if (!isProgram(document)) throw new Error('the active editor shows no TVMScript or Relay.');
  await launch(document, { functionName: typeof functionName === 'string' ? functionName : undefined });
}

function register(context) {
  context.subscriptions.push(
    vscode.debug.registerDebugConfigurationProvider('rldb', configurations),
    vscode.debug.registerDebugConfigurationProvider('rldb', configurations, vscode.DebugConfigurationProviderTriggerKind.Dynamic),
    vscode.debug.registerDebugAdapterDescriptorFactory('rldb', adapters));
}

module.exports = { debugFunction, launch, register };
