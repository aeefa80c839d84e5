// What the extension asks of a debug session: entries of rldb's prompt, executed in the session. The adapter replies to
// `rldb/command` with the object that the prompt's --format=json prints (docs/json.md of rldb).
'use strict';
const vscode = require('vscode');
const { problemOf } = require('./replies');

const isOurs = (session) => session?.type === 'rldb';

// The frame selected in the call stack; none while the editor still shows the frames of the stop before.
const old = new Map();  // id of a session -> the frame selected when it stopped
function frameId(session) {
  const id = selected(session);
  return id === old.get(session.id) ? undefined : id;
}
function selected(session) {
  const item = vscode.debug.activeStackItem;
  return item?.session.id === session.id ? item.frameId : undefined;
}
function noteStop(session) {
  old.set(session.id, selected(session));
}

// The reply to an entry. A failed entry is an Error.
async function ask(session, command) {
  const reply = await session.customRequest('rldb/command', { command, frameId: frameId(session) });
  if (!reply.ok) throw new Error(problemOf(reply));
  return reply;
}

// The text that the console would show for an entry.
async function textOf(session, command) {
  const reply = await session.customRequest('rldb/command', { command, frameId: frameId(session), text: true });
  if (!reply.ok) throw new Error(reply.text?.trim() || problemOf(reply));
  return reply.text;
}

// Calls `happened(session, message)` for each message of the adapters' that the editor receives.
function watch(context, happened) {
  context.subscriptions.push(vscode.debug.registerDebugAdapterTrackerFactory('rldb', {
    createDebugAdapterTracker: (session) => ({ onDidSendMessage: (message) => happened(session, message) }),
  }));
}

module.exports = { ask, isOurs, noteStop, textOf, watch };
