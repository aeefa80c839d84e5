// A window of VS Code (code-server, in Chromium without a display) with the extension installed, and what a user does in it.
// Used by the acceptance scripts beside this file. Waits are for what becomes visible, never for a time.
'use strict';
const fs = require('fs');
const net = require('net');
const os = require('os');
const path = require('path');
const { spawn } = require('child_process');

const kTools = process.env.RLDB_EDITOR_TOOLS;  // made by tests/editors/vscode/tools
const kLimit = Number(process.env.RLDB_EDITOR_TIMEOUT ?? 30000);  // of one wait, in milliseconds
const { chromium } = require(path.join(kTools, 'node_modules/playwright-core'));

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

function freePort() {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

// Calls `look` until it gives something; an Error says what was waited for.
async function until(what, look, limit = kLimit) {
  const end = Date.now() + limit;
  for (let last; ;) {
    try {
      const found = await look();
      if (found) return found;
      last = found;
    } catch (error) {
      last = error.message;
    }
    if (Date.now() > end) throw new Error(`waited ${limit / 1000} s for ${what}${last ? `: ${last}` : ''}`);
    await sleep(50);
  }
}

class Window {
  // options: rldb (the program), files {name: text}, settings, trust (false: ask for trust, as VS Code
  // does by default), path (PATH of the editor), extensions (folders
  // of others beside ours), size of the window
  static async open(options) {
    const window = new Window();
    Window.last = window;  // pictured when a step fails
    window.home = fs.mkdtempSync(path.join(os.tmpdir(), 'rldb-vscode-'));
    window.folder = path.join(window.home, 'work');
    for (const [name, text] of Object.entries(options.files)) {
      const file = path.join(window.folder, name);
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, text);
    }
    const settings = {
      'security.workspace.trust.enabled': options.trust === false,
      'security.workspace.trust.startupPrompt': 'never',
      'security.workspace.trust.untrustedFiles': 'open',
      'workbench.startupEditor': 'none',
      'telemetry.telemetryLevel': 'off',
      'editor.accessibilitySupport': 'off',
      'editor.minimap.enabled': false,
      'debug.toolBarLocation': 'docked',
      'debug.openDebug': 'openOnDebugBreak',
      'window.titleBarStyle': 'custom',
      'files.autoSave': 'off',
      'terminal.integrated.gpuAcceleration': 'off',  // its text is in the page then
      'workbench.enableExperiments': false,
      ...options.settings,
    };
    const user = path.join(window.home, 'user');
    fs.mkdirSync(path.join(user, 'User'), { recursive: true });
    fs.writeFileSync(path.join(user, 'User/settings.json'), JSON.stringify(settings));
    // In a remote window, which this is, paths of programs are settings of the machine.
    fs.mkdirSync(path.join(user, 'Machine'));
    fs.writeFileSync(path.join(user, 'Machine/settings.json'), JSON.stringify({ 'rldb.path': options.rldb }));
    const extensions = path.join(window.home, 'extensions');
    fs.mkdirSync(extensions);
    for (const folder of [process.env.RLDB_EXTENSION, ...(options.extensions ?? [])])
      fs.cpSync(folder, path.join(extensions, path.basename(folder)), { recursive: true });

    const port = await freePort();
    const env = { ...process.env, HOME: window.home, XDG_CACHE_HOME: `${window.home}/cache`, XDG_STATE_HOME: `${window.home}/state`, XDG_CONFIG_HOME: `${window.home}/config`, PATH: options.path ?? process.env.PATH };
    window.server = spawn(process.execPath, [path.join(kTools, 'node_modules/code-server/out/node/entry.js'), '--auth', 'none', '--bind-addr', `127.0.0.1:${port}`,
                          '--user-data-dir', user, '--extensions-dir', extensions, '--disable-telemetry', '--disable-update-check'],
                          { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    window.log = '';
    for (const stream of [window.server.stdout, window.server.stderr]) stream.on('data', (data) => { window.log += data; });
    await until('the server of the editor', async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok);
    window.browser = await chromium.launch({ executablePath: process.env.RLDB_CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
    window.page = await window.browser.newPage({ viewport: options.size ?? { width: 1400, height: 900 } });
    window.page.setDefaultTimeout(kLimit);
    await window.page.goto(`http://127.0.0.1:${port}/?folder=${encodeURIComponent(window.folder)}`, { timeout: 2 * kLimit });
    await window.page.waitForSelector('.explorer-folders-view .monaco-list-row', { timeout: 2 * kLimit });
    return window;
  }

  async close() {
    if (this.closed) return;
    this.closed = true;
    await this.browser?.close();
    try { process.kill(-this.server.pid); } catch { /* it has ended */ }
    await sleep(300);
    fs.rmSync(this.home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  file(name) { return path.join(this.folder, name); }
  async picture(name) { await this.page.screenshot({ path: path.join(process.env.RLDB_PICTURES ?? os.tmpdir(), `${name}.png`) }); }
  async press(...keys) { for (const key of keys) await this.page.keyboard.press(key); }
  async type(text) { await this.page.keyboard.type(text, { delay: 5 }); }

  // ---- the command palette, pickers and inputs ----

  async openPicker(text) {
    const input = this.page.locator('.quick-input-widget:visible .quick-input-box input');
    await this.press('F1');
    await input.waitFor({ timeout: 3000 });
    await input.fill(text, { timeout: 3000 });
  }

  // Opens the palette again until it has the command and keeps it until the click: a context may just have changed, and a
  // stop of the debugger takes the focus from the palette, which closes it.
  async command(title) {
    const row = this.page.locator('.quick-input-list .monaco-list-row').filter({ hasText: title }).first();
    await until(`the command ${title}`, async () => {
      await this.openPicker(`>${title}`);
      return row.click({ timeout: 2000 }).then(() => true, async () => { await this.press('Escape'); return false; });
    });
  }

  // Chooses in the picker that is open (or opens): the first row with this text.
  async choose(text, title) {
    const widget = this.page.locator('.quick-input-widget:visible');
    if (title) await widget.getByText(title, { exact: false }).first().waitFor();
    const row = widget.locator('.monaco-list-row').filter({ hasText: text }).first();
    await until(`the choice ${text}`, async () => {
      if (await row.isVisible()) return true;
      const input = widget.locator('.quick-input-box input');
      if (await input.isVisible()) await input.fill(text);
      return row.isVisible();
    });
    await row.click();
  }

  // In the box whose placeholder begins so.
  async answer(text, placeholder) {
    const input = this.page.locator(`.quick-input-widget:visible .quick-input-box input${placeholder ? `[placeholder^="${placeholder}"]` : ""}`);
    await input.waitFor();
    await input.fill(text);
    await this.press('Enter');
  }

  // By the explorer: quick open searches with a program that npm does not bring.
  async openFile(name) {
    const tab = this.page.locator('.tab').filter({ hasText: name }).first();
    if (await tab.isVisible()) {
      await tab.click();
    } else {
      if (!(await this.page.locator('.explorer-folders-view').isVisible())) await this.press('Control+Shift+e');
      await this.page.locator('.explorer-folders-view .monaco-list-row').filter({ hasText: name }).first().dblclick();
    }
    await this.page.locator('.tab.active').filter({ hasText: name }).waitFor();
    await this.page.locator('.editor-group-container.active .monaco-editor .view-line').first().waitFor();
  }

  // Closes all editors, without saving, and opens a file.
  async fresh(name) {
    await this.press('Escape', 'Control+k', 'Control+w');
    const no = this.page.locator('.monaco-dialog-box .monaco-button').filter({ hasText: "Don't Save" });
    await until('the editors to be closed', async () => {
      if (await no.isVisible()) await no.click();
      return (await this.page.locator('.tab').count()) === 0;
    });
    await this.openFile(name);
  }

  // ---- the editor ----

  editor() { return this.page.locator('.editor-group-container.active .monaco-editor').first(); }

  async goTo(line, column = 1) {
    const input = this.page.locator('.quick-input-widget:visible .quick-input-box input');
    await until(`the box for line ${line}`, async () => {
      await this.press('Control+g');
      await input.fill(`:${line}:${column}`, { timeout: 3000 });
      await this.press('Enter');
      return true;
    });
    await input.waitFor({ state: 'hidden' });
  }

  // The lines that the active editor (the right half of a diff) shows: the largest one, of equals the last.
  async shownText() {
    return this.page.evaluate(() => {
      const area = (e) => e.getBoundingClientRect().width * e.getBoundingClientRect().height;
      const editors = [...document.querySelectorAll('.editor-group-container.active .monaco-editor')].sort((a, b) => area(a) - area(b));
      const lines = [...(editors.at(-1)?.querySelectorAll('.view-line') ?? [])].map((l) => [parseFloat(l.style.top), l.textContent]);
      return lines.sort((a, b) => a[0] - b[0]).map((l) => l[1]).join('\n').replace(/\u00a0/g, ' ');
    });
  }

  async sees(what, pattern, look) {
    return until(`${what} ${pattern}`, async () => {
      const text = await look();
      return pattern.test(text) ? text : undefined;
    });
  }

  text(selector) { return this.page.locator(selector).evaluateAll((all) => all.map((e) => e.textContent).join('\n').replace(/\u00a0/g, ' ')); }
  async message(pattern) { return this.sees('the message', pattern, () => this.text('.notifications-toasts .notification-list-item')); }
}

const kStepLimit = 4 * kLimit;

async function limited(what, work) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`${what} took longer than ${kStepLimit / 1000} s`)), kStepLimit); });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

// Runs steps one after the other, closes the window, and ends the process. Prints what failed, and `N passed, N failed`.
async function run(name, steps) {
  let passed = 0;
  const failed = [];
  for (const [title, step] of steps) {
    if (process.env.RLDB_STEP && !title.includes(process.env.RLDB_STEP) && title !== 'open') continue;
    const began = Date.now();
    try {
      await limited(title, step());
      passed++;
      console.log(`ok     ${name}: ${title} (${Date.now() - began} ms)`);
    } catch (error) {
      failed.push(title);
      const [line] = error.message.split('\n');
      const place = /\w+_check\.js:\d+/.exec(error.stack)?.[0];
      console.log(`FAILED ${name}: ${title}: ${line}${/waiting for[^\n]*/.exec(error.message)?.[0].replace(/^/, ', ') ?? ''} (${place})`);
      const told = await Window.last?.text('.notifications-toasts .notification-list-item').catch(() => undefined);
      if (told) console.log(`       the window tells: ${told}`);
      await Window.last?.picture(`failed-${name}-${failed.length}`).catch(() => undefined);
      if (title === 'open' || process.env.RLDB_STOP) break;  // nothing can follow
    }
  }
  await limited('closing', Promise.resolve(Window.last?.close())).catch((error) => console.log(error.message));
  console.log(`${passed} passed, ${failed.length} failed`);
  process.exit(failed.length ? 1 : 0);
}

module.exports = { Window, run, until };
