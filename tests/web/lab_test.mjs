// The page of `tarn lab` in a real browser: lab_test.mjs BUILD/web TARN. Exit code 77 where there is no browser or no page.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {start} from './browser.mjs';
import {write_page} from './made.mjs';

const [build, tarn] = process.argv.slice(2);
const {template, folder, open, close, check_access, run_tests} = await start(build, 'lab.html');

const path = `${folder}/lab.html`;
const words = ['lab', 'list', 'lock-cost', '--quick', '--rounds', '1', '--set', 'total=5000', '--set', 'pairs=1000', '--set', 'operations=5000'];
const results = JSON.parse(execFileSync(tarn, [...words, '--html', path, '--json', '-'], {encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore']}));
const address = `file://${path}`;

const tests = {
  async 'says each claim, its verdict, and who was skipped'() {
    const page = await open(address);
    const text = await page.innerText('main');
    for (const experiment of results.experiments) {
      for (const words of [experiment.claim, experiment.claimed, experiment.why, experiment.verdict.text, ...experiment.skipped]) assert.ok(text.includes(words), words);
    }
    assert.ok((await page.innerText('dl')).includes(results.machine.cpu));
    assert.equal((await page.$$('#list tr.ours')).length, results.experiments[0].forms.filter((form) => form.role === 'ours').length);
    await close(page);
  },
  async 'draws curves, the originals\' too, and hides one when asked'() {
    const page = await open(address);
    assert.equal((await page.$$('#list canvas')).length, 2);
    const keys = await page.$$eval('#list .curves:first-child .key', (elements) => elements.map((element) => element.textContent));
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
      const page = await open(address, {scheme});
      await check_access(page, scheme);
      await close(page);
    }
    const page = await open(address, {width: 360});
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
    await close(page);
  },
};

await run_tests(tests);
