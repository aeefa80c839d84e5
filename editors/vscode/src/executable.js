// Which rldb is started. A workspace that is not trusted cannot name it: its setting is not read (package.json declares that,
// and this file doesn't rely on it), and a name without a slash is looked up in PATH's absolute folders only, never in the
// workspace. Used by everything that starts a process.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const vscode = require('vscode');

// The value of setting rldb.KEY that may decide what is executed.
function trustedSetting(key) {
  const settings = vscode.workspace.getConfiguration('rldb');
  if (vscode.workspace.isTrusted) return settings.get(key);
  const found = settings.inspect(key);
  return found.globalValue ?? found.defaultValue;
}

function isProgram(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

function inPath(name) {
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter(path.isAbsolute);
  const endings = process.platform === 'win32' ? ['.exe'] : [''];
  for (const folder of folders)
    for (const ending of endings) {
      const file = path.join(folder, name + ending);
      if (isProgram(file)) return file;
    }
  return undefined;
}

// The path of the program. Throws an Error that a user can act on.
function rldb() {
  const setting = (trustedSetting('path') || 'rldb').trim();
  if (!/[\\/]/.test(setting)) {
    const file = inPath(setting);
    if (file) return file;
    throw new Error(`There is no program \`${setting}\` in PATH. Name it in the setting rldb.path.`);
  }
  let file = setting.replace(/^~(?=[\\/])/, os.homedir());
  if (!path.isAbsolute(file)) {
    const folder = vscode.workspace.workspaceFolders?.[0];
    if (!folder || !vscode.workspace.isTrusted)
      throw new Error(`The setting rldb.path is \`${setting}\`: a relative path needs a trusted workspace folder that it begins at.`);
    file = path.resolve(folder.uri.fsPath, file);
  }
  if (isProgram(file)) return file;
  throw new Error(`The setting rldb.path is \`${setting}\`: ${file} is not a program that can be started.`);
}

module.exports = { rldb, trustedSetting };
