// The protocol matrix of @vscode/debugadapter-testsupport: the client that adapters for VS Code are tested with, over
// standard streams and over a port. Prints a line for each check and the totals.
'use strict';
const { spawn } = require('child_process');
const { DebugClient } = require(process.env.RLDB_TESTSUPPORT);

const rldb = process.env.RLDB_PROGRAM;
const program = process.env.RLDB_MODULE;
const inputs = ['x=2x4xf32=arange'];
let passed = 0, failed = 0;

function must(good, seen) {
  if (!good) throw new Error(JSON.stringify(seen));
}

async function check(name, work, port) {
  const client = new DebugClient(rldb, 'dap', 'rldb');
  client.defaultTimeout = 20000;
  try {
    await client.start(port);
    await work(client);
    passed++;
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}${port ? ' (port)' : ''}: ${error.message}`);
  } finally {
    await client.stop().catch(() => {});
  }
}

const matrix = {
  'answers unknown requests with an error': async c => {
    await c.initializeRequest();
    await c.send('illegalRequest').then(() => must(false, 'no error'), () => {});
  },
  'has the capabilities of time travel': async c => {
    const { body } = await c.initializeRequest();
    must(body.supportsStepBack && body.supportsSteppingGranularity && body.supportsDisassembleRequest, body);
    must(body.exceptionBreakpointFilters.length === 6, body.exceptionBreakpointFilters);
  },
  'runs to the end': c => Promise.all([
    c.configurationSequence(), c.launch({ program, inputs }), c.waitForEvent('exited'), c.waitForEvent('terminated'),
  ]),
  'stops on entry': c => Promise.all([
    c.configurationSequence(), c.launch({ program, inputs, stopOnEntry: true }), c.assertStoppedLocation('entry', { line: 5 }),
  ]),
  'stops at a breakpoint': c => c.hitBreakpoint({ program, inputs }, { path: program, line: 9 }),
  'stops at a breakpoint that slides': c => c.hitBreakpoint(
    { program, inputs }, { path: program, line: 7 }, { path: program, line: 8 }, { path: program, line: 8, verified: true }),
  'stops where a condition holds': async c => {
    c.on('initialized', () => c.setBreakpointsRequest({
      source: { path: program },
      breakpoints: [{ line: 8, condition: 'n == 3' }, { line: 9, condition: 'n == 2' }],
    }).then(() => c.configurationDoneRequest()));
    await Promise.all([c.launch({ program, inputs }), c.assertStoppedLocation('breakpoint', { line: 9 })]);
  },
  'stops at a function and at infinity': async c => {
    c.on('initialized', () => c.setFunctionBreakpointsRequest({ breakpoints: [{ name: 'main' }] })
      .then(() => c.setExceptionBreakpointsRequest({ filters: ['inf'] })).then(() => c.configurationDoneRequest()));
    await Promise.all([c.launch({ program, inputs: ['x=1x4xf32=100,200,300,400'] }),
      c.assertStoppedLocation('function breakpoint', { line: 8 })]);
    await Promise.all([c.continueRequest({ threadId: 1 }), c.assertStoppedLocation('exception', {})]);
    const { body } = await c.send('exceptionInfo', { threadId: 1 });
    must(body.exceptionId === 'inf', body);
  },
  'steps, steps back, shows values': async c => {
    await c.hitBreakpoint({ program, inputs }, { path: program, line: 9 });
    await Promise.all([c.nextRequest({ threadId: 1 }), c.assertStoppedLocation('step', { line: 10 })]);
    const trace = await Promise.all([c.stepBackRequest({ threadId: 1 }), c.assertStoppedLocation('breakpoint', { line: 9 })]);
    const frameId = trace[1].body.stackFrames[0].id;
    const scopes = (await c.scopesRequest({ frameId })).body.scopes;
    must(scopes.map(s => s.name).join() === 'Locals,Symbols,Shape heap,Registers,Storage', scopes);
    const locals = (await c.variablesRequest({ variablesReference: scopes[0].variablesReference })).body.variables;
    const a = locals.find(v => v.name === 'a');
    const rows = (await c.variablesRequest({ variablesReference: a.variablesReference, filter: 'indexed', start: 1, count: 1 })).body.variables;
    must(rows.length === 1 && rows[0].name === '[1]', rows);
    const { result } = (await c.evaluateRequest({ expression: 'a[1, 3]', frameId, context: 'watch' })).body;
    must(result.includes('49'), result);
  },
  'writes output as events': async c => {
    await c.hitBreakpoint({ program, inputs }, { path: program, line: 9 });
    await Promise.all([c.evaluateRequest({ expression: 'heap', context: 'repl' }), c.waitForEvent('output')]);
  },
};

async function main() {
  for (const [name, work] of Object.entries(matrix)) await check(name, work);
  const server = spawn(rldb, ['dap', '--port', '0'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const port = await new Promise(done => server.stderr.on('data', text => {
    const said = /listening on 127\.0\.0\.1:(\d+)/.exec(text);
    if (said) done(Number(said[1]));
  }));
  for (const [name, work] of Object.entries(matrix)) await check(name, work, port);
  server.kill();
  console.log(`${passed} passed, ${failed} failed`);
}
main();
