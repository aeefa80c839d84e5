// A workspace that is not trusted cannot have its own program started, neither by a file that is opened nor by a command; a
// trusted one can, which shows that the check would see it.
'use strict';
const fs = require('fs');
const path = require('path');
const { Window, run, until } = require('./window');

const kModule = `from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y: R.Tensor((2,), dtype="float32") = R.add(x, x)
        return y
`;

// A program of the workspace that leaves a trace.
function files(setting) {
  return {
    'module.tvm.py': kModule,
    'rldb': '#!/bin/sh\ntouch "$(dirname "$0")/started"\n',
    '.vscode/settings.json': JSON.stringify({ 'rldb.path': setting, 'rldb.passes': 'LegalizeOps', 'terminal.integrated.defaultProfile.linux': null }),
  };
}

// PATH begins with the workspace's folder, by a relative and an empty entry: nothing may be found there.
async function open(trust, setting) {
  const window = await Window.open({ rldb: process.env.RLDB_PROGRAM, files: files(setting), trust, path: `.::${process.env.PATH}` });
  fs.chmodSync(window.file('rldb'), 0o755);
  return window;
}

const started = (window) => fs.existsSync(window.file('started'));

async function tryCommands(window) {
  await window.openFile('module.tvm.py');
  for (const title of ['rldb: Restart the Language Server', 'rldb: Run a Pass and Show the Diff...']) {
    await window.command(title);
    await window.page.waitForTimeout(1500);
    await window.press('Escape');
  }
}

let window;
const steps = [];
for (const setting of ['./rldb', 'rldb', '${workspaceFolder}/rldb'])
  steps.push([`untrusted, ${setting}`, async () => {
    window = await open(false, setting);
    try {
      await window.page.getByText('Restricted Mode').first().waitFor();
      await tryCommands(window);
      await window.picture('untrusted');
      if (started(window)) throw new Error('the program of the workspace was started');
    } finally {
      await window.close();
    }
  }]);
steps.push(['trusted: it is started', async () => {
  window = await open(undefined, './rldb');
  try {
    await window.openFile('module.tvm.py');
    await until('the program of the workspace to be started', () => started(window));
  } finally {
    await window.close();
  }
}]);
run('trust', steps);
