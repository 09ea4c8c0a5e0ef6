// Shared by the tests of the pages: a browser, pages that report refused requests, and the run of the tests.
import assert from 'node:assert/strict';
import {existsSync, mkdtempSync, readFileSync, rmSync, statSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

// Of the built page `name`: its template, a folder for the test's files and a browser. Where there is no browser or no page the
// process ends with 77.
export const HANG_MS = 600000;  // after which a step hangs, also on a machine with ten times the work that it can do

export async function start(build, name) {
  const template = `${build}/page/${name}`;
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
  const folder = mkdtempSync(join(tmpdir(), 'tarn-page-'));
  process.on('exit', () => rmSync(folder, {recursive: true, force: true}));
  const browser = await chromium.launch({executablePath: browser_path, args: process.getuid() === 0 ? ['--no-sandbox'] : [], timeout: HANG_MS});

  // Opens a page; requests that the browser refused, and exceptions, are failures at its end.
  async function open(address, {width = 1200, height = 800, scheme = 'light'} = {}) {
    const context = await browser.newContext({viewport: {width, height}, colorScheme: scheme, offline: true, bypassCSP: false});
    const page = await context.newPage();
    page.setDefaultTimeout(HANG_MS);
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

  // By the rules of WCAG 2 A and AA. The policy keeps scripts out, so axe comes by the debugger.
  async function check_access(page, subject) {
    const client = await page.context().newCDPSession(page);
    await client.send('Runtime.evaluate', {expression: axe});
    const {result} = await client.send('Runtime.evaluate', {awaitPromise: true, returnByValue: true, expression: `axe.run(document, {resultTypes: ['violations']}).then((all) => all.violations.map((each) => each.id + ': ' + each.nodes.map((node) => node.html.slice(0, 160) + ' ' + (node.any[0]?.message ?? '')).slice(0, 3).join(' | ')))`});
    assert.deepEqual(result.value, [], subject);
  }

  // All of `tests`, or those with $PAGE_TEST in their names; ends the process.
  async function run_tests(tests) {
    let failures = 0;
    const wanted = process.env.PAGE_TEST;
    for (const [name, test] of Object.entries(tests)) {
      if (wanted && !name.includes(wanted)) continue;
      const began = Date.now();
      try {
        await test();
        console.log(`ok   ${name} (${Date.now() - began} ms)`);
      } catch (error) {
        ++failures;
        console.log(`FAIL ${name} (${Date.now() - began} ms)\n${error.stack ?? error}`);
      }
    }
    await browser.close();
    process.exit(failures ? 1 : 0);
  }
  return {template, folder, browser, open, close, check_access, run_tests};
}
