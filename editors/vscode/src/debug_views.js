// Views of a debug session: the shape heap and the storages, read again at each stop, and the stop's time in the status bar.
'use strict';
const vscode = require('vscode');
const data = require('./debug_data');

// A tree whose rows are made by `rows(session)`: [{label, description, tooltip, icon, children}].
class StateTree {
  constructor(rows) {
    this.rows = rows;
    this.changed = new vscode.EventEmitter();
    this.onDidChangeTreeData = this.changed.event;
  }

  async getChildren(row) {
    if (row) return row.children;
    const session = vscode.debug.activeDebugSession;
    if (!data.isOurs(session) || !stopped.has(session.id)) return [];
    try {
      return await this.rows(session);
    } catch (error) {
      return [{ label: String(error.message ?? error), icon: 'info' }];
    }
  }

  getTreeItem(row) {
    const states = vscode.TreeItemCollapsibleState;
    const item = new vscode.TreeItem(row.label, row.children?.length ? states.Expanded : states.None);
    item.description = row.description;
    item.tooltip = row.tooltip;
    if (row.icon) item.iconPath = new vscode.ThemeIcon(row.icon);
    return item;
  }
}

const stopped = new Set();  // ids of the sessions that are stopped

async function heapRows(session) {
  const reply = await data.ask(session, 'heap');
  if (!reply.data?.length) return [{ label: 'This frame has no shape heap.', icon: 'info' }];
  return reply.data.map((slot) => ({
    label: slot.expression ?? `slot ${slot.slot}`,
    description: slot.value === null || slot.value === undefined ? 'not written yet' : `= ${slot.value}`,
    tooltip: [`slot ${slot.slot}`, slot.bound_by && `bound by ${slot.bound_by}`, slot.written?.length && `written by ${[].concat(slot.written).map((pc) => `*${pc}`).join(' ')}`,
              slot.read?.length && `read by ${[].concat(slot.read).map((pc) => `*${pc}`).join(' ')}`].filter(Boolean).join('\n'),
    icon: 'symbol-numeric',
  }));
}

// Of a symbolic size: `32 * n bytes`.
function bytesText(bytes) {
  if (bytes === null || bytes === undefined) return '';
  if (typeof bytes !== 'number') return `${bytes} bytes`;
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${unit ? value.toFixed(1) : value} ${units[unit]}`;
}

async function storageRows(session) {
  const reply = await data.ask(session, 'storage');
  if (!reply.data?.storages?.length) return [{ label: 'This function has no storages.', icon: 'info' }];
  return reply.data.storages.map((s) => ({
    label: typeof s.id === 'number' ? `s${s.id}` : s.id,
    description: bytesText(s.bytes),
    tooltip: `allocated by *${s.allocated}${s.released === null || s.released === undefined ? '' : `, released by *${s.released}`}`,
    icon: 'database',
    children: (s.tensors ?? []).map((t) => ({
      label: t.binding ?? `register %${t.register}`,
      description: `${t.shape} at ${t.offset}`,
      tooltip: [`made by *${t.made}`, t.written !== null && `written by *${t.written}`, t.last_use !== null && `last used by *${t.last_use}`,
                t.cleared !== null && `cleared by *${t.cleared}`].filter(Boolean).join('\n'),
      icon: 'symbol-array',
    })),
  }));
}

// The time of a stop: the adapter's `stopped` event has it.
function showTime(item, session, message) {
  item.text = `$(history) @${message.body.time}`;
  item.tooltip = `${session.name}: instructions executed up to this stop. Click to go to another time.`;
  item.show();
}

function register(context) {
  const heap = new StateTree(heapRows);
  const storage = new StateTree(storageRows);
  const item = vscode.window.createStatusBarItem('rldb.time', vscode.StatusBarAlignment.Left, 0);
  item.name = 'rldb: time of the stop';
  item.command = 'rldb.goToTime';
  const refresh = () => [heap, storage].forEach((tree) => tree.changed.fire());
  data.watch(context, (session, message) => {
    if (message.type !== 'event') return;
    if (message.event === 'stopped') {
      stopped.add(session.id);
      data.noteStop(session);
      if (message.body?.time !== undefined) showTime(item, session, message);
    } else if (message.event === 'continued' || message.event === 'terminated') {
      stopped.delete(session.id);
      item.hide();
    } else if (message.event !== 'invalidated') {
      return;
    }
    refresh();
  });
  context.subscriptions.push(
    item,
    vscode.window.registerTreeDataProvider('rldb.heap', heap),
    vscode.window.registerTreeDataProvider('rldb.storage', storage),
    vscode.debug.onDidTerminateDebugSession((session) => {
      stopped.delete(session.id);
      if (data.isOurs(session)) item.hide();
      refresh();
    }),
    vscode.debug.onDidChangeActiveDebugSession(refresh),
    vscode.debug.onDidChangeActiveStackItem(refresh));
}

module.exports = { register };
