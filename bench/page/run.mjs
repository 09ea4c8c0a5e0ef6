// How long the page of `tarn report --html` takes in a browser: run.mjs BUILD/web. Prints milliseconds of one run each.
import {statSync} from 'node:fs';
import {mkdtempSync, rmSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {large, write_page} from '../../tests/web/made.mjs';

const build = resolve(process.argv[2]);
const {chromium} = createRequire(`${build}/package.json`)('playwright-core');
const folder = mkdtempSync(join(tmpdir(), 'tarn-page-'));
process.on('exit', () => rmSync(folder, {recursive: true, force: true}));
const browser = await chromium.launch({executablePath: '/usr/bin/chromium', args: process.getuid() === 0 ? ['--no-sandbox'] : []});

// Returns the time from the call of `act` until the next frame is painted.
async function timed(page, act) {
  return Math.round(await page.evaluate(async (source) => {
    const began = performance.now();
    const {selector, kind, value} = source;
    const element = document.querySelector(selector);
    if (kind === 'click') element.dispatchEvent(new MouseEvent('click', {bubbles: true}));
    else {
      element.value = value;
      element.dispatchEvent(new Event(kind, {bubbles: true}));
    }
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    return performance.now() - began;
  }, act));
}

for (const [sites, depth] of [[1000, 10], [200000, 12]]) {
  const data = large(sites, depth);
  const nodes = data.nodes.parent.length;
  const address = write_page(`${build}/page/index.html`, data, `${folder}/page.html`);
  const megabytes = (statSync(`${folder}/page.html`).size / 1e6).toFixed(1);
  const page = await browser.newPage({viewport: {width: 1280, height: 800}});
  await page.goto(address);
  await page.waitForSelector('html[data-ready]', {timeout: 60000});
  const ready = await page.evaluate(() => ({
    text: Math.round(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1),
    summary: Math.round(performance.getEntriesByName('ready')[0].startTime),
  }));
  console.log(`${sites} sites, ${nodes} stack nodes, ${megabytes} MB`);
  const row = (subject, ms) => console.log(`  ${subject.padEnd(44)}${String(ms).padStart(7)}`);
  row('first paint', ready.text);
  row('the summary', ready.summary);
  row('to the sites', await timed(page, {selector: '#tab-sites', kind: 'click'}));
  row('sort by name', await timed(page, {selector: 'th button', kind: 'click'}));
  row('search', await timed(page, {selector: 'input[type=search]', kind: 'input', value: 'function_7'}));
  row('open a site', await timed(page, {selector: 'tr.row', kind: 'click'}));
  await timed(page, {selector: 'input[type=search]', kind: 'input', value: ''});
  row('to the flame graph', await timed(page, {selector: '#tab-flame', kind: 'click'}));
  row('zoom', await timed(page, {selector: 'g.frame[data-node="1"]', kind: 'click'}));
  row('another measure', await timed(page, {selector: 'select', kind: 'change', value: 'bytes'}));
  row('stacks with a name', await timed(page, {selector: 'input[type=search]', kind: 'input', value: 'function_7'}));
  await timed(page, {selector: 'input[type=search]', kind: 'input', value: ''});
  row('to the timeline', await timed(page, {selector: '#tab-timeline', kind: 'click'}));
  row('restrict to a part', await timed(page, {selector: 'input', kind: 'change', value: '0.35'}));
  row('to the sites of the part', await timed(page, {selector: '#tab-sites', kind: 'click'}));
  row('all of it again', await timed(page, {selector: '.part button', kind: 'click'}));
  await page.close();
}
await browser.close();
