// SVG pictures that rldb draws, in a panel. A picture is shown as an image, which cannot run scripts or load anything, and
// the panel's content security policy allows nothing else. rldb writes it into a temporary folder, which is removed at once.
'use strict';
const fs = require('fs/promises');
const os = require('os');
const path = require('path');
const vscode = require('vscode');

const escaped = (text) => text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);

// Calls `draw(file)`, which has rldb write an SVG there; its text.
async function drawn(draw) {
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'rldb-'));
  try {
    const file = path.join(folder, 'picture.svg');
    await draw(file);
    return await fs.readFile(file, 'utf8');
  } finally {
    await fs.rm(folder, { recursive: true, force: true });
  }
}

function show(title, svg) {
  const panel = vscode.window.createWebviewPanel('rldb.picture', title, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true }, {
    enableScripts: false,
    localResourceRoots: [],
  });
  const data = Buffer.from(svg, 'utf8').toString('base64');
  panel.webview.html = `<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>${escaped(title)}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<style>body { background: #fff; padding: 1em } img { max-width: none }</style></head>
<body><img alt="${escaped(title)}" src="data:image/svg+xml;base64,${data}"></body></html>`;
  return panel;
}

module.exports = { drawn, show };
