// Entries of rldb's prompt, executed by a process of their own over the text of a document, saved or not: `rldb
// --format=json` replies to each with one object (docs/json.md of rldb). The process reads no init file, and the text is a
// here-document whose end mark is random, so that no text can contain it.
'use strict';
const crypto = require('crypto');
const path = require('path');
const { spawn } = require('child_process');
const vscode = require('vscode');
const executable = require('./executable');

const kLongestReply = 256 << 20;
const kMoment = 800;  // milliseconds

function loadEntry(document) {
  const mark = `END_${crypto.randomBytes(12).toString('hex')}`;
  const name = path.basename(document.uri.path).replace(/[\r\n<]/g, '_') || 'untitled';
  const text = document.getText();
  return `:load ${name} <<${mark}\n${text}${text.endsWith('\n') ? '' : '\n'}${mark}\n`;
}

function problemOf(reply) {
  const first = reply.diagnostics?.find((d) => d.severity === 1) ?? reply.diagnostics?.[0];
  if (!first) return reply.text?.trim() || `:${reply.command} failed`;
  const line = first.range ? ` (line ${first.range.start.line + 1})` : '';
  return `${first.message}${line}${first.data?.hint ? `. ${first.data.hint}` : ''}`;
}

// Runs rldb with `input`; its standard output. Cancelling ends the process.
function outputOf(input, cwd, cancellation) {
  return new Promise((resolve, reject) => {
    const child = spawn(executable.rldb(), ['-q', '-nx', '--color=never', '--format=json'], { cwd, stdio: 'pipe' });
    const parts = [];
    let size = 0;
    let errors = '';
    const cancel = cancellation?.onCancellationRequested(() => child.kill());
    child.on('error', reject);
    child.stdin.on('error', () => undefined);  // it ended early: `close` tells
    child.stderr.on('data', (data) => { errors = (errors + data).slice(0, 4000); });
    child.stdout.on('data', (data) => {
      size += data.length;
      if (size > kLongestReply) child.kill();
      else parts.push(data);
    });
    child.on('close', (code, signal) => {
      cancel?.dispose();
      if (cancellation?.isCancellationRequested) return reject(new vscode.CancellationError());
      if (size > kLongestReply) return reject(new Error('the reply of rldb is longer than 256 MiB'));
      if (signal) return reject(new Error(`rldb was ended by ${signal}. ${errors}`));
      resolve({ text: Buffer.concat(parts).toString('utf8'), code, errors });
    });
    child.stdin.end(input);
  });
}

// The replies to `entries` (one line each, without a line break) with the document's text loaded. An entry that fails is an
// Error, unless it ends with `?`: then its reply says so.
async function replies(document, entries, cancellation) {
  const cwd = document.uri.scheme === 'file' ? path.dirname(document.uri.fsPath) : undefined;
  const lines = entries.map((entry) => entry.replace(/\?$/, '').replace(/[\r\n]+/g, ' '));
  const { text, errors } = await outputOf(loadEntry(document) + lines.join('\n') + '\n', cwd, cancellation);
  const found = text.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
  if (found.length < entries.length + 1) throw new Error(`rldb ended early. ${errors}`);
  const wanted = ['', ...entries];
  found.forEach((reply, i) => {
    if (!reply.ok && !wanted[i]?.endsWith('?')) throw new Error(problemOf(reply));
  });
  return found.slice(1);
}

// The same, with a notice that can cancel it if it takes longer than a moment.
async function repliesWithProgress(title, document, entries) {
  const source = new vscode.CancellationTokenSource();
  const work = replies(document, entries, source.token);
  let timer;
  const moment = new Promise((resolve) => { timer = setTimeout(resolve, kMoment, true); });
  const isLong = await Promise.race([work.then(() => false, () => false), moment]);
  clearTimeout(timer);
  if (!isLong) return work;
  return vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: `rldb: ${title}`, cancellable: true },
    (_, cancellation) => {
      cancellation.onCancellationRequested(() => source.cancel());
      return work;
    });
}

module.exports = { problemOf, replies, repliesWithProgress };
