// The page of `tarn lab` in a real browser: lab_test.mjs BUILD/web TARN. Exit code 77 where there is no browser or no page.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync, statSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {write_page} from './made.mjs';

const [build, tarn] = process.argv.slice(2);
const template = `${build}/page/lab.html`;
const browser_path = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const skip = (why) => {
  console.log(`skipped: ${why}`);
  process.exit(77);
};
if (!existsSync(template) || statSync(template).size === 0) skip('this build has no page');
if (!browser_path) skip('there is no chromium (Debian package chromium)');

const require = createRequire(`${build}/package.json`);
const {chromium} = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'tarn-lab-page-'));
process.on('exit', () => rmSync(folder, {recursive: true, force: true}));
const browser = await chromium.launch({executablePath: browser_path, args: process.getuid() === 0 ? ['--no-sandbox'] : [], timeout: 30000});

async function open(address, {width = 1200, scheme = 'light'} = {}) {
  const context = await browser.newContext({viewport: {width, height: 800}, colorScheme: scheme, offline: true});
  const page = await context.newPage();
  page.setDefaultTimeout(10000);
  page.faults = [];
  page.on('console', (message) => message.type() === 'error' && page.faults.push(message.text()));
  page.on('pageerror', (error) => page.faults.push(String(error)));
  page.on('request', (request) => request.url().startsWith('file:') || page.faults.push(`asks for ${request.url()}`));
  await page.goto(address);
  await page.waitForSelector('html[data-ready]');
  return page;
}
async function close(page) {
  assert.deepEqual(page.faults, []);
  await page.context().close();
}
async function check_access(page, where) {
  const client = await page.context().newCDPSession(page);
  await client.send('Runtime.evaluate', {expression: axe});
  const {result} = await client.send('Runtime.evaluate', {awaitPromise: true, returnByValue: true, expression: `axe.run(document, {resultTypes: ['violations']}).then((all) => all.violations.map((each) => each.id + ': ' + each.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(' | ')))`});
  assert.deepEqual(result.value, [], where);
}

const path = `${folder}/lab.html`;
const words = ['lab', 'list', 'lock-cost', '--quick', '--rounds', '1', '--set', 'total=5000', '--set', 'pairs=1000', '--set', 'operations=5000'];
const results = JSON.parse(execFileSync(tarn, [...words, '--html', path, '--json', '-'], {encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore']}));
const made = `file://${path}`;

const tests = {
  async 'says each claim, its verdict, and who was skipped'() {
    const page = await open(made);
    const text = await page.innerText('main');
    for (const each of results.experiments) {
      for (const words of [each.claim, each.claimed, each.why, each.verdict.words, ...each.skipped]) assert.ok(text.includes(words), words);
    }
    assert.ok((await page.innerText('dl')).includes(results.machine.cpu));
    assert.equal((await page.$$('#list tr.ours')).length, results.experiments[0].forms.filter((each) => each.role === 'ours').length);
    await close(page);
  },
  async 'draws curves, the originals\' too, and hides one when asked'() {
    const page = await open(made);
    assert.equal((await page.$$('#list canvas')).length, 2);
    const keys = await page.$$eval('#list .curves:first-child .key', (all) => all.map((each) => each.textContent));
    for (const name of ['glibc', 'pooled', 'VAX 8550, malloc', 'MicroVAX, pools']) assert.ok(keys.includes(name), `${name}: ${keys}`);
    const picture = () => page.$eval('#list canvas', (canvas) => canvas.toDataURL());
    const before = await picture();
    await page.click('#list .key >> nth=0');
    assert.equal(await page.getAttribute('#list .key >> nth=0', 'aria-pressed'), 'false');
    assert.notEqual(await picture(), before);
    await page.click('#list .key >> nth=0');
    await page.hover('#list .u-over >> nth=0');
    await page.waitForSelector('#list .keys .at');
    await close(page);
  },
  async 'shows what ended early, and text as text'() {
    const odd = {...results, machine: {cpu: '<img src=x onerror=alert(1)>'}, experiments: [{...results.experiments[0], failure: 'a <b>line</b>', rows: []}]};
    const page = await open(write_page(template, odd, `${folder}/odd.html`));
    assert.ok((await page.innerText('[role=alert]')).includes('a <b>line</b>'));
    assert.ok((await page.innerText('dl')).includes('<img'));
    assert.equal((await page.$$('canvas')).length, 0);
    await close(page);
  },
  async 'is accessible in both themes, and fits a phone'() {
    for (const scheme of ['light', 'dark']) {
      const page = await open(made, {scheme});
      await check_access(page, scheme);
      await close(page);
    }
    const page = await open(made, {width: 360});
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
    await close(page);
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    console.log(`ok: ${name}`);
  } catch (error) {
    ++failed;
    console.log(`FAILED: ${name}: ${error.stack ?? error}`);
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
