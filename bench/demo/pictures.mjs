// The pages of real programs, and the pictures of docs: pictures.mjs BUILD FOLDER. Records the demo's server under h2load,
// redis-server under redis-benchmark and a g++ compile; their pages stay in BUILD/pictures.
import {execFileSync, spawn} from 'node:child_process';
import {mkdirSync, statSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {createServer, connect} from 'node:net';
import {resolve} from 'node:path';

const [build, pictures] = process.argv.slice(2).map((path) => resolve(path));
const tarn = `${build}/bin/tarn`;
const folder = `${build}/pictures`;
const largest = 150 * 1024;
mkdirSync(folder, {recursive: true});
mkdirSync(pictures, {recursive: true});
const run = (program, ...words) => execFileSync(program, words, {cwd: folder, stdio: ['ignore', 'pipe', 'inherit'], timeout: 240000});

const free_port = () => new Promise((done) => {
  const probe = createServer().listen(0, '127.0.0.1', () => {
    const {port} = probe.address();
    probe.close(() => done(port));
  });
});
const answers = (port) => new Promise((done) => {
  const socket = connect(port, '127.0.0.1', () => done(socket.destroy() && true)).on('error', () => done(false));
});

// Records a server while `load` works on it, and ends it by `end`.
async function record_server(name, words, port, load, end) {
  const server = spawn(tarn, ['record', '-o', `${name}.rec`, '--', ...words], {cwd: folder, stdio: 'ignore'});
  const ended = new Promise((done) => server.on('exit', done));
  try {
    for (let turn = 0; !(await answers(port)); ++turn) {
      if (turn === 200 || server.exitCode !== null) throw new Error(`${name} does not listen`);
      await new Promise((done) => setTimeout(done, 50));
    }
    load();
    end(server);
    await ended;
  } finally {
    if (server.exitCode === null) server.kill('SIGKILL');
  }
}

// The program below `tarn record`, which Ctrl-C would reach as well.
const stop = (server) => process.kill(Number(run('ps', '-o', 'pid=', '--ppid', String(server.pid)).toString()), 'SIGTERM');

writeFileSync(`${folder}/appserver.toml`, '# all defaults\n');
for (const [name, flags] of [['before', ['--allocator=global']], ['after', []]]) {
  const port = await free_port();
  await record_server(name, [`${build}/bin/tarn-appserver`, '--config', 'appserver.toml', '--port', String(port), '--workers', '2', ...flags], port,
                      () => run('h2load', '--h1', '--requests=60000', '--clients=16', `http://127.0.0.1:${port}/page?rows=256`), stop);
}
const port = await free_port();
await record_server('redis', ['redis-server', '--port', String(port), '--save', '', '--io-threads', '2'], port,
                    () => run('redis-benchmark', '-p', String(port), '-n', '200000', '-P', '8', '-t', 'set,get,lpush', '-q'),
                    () => run('redis-cli', '-p', String(port), 'shutdown', 'nosave'));
writeFileSync(`${folder}/compiled.cpp`, '#include <map>\n#include <regex>\n#include <string>\nstd::map<int, std::string> kept;\nstd::regex pattern("a+b");\n');
run('g++', '-O2', '-E', 'compiled.cpp', '-o', 'compiled.ii');
const compiler = run('g++', '-print-prog-name=cc1plus').toString().trim();
run(tarn, 'record', '-o', 'compiler.rec', '--', compiler, '-quiet', '-O2', '-fpreprocessed', 'compiled.ii', '-o', 'compiled.s');
for (const name of ['before', 'redis', 'compiler']) run(tarn, 'report', `${name}.rec`, '--html', `${name}.html`);
run(tarn, 'diff', 'before.rec', 'after.rec', '--html', 'change.html');

const {chromium} = createRequire(`${build}/web/package.json`)('playwright-core');
const browser = await chromium.launch({executablePath: '/usr/bin/chromium', args: ['--disable-lcd-text', ...(process.getuid() === 0 ? ['--no-sandbox'] : [])]});
async function picture(name, page_name, address, height, scheme = 'light') {
  const page = await browser.newPage({viewport: {width: 1100, height}, colorScheme: scheme});
  await page.goto(`file://${folder}/${page_name}.html${address}`);
  await page.waitForSelector('html[data-ready]');
  await page.screenshot({path: `${pictures}/${name}.png`});
  await page.close();
  const {size} = statSync(`${pictures}/${name}.png`);
  if (size > largest) throw new Error(`${name}.png has ${size} bytes, more than ${largest}`);
  console.log(`${pictures}/${name}.png: ${size} bytes`);
}
await picture('report-summary', 'before', '', 640);
await picture('report-site', 'before', '#tab=sites&site=1', 640, 'dark');
await picture('redis-timeline', 'redis', '#tab=timeline', 760);
await picture('compiler-flame', 'compiler', '#tab=flame', 640);
await browser.close();
