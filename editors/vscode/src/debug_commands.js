// Commands of a debug session: go to a time, the storage timeline, and what can be asked about a variable.
'use strict';
const vscode = require('vscode');
const data = require('./debug_data');
const pictures = require('./pictures');
const texts = require('./texts');

function current() {
  const session = vscode.debug.activeDebugSession;
  if (data.isOurs(session)) return session;
  throw new Error('no program is being debugged by rldb.');
}

async function goToTime() {
  const session = current();
  const { data: now } = await data.ask(session, 'when');
  const time = await vscode.window.showInputBox({
    title: 'Go to a time of the run',
    prompt: `Instructions executed: ${now.first_time} to the end. Now: ${now.time}.`,
    value: String(now.time),
    validateInput: (text) => (/^@?\d+$/.test(text.trim()) || now.checkpoints?.some((c) => c.name === text.trim()) ? undefined : 'A number of instructions, or the name of a checkpoint'),
  });
  if (time !== undefined) await data.ask(session, `goto ${time.trim().replace(/^@/, '')}`);
}

// The IR after a pass, as the run was built from it: breakpoints can be set in it.
async function showIr() {
  const session = current();
  const { sources } = await session.customRequest('loadedSources');
  const items = sources.filter((s) => s.sourceReference).map((source) => ({ label: source.origin ?? source.name, source }));
  const chosen = await vscode.window.showQuickPick(items, { title: 'Show the IR of the run', placeHolder: 'The version' });
  if (!chosen) return;
  // Named as VS Code names it itself, so that both have the same breakpoints.
  const uri = vscode.debug.asDebugSourceUri({ ...chosen.source, path: chosen.source.path ?? chosen.source.name }, session);
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: false });
}

async function showStorage() {
  const session = current();
  const svg = await pictures.drawn((file) => data.ask(session, `storage -o ${file}`));
  pictures.show('Storage', svg);
}

// The expression of a row in the Variables view.
function expressionOf(row) {
  const expression = row?.variable?.evaluateName ?? row?.variable?.name;
  if (!expression) throw new Error('this row is not a value.');
  return expression;
}

async function variableText(row, verb) {
  const expression = expressionOf(row);
  await texts.show(`${verb} ${expression}`, '.txt', await data.textOf(current(), `${verb} ${expression}`));
}

async function variablePlot(row) {
  const session = current();
  const expression = expressionOf(row);
  const svg = await pictures.drawn((file) => data.ask(session, `plot ${expression} -o ${file}`));
  pictures.show(`${expression}`, svg);
}

module.exports = {
  goToTime, showIr, showStorage, variablePlot,
  variableWhy: (row) => variableText(row, 'why'),
  variableStats: (row) => variableText(row, 'stats'),
};
