// The page in a real browser: page_test.mjs BUILD/web TARN PROGRAMS. Exit code 77 where there is no browser or no page.
import assert from 'node:assert/strict';
import {execFileSync, spawnSync} from 'node:child_process';
import {copyFileSync, readFileSync, statSync, truncateSync, writeFileSync} from 'node:fs';
import {inflateSync} from 'node:zlib';
import {HANG_MS, start} from './browser.mjs';
import {add_site, difference, empty, example, fleet, large, write_page} from './made.mjs';

const [build, tarn, programs] = process.argv.slice(2);
const {template, folder, browser, open, close, check_access, run_tests} = await start(build, 'index.html');
const environment = {...process.env, XDG_CACHE_HOME: folder};

// The policy forbids playwright's own way to wait for a condition.
async function until(page, condition) {
  for (let turn = 0; turn < 200; ++turn) {
    if (await page.evaluate(condition)) return;
    await page.waitForTimeout(20);
  }
  assert.fail(`never: ${condition}`);
}
const hash = (page) => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).toString());
const rows = (page) => page.$$eval('tr.row', (elements) => elements.map((row) => row.cells[0].textContent));
const example_page = write_page(template, example(), `${folder}/example.html`);
const tabs = ['Summary', 'Flame graph', 'Sites', 'Memory', 'Threads', 'Locks', 'System calls', 'Timeline'];

const tests = {
  async 'the first screen says where, how much, what to do, what not'() {
    const page = await open(example_page);
    const text = await page.innerText('main');
    for (const phrase of ['Heap', 'Locks', 'System calls', 'about 69 % of CPU', '48–90 %; ', 'What to do first', 'make_0', 'make_1', 'saves about 4 % of CPU (2–5 %)', 'tarn run', 'What to leave alone',
                        '12 of 24 allocation sites have no remedy', 'Worth doing: heap. The first remedy at each of 12 sites saves about 25 % of CPU (17–33 %).',
                        'Little to gain: locks. 2 threads together waited', 'Without a change: tarn run saves about', '4.0 ms', ', and 700 ms in calls that wait (epoll_wait), summed over 3 threads']) {
      assert.ok(text.includes(phrase), `${phrase} is not in: ${text}`);
    }
    assert.equal((await page.$$('.best li')).length, 3);
    await page.click('.best li:nth-child(2) button');
    assert.match(await hash(page), /tab=sites&site=1/);
    await close(page);
  },

  async 'memory and the processor are on the first screen, and the processor is a flame graph'() {
    const data = example();
    data.memory = {peak_bytes: 10 * 2 ** 20, peak_ns: 0.5e9, end_bytes: 2 ** 20, resident_bytes: 30 * 2 ** 20};
    const [inner, outer] = [data.sites[0].stack, data.sites[3].stack];
    data.cpu = {samples: 100, interval_ns: 5e6, kernel: 20, weights: [[inner, 3.5e8, 5e7, 0, 2e9], [outer, 1.5e8, 5e7, 1], [outer, 0, 0, 1, 7e9]]};
    const page = await open(write_page(template, data, `${folder}/cpu.html`));
    const text = await page.innerText('.cards');
    for (const phrase of ['Memory', '10 MiB', 'Heap peak at 0.5 s', 'up to 30 MiB', 'Never freed: 1.0 MiB', 'CPU', '500 ms', '100 samples; 20 % in the kernel', 'Most in make_0: 70 %']) {
      assert.ok(text.includes(phrase), `${phrase} is not in: ${text}`);
    }
    await check_access(page, 'cards of memory and the processor');
    await page.getByRole('button', {name: 'CPU', exact: true}).click();
    assert.match(await hash(page), /tab=flame/);
    assert.match(await page.innerText('output'), /^CPU, time: 500 ms/);
    await page.getByLabel('Category').selectOption('kernel');
    assert.match(await page.innerText('output'), /^CPU, time: 100 ms/);
    await page.getByLabel('Thread').selectOption('1');
    assert.match(await page.innerText('output'), /^CPU, time: 50 ms/);
    await page.getByLabel('Width shows').selectOption('waiting');
    assert.match(await page.innerText('output'), /^Time, waiting: 7\.0 s/);
    await page.getByLabel('Thread').selectOption('');
    assert.match(await page.innerText('output'), /^Time, waiting: 9\.0 s/);
    await close(page);
  },

  async 'a lock that threads wait for long comes first, with its time'() {
    const data = example();
    data.locks[0].waited_ns = 12.6e9;
    const page = await open(write_page(template, data, `${folder}/waits.html`));
    const best = await page.innerText('.best li:first-child');
    for (const phrase of ['mutex', 'threads waited 13 s']) assert.ok(best.includes(phrase), `${phrase} is not in: ${best}`);
    assert.ok(!best.includes('CPU'), best);
    await close(page);
  },

  async 'what only samples the processor says nothing about sites, locks and calls'() {
    const data = empty();
    Object.assign(data.recorder, {mode: 'sampled', sources: ['cpu']});
    const page = await open(write_page(template, data, `${folder}/only_cpu.html`));
    const text = await page.innerText('.summary');
    for (const phrase of ['Not known: neither heap, locks nor system calls were recorded.', 'Figures of CPU time are estimates']) assert.ok(text.includes(phrase), `${phrase} is not in: ${text}`);
    assert.ok(!/exact|worth a change|Costs are/.test(text), text);
    await close(page);
  },

  async 'a run that was mostly off the CPU says so, and only CPU time has a bar'() {
    const data = example();
    data.end = {wall_us: 6_810_000, user_us: 1_200_000, system_us: 50_000};
    const page = await open(write_page(template, data, `${folder}/idle.html`));
    const verdicts = await page.innerText('.verdicts');
    assert.ok(verdicts.includes('For at least 82 % of the run none of its threads was on a processor: tarn record --cpu shows why. Shares are of 450 ms of CPU time.'), verdicts);
    assert.deepEqual(await page.$$eval('.card .bar', (bars) => bars.map((bar) => bar.closest('.card').querySelector('h3').textContent)), ['Heap']);
    await close(page);
    const busy = await open(example_page);
    assert.ok(!(await busy.innerText('.verdicts')).includes('No thread'));
    await close(busy);
  },

  async 'sites of one name and line are told apart, as in the text'() {
    const data = empty();
    const frames = [['serve()', '/home/me/src/serve.cpp', 10], ['main', '/home/me/main.cpp', 5]];
    for (const category of ['same-thread', 'cross-thread', 'same-thread']) add_site(data, frames, {category});
    data.sites[2].size_histogram = data.sites[2].size_histogram.map((_, index) => (index === 5 ? 7 : 0));
    data.sites.forEach((site) => { site.frame_index = 0; });
    const page = await open(`${write_page(template, data, `${folder}/equal.html`)}#tab=sites`);
    assert.deepEqual((await rows(page)).sort(), ['serve serve.cpp:10, cross-thread', 'serve serve.cpp:10, same-thread, up to 128 bytes', 'serve serve.cpp:10, same-thread, up to 512 bytes']);
    await close(page);
  },

  async 'a recording that was cut before its first event gets no verdict'() {
    const page = await open(write_page(template, {...empty(), damage: 'the file ends inside a block'}, `${folder}/cut.html`));
    assert.ok((await page.innerText('.summary')).includes('Not known: no events could be read.'));
    await close(page);
  },

  async 'a predicted gain comes before one that is not predicted, and before a small one'() {
    const data = example();
    const [call] = data.syscalls.filter((site) => site.remedy);
    Object.assign(call, {time_ns: 60e9, predicted: {reason: 'its data is not known', saved_ns: [0, 60e9]}});
    const page = await open(write_page(template, data, `${folder}/ranks.html`));
    const gains = await page.$$eval('.best .gain', (elements) => elements.map((gain) => gain.textContent));
    assert.match(gains[0], /^saves about [\d.]+ % of CPU/, gains);
    data.locks[0].waited_ns = 1e6;
    for (const site of data.sites) for (const remedy of site.predicted.remedies) remedy.saved_ns = [1e3, 2e3];
    const little = await open(write_page(template, data, `${folder}/little.html`));
    assert.equal(await little.innerText('.best li:first-child .gain'), 'what it saves is not predicted');
    await close(page);
    await close(little);
  },

  async 'every view, in both themes, on a phone too: accessible, no wider than the screen'() {
    for (const [scheme, width] of [['light', 1200], ['dark', 1200], ['light', 360]]) {
      const page = await open(example_page, {scheme, width});
      for (const name of tabs) {
        await page.getByRole('tab', {name, exact: true}).click();
        assert.deepEqual(await page.$$eval('[role=tab][aria-selected=true], [role=tab][tabindex="0"]', (elements) => elements.map((tab) => tab.textContent)), [name]);
        if (await page.$('tr.row')) await page.click('tr.row .opens');
        await check_access(page, `${name}, ${scheme}, ${width}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(wide <= 0, `${name} is ${wide} pixels too wide at ${width}`);
      }
      const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(paper, scheme === 'dark' ? 'rgb(20, 23, 27)' : 'rgb(255, 255, 255)');
      await close(page);
    }
  },

  async 'no two meanings have one colour, in both themes'() {
    const page = await open(`${example_page}#tab=timeline`);
    for (const theme of ['light', 'dark']) {
      await page.evaluate((name) => { document.documentElement.dataset.theme = name; }, theme);
      const colours = await page.evaluate(() => {
        const style = getComputedStyle(document.documentElement);
        const names = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).flatMap((rule) => [...(rule.style ?? [])]);
        return [...new Set(names)].filter((name) => /^--(kind-|state-|processor|resident|own|cross)/.test(name)).map((name) => [name, style.getPropertyValue(name).trim()]);
      });
      assert.ok(colours.length > 25 && colours.every(([, colour]) => colour), JSON.stringify(colours));
      assert.equal(new Set(colours.map(([, colour]) => colour)).size, colours.length, `${theme}: ${JSON.stringify(colours)}`);
      const shown = new Map(await page.$$eval('.kind', (kinds) => kinds.map((kind) => [kind.textContent, getComputedStyle(kind.querySelector('i')).backgroundColor])));
      assert.ok(['same-thread', 'contended', 'small'].every((kind) => shown.has(kind)), JSON.stringify([...shown]));
      assert.equal(new Set(shown.values()).size, shown.size, `${theme}: ${JSON.stringify([...shown])}`);
    }
    await close(page);
  },

  async 'the theme can be chosen'() {
    const page = await open(example_page);
    await page.click('.theme');
    await page.click('.theme');
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(20, 23, 27)');
    assert.equal(await hash(page), 'theme=dark');
    await check_access(page, 'chosen dark');
    await close(page);
  },

  async 'sites are searched, filtered and sorted'() {
    const page = await open(`${example_page}#tab=sites`);
    assert.match((await rows(page))[0], /^make_0/);
    await page.getByRole('button', {name: 'Blocks'}).click();
    assert.match((await rows(page))[0], /^make_23/);
    assert.equal(await page.getAttribute('th[aria-sort]', 'aria-sort'), 'descending');
    await page.getByRole('button', {name: 'Blocks'}).click();
    assert.match((await rows(page))[0], /^make_0/);
    await page.selectOption('select >> nth=0', 'cross-thread');
    assert.equal((await rows(page)).length, 6);
    await page.fill('input[type=search]', 'make_17');
    assert.deepEqual((await rows(page)).length, 1);
    assert.equal(await page.innerText('output'), '1 of 24 sites');
    await page.fill('input[type=search]', 'ME/program');
    assert.equal((await rows(page)).length, 6, 'modules are searched');
    await page.fill('input[type=search]', 'no such name');
    assert.ok((await page.innerText('.none')).includes('No site'));
    await close(page);
  },

  async 'memory: what each site held at the peak and at the end, and what grows'() {
    const page = await open(`${example_page}#tab=memory`);
    const text = await page.innerText('#view');
    for (const phrase of ['Heap peak: 300 MiB, 0.4 s after the start', 'the process took up to 400 MiB', 'Never freed: 108 MiB',
                          'Memory grows to the end, by about 3.0 MiB/s at one site', '24 of 24 sites']) {
      assert.ok(text.includes(phrase), `${phrase} is not in ${text}`);
    }
    assert.match((await rows(page))[0], /^make_23/);
    await page.getByRole('button', {name: 'Never freed'}).click();
    assert.match((await rows(page))[0], /^make_0/);
    await page.selectOption('select >> nth=0', 'grows');
    assert.match((await rows(page)).join(), /^make_6[^,]*$/);
    assert.match(await page.innerText('tr.row >> nth=0'), /grows by 3\.0 MiB\/s/);
    await page.getByRole('button', {name: 'Show it as a flame graph'}).click();
    assert.match(await hash(page), /tab=flame&.*metric=peak|metric=peak.*/);
    const labels = await page.$$eval('g.frame', (elements) => elements.map((frame) => frame.getAttribute('aria-label')).join());
    assert.match(labels, /make_23:[^,]*24 MiB/);
    await close(page);
  },

  async 'memory: what the contents of blocks tell to save at the peak'() {
    const data = example(), mebibyte = 2 ** 20;
    data.memory.contents = {in_use_bytes: 290 * mebibyte, sites: [
      {remedy: 'share', saved_bytes: 20 * mebibyte, saved_range: [19 * mebibyte, 20 * mebibyte], blocks: 5000, equal_blocks: 4990, stack: data.sites[0].stack, frame_index: 0},
      {remedy: 'shrink', saved_bytes: 10 * mebibyte, saved_range: [10 * mebibyte, 10 * mebibyte], blocks: 30, unwritten_blocks: 29, stack: 0, frame_index: 0},
      {remedy: 'shrink', saved_bytes: mebibyte, saved_range: [0, mebibyte], blocks: 1, unwritten_blocks: 1, stack: 0, frame_index: 0}]};
    const page = await open(`${write_page(template, data, `${folder}/contents.html`)}#tab=memory`);
    const savings = await page.innerText('.savings');
    assert.match(savings, /about 20 MiB \(19 MiB–20 MiB\) make_0.*: 4,990 of 5,000 blocks are equal to others: keep one of each/);
    assert.match(savings, /10 MiB beyond the recorder's limit: the ends of 29 of 30 blocks were never written/);
    assert.ok(!savings.includes('1.0 MiB'), 'less than a hundredth of the peak');
    await close(page);
  },

  async 'what samples tell of memory has its range'() {
    const data = example(), mebibyte = 2 ** 20;
    data.recorder.mode = 'sampled';
    data.memory = {peak_bytes: 10 * mebibyte, peak_range: [2 * mebibyte, 30 * mebibyte], end_bytes: 0, end_range: [0, 3 * mebibyte]};
    Object.assign(data.sites[0], {peak_bytes: 20 * mebibyte, peak_range: [mebibyte, 30 * mebibyte], end_bytes: 0, end_range: [0, mebibyte]});
    const page = await open(write_page(template, data, `${folder}/sampled.html`));
    const cards = await page.innerText('.cards');
    for (const phrase of ['about 10 MiB', '2.0 MiB–30 MiB', 'Never freed: 0 bytes (0–3.0 MiB)']) assert.ok(cards.includes(phrase), `${phrase} is not in: ${cards}`);
    await page.getByRole('button', {name: 'Memory', exact: true}).first().click();
    const text = await page.innerText('#view');
    for (const phrase of ['Heap peak: about 10 MiB (2.0 MiB–30 MiB)', 'Never freed: 0 bytes (0–3.0 MiB)', '20 MiB (1.0 MiB–30 MiB), 100 %']) {
      assert.ok(text.includes(phrase), `${phrase} is not in: ${text}`);
    }
    await close(page);
  },

  async 'a site has its stack, histograms, threads and the code to write'() {
    const page = await open(`${example_page}#tab=sites&site=1`);
    const text = await page.innerText('.details');
    for (const phrase of ['make_1', 'src/make.cpp:2', 'auto made = new thing;', 'tarn::pooled<thing>', 'work #1 → work #2', 'serve_1()', 'saves']) {
      assert.ok(text.includes(phrase), `${phrase} is not in ${text}`);
    }
    assert.ok(!text.includes('/home/me'), 'paths are relative');
    assert.equal((await page.$$('.histogram canvas')).length, 3);
    assert.match(await page.getAttribute('.histogram [role=img]', 'aria-label'), /128: 2,000/);
    await close(page);
  },

  async 'the flame graph is filtered, zoomed, pinned, and says so in the address'() {
    const page = await open(`${example_page}#tab=flame`);
    const labels = () => page.$$eval('g.frame', (elements) => elements.map((frame) => frame.getAttribute('aria-label')));
    const before = await labels();
    assert.ok(before.some((label) => label.startsWith('make_0: 24 ms, 8')), before);
    assert.ok(before.some((label) => label.startsWith('all: 300 ms, 100 %')), before);
    await page.click('g.frame[aria-label^="serve_1"]');
    const widths = await page.$$eval('g.frame rect', (elements) => elements.map((rect) => rect.getBoundingClientRect().width));
    assert.ok(widths.every((width) => width >= 2.9), 'at once, without a movement');
    const zoomed = await labels();
    assert.ok(zoomed.length < before.length && zoomed.some((label) => label.startsWith('make_1')) && !zoomed.some((label) => label.startsWith('make_0:')), zoomed);
    assert.match(await hash(page), /zoom=\d+&pin=\d+/);
    assert.ok((await page.innerText('.pinned-stack')).includes('serve_1()'));
    await page.goBack();
    assert.equal((await labels()).length, before.length);
    await page.selectOption('select >> nth=0', 'bytes');
    assert.ok((await labels()).some((label) => label.startsWith('all: 29 MiB')), await labels());
    await page.selectOption('select >> nth=2', 'kept');
    assert.ok(!(await labels()).some((label) => label.startsWith('make_0:')));
    await page.selectOption('select >> nth=2', '');
    await page.fill('input[type=search]', 'MAKE_7(');
    assert.deepEqual((await labels()).filter((label) => label.startsWith('make')).length, 1);
    await page.fill('input[type=search]', '');
    await page.selectOption('select >> nth=0', 'waited');
    assert.ok((await labels()).some((label) => label.startsWith('all: 12 ms')), 'without calls that wait');
    await page.selectOption('select >> nth=3', '2');
    assert.ok((await labels()).some((label) => label.startsWith('all: 2.0 ms')), 'of one thread');
    await page.selectOption('select >> nth=3', '');
    await page.selectOption('select >> nth=2', 'condition');
    assert.ok((await labels()).some((label) => label.startsWith('all: 9.0 s')));
    await page.selectOption('select >> nth=0', 'kernel');
    assert.ok((await labels()).some((label) => label.startsWith('await')));
    await close(page);
  },

  async 'flames grow upwards, icicles downwards'() {
    const page = await open(`${example_page}#tab=flame`);
    const top = (name) => page.$eval(`g.frame[aria-label^="${name}"]`, (element) => element.getBoundingClientRect().top);
    assert.ok((await top('all')) < (await top('make_0:')));
    await page.selectOption('select >> nth=1', 'flame');
    assert.ok((await top('all')) > (await top('make_0:')));
    await close(page);
  },

  async 'by keyboard alone'() {
    const page = await open(example_page);
    const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent);
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'Summary');
    await page.keyboard.press('ArrowRight');
    assert.equal(await focused(), 'Flame graph');
    await page.focus('g.frame[tabindex="0"]');
    await page.keyboard.press('ArrowDown');
    assert.match(await focused(), /^main/);
    await page.keyboard.press('ArrowDown');
    assert.match(await focused(), /^serve_0/);
    await page.keyboard.press('ArrowRight');
    assert.match(await focused(), /^serve_1/);
    await page.keyboard.press('Enter');
    assert.match(await hash(page), /zoom=/);
    await until(page, () => document.activeElement.closest('g.frame'));
    assert.match(await focused(), /^serve_1/);
    await page.keyboard.press('Escape');
    await page.focus('#tab-flame');
    await page.keyboard.press('ArrowRight');
    assert.equal(await focused(), 'Sites');
    await page.focus('tr.row .opens');
    await page.keyboard.press('Enter');
    await page.keyboard.press('ArrowDown');
    await until(page, () => document.activeElement.dataset.row === '1');
    assert.match(await page.innerText('.details h2'), /make_1/);
    await close(page);
  },

  async 'the address brings all of it back'() {
    const first = await open(`${example_page}#tab=sites`);
    await first.fill('input[type=search]', 'serve_2');
    await first.getByRole('button', {name: 'Blocks'}).click();
    await first.click('tr.row >> nth=2');
    await first.click('.theme');
    const address = first.url();
    const seen = await first.innerText('body');
    await close(first);
    const second = await open(address);
    assert.equal(await second.innerText('body'), seen);
    assert.equal(second.url(), address);
    await close(second);
    // What is no address of this page is not taken for one.
    const odd = await open(`${example_page}#tab=%3Cb%3E&zoom=-7&pin=1e99&site=x&__proto__=1&metric=none&sort=none`);
    await odd.getByRole('tab', {name: 'Flame graph'}).click();
    await odd.getByRole('tab', {name: 'Sites'}).click();
    assert.equal((await rows(odd)).length, 24);
    await close(odd);
  },

  async 'blocks that cross from thread to thread'() {
    const page = await open(`${example_page}#tab=threads`);
    assert.deepEqual(await page.$$eval('.matrix tbody th', (elements) => elements.map((cell) => cell.textContent)), ['work #1', 'work #2']);
    await page.click('.crossing button');
    assert.ok((await page.innerText('main')).includes('make_1'));
    await page.selectOption('select', 'role');
    assert.deepEqual(await page.$$eval('.matrix tbody th', (elements) => elements.map((cell) => cell.textContent)), ['work']);
    await close(page);
  },

  async 'each thread has a lane, which says what it did and for whom it waited'() {
    const page = await open(`${example_page}#tab=threads`);
    assert.deepEqual(await page.$$eval('.lane-list svg', (elements) => elements.map((lane) => lane.getAttribute('aria-label'))),
                     ['work #1: 50 % lock, 40 % running, 10 % kernel', 'work #2: 50 % runnable, 50 % sleep', 'main: 100 % idle']);
    // A path for each state, in one piece for each interval, as wide as that.
    const outline = await page.$$eval('.lane-list li:first-child path', (elements) => elements.map((path) => path.getAttribute('d').split('M').length - 1));
    assert.deepEqual(outline, [4, 5, 1]);
    const box = await (await page.$('.lane-list svg')).boundingBox();
    await page.mouse.move(box.x + 0.55 * box.width, box.y + 10);
    assert.match(await page.innerText('.lanes output'), /^work #1, 0.5–0.6 s: 100 % lock at .*, held by work #2$/);
    await page.mouse.move(box.x + 0.05 * box.width, box.y + 10);
    assert.match(await page.innerText('.lanes output'), /^work #1, 0–0.1 s: 100 % running$/);
    await page.getByRole('button', {name: 'work #1', exact: true}).click();
    const text = await page.innerText('.lane-details');
    for (const phrase of ['500 ms 50 %: waits for a lock at await', 'held by work #2', '100 ms 10 %: waits in the kernel', 'in read at hold']) assert.ok(text.includes(phrase), `${phrase} is not in ${text}`);
    assert.ok((await page.innerText('.lanes')).includes('7 more threads, with 2.0 ms of CPU time together'));
    await check_access(page, 'lanes');
    await close(page);
    const part = await open(`${example_page}#tab=threads&begin=0.4&end=1`);
    assert.equal(await part.getAttribute('.lane-list svg', 'aria-label'), 'work #1: 83 % lock, 17 % kernel');
    await close(part);
    const data = example();
    delete data.lanes;
    const without = await open(`${write_page(template, data, `${folder}/lanes.html`)}#tab=threads`);
    assert.ok((await without.innerText('.lanes')).includes('tarn record --cpu'));
    await close(without);
  },

  async 'who waits for whom is said in one sentence, and with the stacks'() {
    const page = await open(`${example_page}#tab=threads`);
    const summaries = await page.$$eval('.wait-for summary', (elements) => elements.map((summary) => summary.textContent));
    assert.match(summaries[0], /^7\.8 s: main waited for the mutex at await.*, held by work #1, which waited for the reader-writer lock at hold.*, held by work #2, which slept in clock_nanosleep at await/);
    assert.match(summaries[1], /^10 ms: main, work #1 waited for the mutex at await.*, held by work #2$/);
    for (const summary of await page.$$('.wait-for summary')) await summary.click();
    const text = await page.innerText('.wait-for');
    for (const phrase of ['while work #2 held the reader-writer lock', 'and meanwhile slept in clock_nanosleep, about 6.0 s, at', 'and meanwhile ran, about 1.0 s', 'What the holder did meanwhile is not known']) assert.ok(text.includes(phrase), `${phrase} is not in ${text}`);
    await check_access(page, 'wait-for chains');
    await close(page);
  },

  async 'locks have waiters and holders, calls their sizes'() {
    const page = await open(`${example_page}#tab=locks&site=0`);
    let text = await page.innerText('.details');
    for (const phrase of ['Taken 9,000 ± 4 % times', 'work #2 held it', 'hold(lock&)', 'split it', 'Inside: fdatasync, 400 ms, at await']) assert.ok(text.includes(phrase), `${phrase} is not in ${text}`);
    await page.getByRole('tab', {name: 'System calls'}).click();
    await page.click('tr.row:has-text("write") .opens');
    text = await page.innerText('.details');
    for (const phrase of ['42,000 calls', '10 bytes a call', 'a buffer']) assert.ok(text.includes(phrase), `${phrase} is not in ${text}`);
    await close(page);
  },

  async 'a deadlock is the first answer, and its threads are named'() {
    const data = example();
    const [{stack: waiter}, {stack: holder}] = data.locks;
    const wait = {waited_ns: 19.8e9, stack: waiter, held_from: {stack: holder}};
    Object.assign(data.locks[0], {still_held: 1, still_waiting: [{...wait, thread: 1, holder: 2, is_deadlock: true}, {...wait, thread: 2, waited_ns: 5e9}]});
    Object.assign(data.locks[1], {still_waiting: [{...wait, thread: 2, holder: 1, is_deadlock: true}]});
    data.lock_orders.inversions[0].is_deadlock = true;
    const page = await open(write_page(template, data, `${folder}/deadlock.html`));
    const first = await page.innerText('.summary > :first-child');
    assert.match(first, /^A deadlock\s+2 threads waited for each other until the end, up to 20 s so far, at await.*wait\.cpp:8.*\. 1 more thread still waited behind them\./s);
    assert.ok(!(await page.innerText('main')).includes('could deadlock'), 'only the other circle is left, which one thread made');
    await check_access(page, 'deadlock');
    await page.getByRole('button', {name: 'Show who waits for whom'}).click();
    const details = await page.innerText('.details');
    for (const phrase of ['It was still held at the end', 'Still waiting at the end', 'work #1 waited 20 s so far, for work #2, which waited for it in turn. It waits at', 'work #2 has held the lock since it took it at',
                          'work #2 waited 5.0 s so far, for main. It waits at']) assert.ok(details.includes(phrase), `${phrase} is not in ${details}`);
    const circle = await page.$('.order');
    assert.match(await circle.innerText(), /^A deadlock, in which both threads still waited at the end: two locks were taken in both orders/);
    assert.ok(await circle.evaluate((element) => element.open), 'it is open from the start');
    await check_access(page, 'deadlock, in detail');
    assert.match(details, /Taken 9,000 .* times by 2 threads; 702 waited/);
    await page.goto(`file://${folder}/deadlock.html#tab=locks&site=`);
    assert.match((await page.$$eval('tr.row', (elements) => elements.map((row) => row.textContent))).join('\n'), /700, and 2 without end/);
    await close(page);

    data.locks = [{...data.locks[0], still_waiting: [{...wait, thread: 1, holder: 1, is_deadlock: true}]}];
    const alone = await open(write_page(template, data, `${folder}/alone.html`));
    assert.match(await alone.innerText('.summary > :first-child'), /^A deadlock\s+1 thread waited for itself until the end/);
    await alone.getByRole('button', {name: 'Show who waits for whom'}).click();
    assert.match(await alone.innerText('.details'), /work #1 waited 20 s so far, for itself: it held the lock already\. It waits at/);
    await close(alone);

    data.locks[0].still_waiting = [{thread: 1, waited_ns: 3e9, stack: waiter}];
    const unknown = await open(write_page(template, data, `${folder}/unknown.html`));
    assert.match(await unknown.innerText('.summary > :first-child'), /^Waits that do not end\s+1 thread still waited for a lock at the end, up to 3\.0 s so far/);
    await unknown.getByRole('button', {name: 'Show who waits for whom'}).click();
    assert.match(await unknown.innerText('.details'), /work #1 waited 3\.0 s so far\. It waits at/);
    await close(unknown);
  },

  async 'system calls that have not returned stand above the others'() {
    const data = example();
    const call = {name: 'futex', thread: 1, time_ns: 19.8e9, stack: data.locks[0].stack};
    data.unfinished_calls = [call, {...call, name: 'read', thread: 2, time_ns: 2e9}, {...call, name: 'poll', time_ns: 1e6}];
    const page = await open(write_page(template, data, `${folder}/unfinished.html`));
    await page.getByRole('tab', {name: 'System calls'}).click();
    const title = await page.getByText('2 calls had not returned when the recording ended, up to 20 s so far');
    await title.click();
    const text = await page.innerText('.unfinished');
    for (const phrase of ['20 s so far: futex, work #1', '2.0 s so far: read, work #2', 'wait.cpp:8']) assert.ok(text.includes(phrase), `${phrase} is not in ${text}`);
    assert.ok(!text.includes('poll'), 'a short call may be part of normal work');
    await check_access(page, 'unfinished calls');
    await close(page);
  },

  async 'waits since before the recording are named with their holders'() {
    const data = example();
    const stack = data.locks[0].stack;
    data.lasting_waits = {groups: [{awaited: 'mutex', threads: [11], holder: 12, stack, is_deadlock: true}, {awaited: 'mutex', threads: [12], holder: 11, stack, is_deadlock: true},
                                   {awaited: 'mutex', threads: [13, 14], holder: 15, stack, holder_at: {stack}}, {awaited: 'thread_end', threads: [10], holder: 11, stack}],
                          in_deadlock: 2, for_mutexes: 4, without_holder: 3};
    const page = await open(write_page(template, data, `${folder}/hung.html`));
    assert.match(await page.innerText('.summary > :first-child'), /^A deadlock\s+2 threads waited for each other from before the recording until its end/);
    await page.click('.summary > :first-child button');
    const text = await page.innerText('main');
    for (const phrase of ['A deadlock: thread 11 waited for a mutex that thread 12 had, and which waited for it in turn', 'thread 13, thread 14 waited for a mutex that thread 15 had, at', 'Meanwhile thread 15 was at',
                          'thread 10 waited for the end of thread 11', '3 more threads waited for what has no holder']) assert.ok(text.includes(phrase), `${phrase} is not in ${text}`);
    await check_access(page, 'waits since before');
  },
  async 'a deadlock that tarn recorded'() {
    const run = (...words) => execFileSync(tarn, words, {env: environment, timeout: HANG_MS});
    spawnSync(tarn, ['record', '--locks', '-o', `${folder}/stuck`, '--', 'timeout', '-s', 'KILL', '0.6', `${programs}/tool_orders`, 'deadlock'], {env: environment, timeout: HANG_MS});
    run('report', `${folder}/stuck`, '--html', `${folder}/stuck.html`);
    const page = await open(`file://${folder}/stuck.html`);
    assert.match(await page.innerText('.summary > :first-child'), /^A deadlock\s+2 threads waited for each other until the end, up to \d+ ms so far, at .*orders\.cpp/s);
    await page.getByRole('button', {name: 'Show who waits for whom'}).click();
    const text = await page.innerText('main');
    for (const phrase of ['which waited for it in turn', 'Taken 1 time by 1 thread; 1 waited', 'A deadlock, in which both threads still waited at the end']) assert.ok(text.includes(phrase), `${phrase} is not in ${text}`);
    assert.equal((await page.$$('.unfinished .stack')).length, 2, 'where it waits, and where the holder took the lock');
    await close(page);
    run('report', `${folder}/stuck`, '--redact', '--html', `${folder}/stuck-redacted.html`);
    const [, packed] = readFileSync(`${folder}/stuck-redacted.html`, 'utf8').match(/id="recording">([^<]*)</);
    const inside = inflateSync(Buffer.from(packed, 'base64')).toString();
    for (const secret of ['take_slowly', 'orders.cpp', 'deadlock::', programs]) assert.ok(!inside.includes(secret), `${secret} is in the redacted page`);
  },

  async 'locks that could deadlock, and holders that wait'() {
    const page = await open(example_page);
    assert.match(await page.innerText('.verdicts li >> nth=0'), /^Possible deadlock: locks\. Locks are taken in an order that could deadlock\./);
    await page.getByRole('button', {name: 'Show where'}).click();
    const summaries = await page.$$eval('.order summary', (elements) => elements.map((summary) => summary.textContent));
    assert.equal(summaries.length, 3);
    assert.match(summaries[0], /^Could deadlock: two locks are taken in both orders, at await.*and hold.*; so are 3 more/);
    assert.match(summaries[1], /^Could deadlock, if a second thread did the same: 3 locks are taken in a circle/);
    assert.match(summaries[2], /^Up to 7.0 ms: await.* waited for a lock whose holder itself waited, at hold/);
    for (const summary of await page.$$('.order summary')) await summary.click();
    const text = await page.innerText('.orders');
    for (const phrase of ['4 times, by work #1', 'mutex A', 'mutex C', 'hold(lock&)', 'main waited 9.0 ms, 2 times, for', 'while work #2 held it']) assert.ok(text.includes(phrase), `${phrase} is not in ${text}`);
    await check_access(page, 'orders');
    await close(page);
  },

  async 'a part of the run is chosen with the mouse or by its times, and restricts every view'() {
    const page = await open(`${example_page}#tab=timeline`);
    assert.deepEqual(await page.$$eval('.picture figcaption', (elements) => elements.map((caption) => caption.firstChild.textContent.trim())),
                     ['CPUs in use', 'Resident memory', 'Heap in use', 'Allocations a second', 'Threads that wait for locks', 'System calls a second']);
    assert.match(await page.getAttribute('.chart >> nth=1', 'aria-label'), /^Resident memory: highest 10 MiB, at 1 s$/);
    assert.match(await page.getAttribute('.chart >> nth=5', 'aria-label'), /^System calls a second: highest 84,000, at 0\.\d s$/);
    const area = await (await page.$('.u-over')).boundingBox();
    const x = (share) => area.x + area.width * share;
    await page.mouse.move(x(0.02), area.y + 30);
    await page.mouse.down();
    await page.mouse.move(x(0.3), area.y + 30, {steps: 4});
    await page.mouse.move(x(0.47), area.y + 30, {steps: 4});
    await page.mouse.up();
    assert.match(await hash(page), /begin=0&end=0.5$/);
    const marks = await page.$$eval('.u-select', (elements) => elements.map((mark) => Math.round((100 * mark.clientWidth) / mark.parentElement.clientWidth)));
    assert.deepEqual(marks, marks.map(() => 50), 'in each picture');
    assert.match(await page.innerText('.part'), /from 0 s to 0.5 s of 1 s/);

    // The part has the even sites and none of the odd ones; their rates are of half of the time.
    await page.getByRole('tab', {name: 'Sites'}).click();
    assert.equal(await page.innerText('output'), '12 of 24 sites');
    assert.match(await page.innerText('tr.row >> nth=0'), /^make_0.*\s11 \(8–14\)/s);
    assert.ok((await rows(page)).every((name) => Number(name.match(/make_(\d+)/)[1]) % 2 === 0));
    await page.click('tr.row .opens');
    assert.match(await page.innerText('.details'), /of the whole run/i);
    await page.getByRole('tab', {name: 'Summary'}).click();
    const summary = await page.innerText('main');
    for (const phrase of ['144,000 allocations', '6 of 12 allocation sites', 'This is said of the whole run.', 'Taken 8,000 times', "2.0 % of one thread", "0.80 % of one thread", '42,000 calls']) assert.ok(summary.includes(phrase), `${phrase} is not in ${summary}`);
    await page.getByRole('tab', {name: 'Flame graph'}).click();
    const labels = () => page.$$eval('g.frame', (elements) => elements.map((frame) => frame.getAttribute('aria-label')).join());
    assert.match(await labels(), /make_2:/);
    assert.doesNotMatch(await labels(), /make_1:/);
    await page.getByRole('tab', {name: 'Threads'}).click();
    assert.doesNotMatch(await page.innerText('.matrix'), /500/, 'handed over in the other half');
    await page.getByRole('tab', {name: 'Locks'}).click();
    await page.click('tr.row:has-text("mutex") .opens');
    assert.match(await page.innerText('.details'), /Taken 8,000 ± 4 % times by 1 thread; 800 waited 10 ms together/);
    await page.getByRole('tab', {name: 'System calls'}).click();
    assert.deepEqual(await rows(page), ['write']);

    // The address has it; the fields take it by keyboard.
    const address = page.url();
    const seen = await page.innerText('body');
    await close(page);
    const again = await open(address);
    assert.equal(await again.innerText('body'), seen);
    await again.getByRole('tab', {name: 'Timeline'}).click();
    await again.fill('input >> nth=1', '1');
    await again.keyboard.press('Enter');
    await until(again, () => !document.querySelector('.part'));
    await again.fill('input >> nth=0', '0.75');
    await again.keyboard.press('Tab');
    await until(again, () => document.querySelector('.part')?.innerText.includes('from 0.7 s to 1 s'));
    await again.getByRole('tab', {name: 'Sites'}).click();
    assert.match((await rows(again))[0], /^make_1/);
    await again.getByRole('button', {name: 'Show the whole run'}).click();
    assert.equal(await again.innerText('output'), '24 of 24 sites');
    await again.goto(`${example_page}#tab=sites&begin=x&end=-3`);
    assert.equal(await again.innerText('output'), '24 of 24 sites');
    await close(again);
  },

  async 'blocks of a program that has become another by exec are no longer in use'() {
    const data = example();
    data.threads.forEach((thread) => { thread.image = 0; });
    const in_use = async (address) => {
      const page = await open(`${address}#tab=timeline`);
      const label = await page.getAttribute('.chart >> nth=2', 'aria-label');
      await close(page);
      return label;
    };
    assert.match(await in_use(write_page(template, data, `${folder}/image.html`)), /^Heap in use: highest .*, at 1 s$/);
    data.timeline.images.fill(2, 8);
    assert.match(await in_use(write_page(template, data, `${folder}/images.html`)), /^Heap in use: highest .*, at 0.8 s$/);
  },

  async 'before and after: what changed, predicted beside achieved'() {
    for (const scheme of ['light', 'dark']) {
      const page = await open(write_page(template, difference(), `${folder}/difference.html`), {scheme});
      const text = await page.innerText('body');
      for (const phrase of ['program --pooled', 'before: 80 to 120 ms', 'predicted: saves 50 to 80 ms', 'measured: saves 60 to 90 ms', '9,000 → 1,000', 'as predicted', 'the site is gone', 'Note: another load: <b>.', 'The heap cost, by the model', 'Saving by the model', '200 ms → 100 ms', 'and in calls that wait: 4.8 s → 2.9 s', 'new', 'gone', 'gone&lt;"', 'at the peak: 8.0 MiB → 4.0 MiB', 'at the end: 2.0 MiB → 0 bytes', 'keep&lt;": 5.0 MiB → 1.0 MiB; at the end 2.0 MiB → 0 bytes']) {
        assert.ok(text.includes(phrase), `${phrase} is not in ${text}`);
      }
      assert.deepEqual((await rows(page)).map((row) => row.split(' ')[0]), ['make', 'fresh', 'gone&lt;"'], 'the largest first');
      await page.click('tr.row .opens');
      assert.match(await page.innerText('.details'), /pool it/);
      assert.match(await page.innerText('.details'), /7,990 are gone; 8,000 were predicted/);
      assert.doesNotMatch(await page.innerText('main'), /achieved/i, 'the model measures nothing');
      await check_access(page, `difference, ${scheme}`);
      await page.fill('input[type=search]', 'fresh');
      assert.equal((await rows(page)).length, 1);
      await close(page);
    }
    const waiting = difference();
    waiting.difference.saved_cpu_ns = null;
    const page = await open(write_page(template, waiting, `${folder}/waiting.html`));
    assert.match(await page.innerText('main'), /measured: cannot be compared/);
    await close(page);
  },

  async 'a fleet: the dearest sites, with their cost over the hosts of each release'() {
    for (const scheme of ['light', 'dark']) {
      const page = await open(write_page(template, fleet(), `${folder}/fleet.html`), {scheme});
      const text = await page.innerText('body');
      for (const phrase of ['recordings: recordings<b>', '1.3 of shop: 4 hosts, 9 recordings', 'worse: shop::take: 1.5 → 3.1 ms/s, by 1.0 to 2.3', 'hoist (heap): saves 10 to 20 s on 8 hosts', 'contended (lock): 30 s of waits', '<i>h3 (1.4, lock): 188 ms/s', 'give&lt;"', '2 of the 2 dearest sites', '0 to 6.5 ms/s']) {
        assert.ok(text.includes(phrase), `${phrase} is not in ${text}`);
      }
      assert.deepEqual(await page.$$eval('tr.row:first-of-type svg', (pictures) => pictures.map((picture) => [picture.getAttribute('aria-label'), picture.querySelectorAll('line').length])),
        [['1.3: on 4 hosts 0 ms/s to 2.5 ms/s, median 2.0 ms/s, half of them 1.5 ms/s to 2.0 ms/s', 5], ['1.4: on 4 hosts 1.8 ms/s to 6.5 ms/s, median 2.3 ms/s, half of them 2.0 ms/s to 2.3 ms/s', 5]]);
      await page.click('tr.row .opens');
      assert.match(await page.innerText('.details'), /The dearest: h0 \(2.5 ms\/s\), h2 \(2.0 ms\/s\)/);
      // The slow host stands alone at the right end of its release.
      const ends = await page.$$eval('.details svg', (pictures) => pictures.map((picture) => Math.max(...[...picture.querySelectorAll('line')].map((line) => +line.getAttribute('x1')))));
      assert.deepEqual(ends.map(Math.round), [385, 1000]);
      await check_access(page, `fleet, ${scheme}`);
      await page.fill('input[type=search]', 'give');
      assert.equal((await rows(page)).length, 1);
      await close(page);
    }
    const empty_fleet = fleet();
    Object.assign(empty_fleet.fleet, {sites: [], versions: [], remedies: [], outliers: [], regressions: null});
    const page = await open(write_page(template, empty_fleet, `${folder}/no-fleet.html`));
    assert.match(await page.innerText('body'), /No site is like that/);
    await close(page);
  },

  async 'a function is shown without arguments but those that name a lambda'() {
    const data = empty();
    add_site(data, [['void work(int)::{lambda(char)#1}::operator()(char) const', '/src/work.cpp', 3], ['main', '/src/main.cpp', 1]]);
    const page = await open(write_page(template, data, `${folder}/lambda.html`));
    await page.getByRole('tab', {name: 'Sites'}).click();
    assert.ok((await page.innerText('main')).includes('work::{lambda(char)#1}::operator()'));
    await close(page);
  },

  async 'names of any kind are text'() {
    const data = empty();
    const names = ['<img src=x onerror="document.title=1">', '"><script>document.title=2</script>', "');alert(1);//", '</script><h1>out</h1>', 'right\u202eleft\u2066', 'bell\u0007\u001b[31mnul\u0000',
                   '&lt;b&gt;&amp;', 'javascript:alert(1)', 'operator<', 'operator()', '', ' ', '(((((', '<<<<<', '\u{1f600}'.repeat(50), 'x'.repeat(1 << 20), '__proto__', 'constructor'];
    names.forEach((name, index) => add_site(data, [[name, `/src/${name}.cpp`, index], ['main', '/src/main.cpp', 1]]));
    data.program.arguments = ['./<b>bold</b>', ...names.slice(0, 6)];
    data.threads = names.slice(0, 3).map((role) => ({role}));
    data.crossings = [[0, 1, 5], [1, 1, 7], [2, 0, 5]];
    data.damage = names[0];
    data.locks = [{type: names[0], category: names[1], waited_ns: 5, acquisitions: 5, stack: data.sites[0].stack, remedy: names[0], sites: []}];
    data.syscalls = [{name: names[1], category: 'small', time_ns: 5, count: 5, stack: data.sites[1].stack, remedy: names[0]}];
    const page = await open(write_page(template, data, `${folder}/hostile.html`));
    for (const name of tabs) {
      await page.getByRole('tab', {name, exact: true}).click();
      const row = await page.$('tr.row .opens');
      if (row) await row.click();
      assert.equal((await page.$$('main img, main script, main b, main h1')).length, 0, name);
      assert.doesNotMatch(await page.innerText('body'), /[\u0000-\u0008\u000b-\u001f\u202e\u2066]/u, name);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)) <= 0, name);
    }
    await page.getByRole('tab', {name: 'Sites'}).click();
    assert.ok((await page.innerText('main')).includes('right⟨202e⟩left⟨2066⟩'));
    await close(page);
  },

  async 'nothing in it, and a file that was cut off'() {
    const page = await open(write_page(template, empty(), `${folder}/empty.html`));
    for (const name of tabs) {
      await page.getByRole('tab', {name, exact: true}).click();
      assert.ok((await page.innerText('main')).length > 10, name);
      await check_access(page, `empty ${name}`);
    }
    await close(page);
    const whole = readFileSync(`${folder}/example.html`, 'utf8');
    writeFileSync(`${folder}/cut.html`, whole.replace(/(id="recording">.{300}).*?(?=<)/s, '$1'));
    const cut = await (await browser.newContext()).newPage();
    await cut.goto(`file://${folder}/cut.html`);
    await cut.waitForSelector('[role=alert]');
    await cut.context().close();
  },

  async 'what tarn writes: of a program, redacted, with a hostile name, of locks alone, truncated'() {
    const run = (...words) => execFileSync(tarn, words, {env: environment, stdio: ['ignore', 'pipe', 'pipe'], timeout: HANG_MS});
    const hostile = `${folder}/<b onclick=x>"'\u202e& sites`;
    copyFileSync(`${programs}/tool_sites`, hostile);
    run('record', '--full', '-o', `${folder}/rec`, '--', hostile, '2000', '0');
    run('report', `${folder}/rec`, '--html', `${folder}/rec.html`);
    const page = await open(`file://${folder}/rec.html`);
    const report = JSON.parse(run('report', '--json', '--top', '10000', `${folder}/rec`));
    assert.ok((await page.innerText('h1')).startsWith(`<b onclick=x>"'⟨202e⟩& sites 2000`));
    await page.getByRole('tab', {name: 'Sites'}).click();
    assert.equal(await page.innerText('output'), `${report.sites.length} of ${report.sites.length} sites`);
    await page.fill('input[type=search]', 'make_temporaries');
    const text = await page.innerText('tr.row >> nth=0');
    assert.ok(text.includes('make_temporaries') && text.includes('sites.cpp:') && text.includes('2,000'), text);
    await page.getByRole('tab', {name: 'Threads'}).click();
    assert.match(await page.innerText('.matrix'), /produce/);
    assert.match(await page.innerText('.matrix'), /consume/);
    await close(page);

    // A part, as the page adds it up and as tarn report does.
    run('record', '--full', '-o', `${folder}/phases`, '--', `${programs}/tool_phases`);
    run('report', `${folder}/phases`, '--html', `${folder}/phases.html`);
    const parts = await open(`file://${folder}/phases.html#tab=sites&q=_work&end=0.7`);
    const {part, sites} = JSON.parse(run('report', '--json', '--top', '10000', '--end', '700ms', `${folder}/phases`));
    assert.deepEqual((await rows(parts)).map((row) => row.split(' ')[0]), ['early_work']);
    const early = sites.find((site) => site.stack[site.frame_index].function.includes('early_work'));
    assert.ok(early.allocations > 10);
    assert.ok((await parts.innerText('tr.row')).includes(early.allocations.toLocaleString('en')));
    assert.ok((await parts.innerText('.part')).includes(`to ${Number((part.to_ns / 1e9).toFixed(3))} s of`));
    await close(parts);

    run('diff', `${folder}/rec`, `${folder}/phases`, '--redact', '--html', `${folder}/other.html`);
    const hidden_page = await open(`file://${folder}/other.html`);
    assert.match(await hidden_page.innerText('main'), /function \d+/);
    assert.match(await hidden_page.innerText('header'), /Redacted/);
    const hidden = inflateSync(Buffer.from(readFileSync(`${folder}/other.html`, 'utf8').match(/id="recording">([^<]*)</)[1], 'base64')).toString();
    for (const secret of ['make_temporaries', 'early_work', 'sites.cpp', 'phases', folder, programs, '"2000"']) assert.ok(!hidden.includes(secret), `${secret} is in the redacted page`);
    await close(hidden_page);
    run('diff', `${folder}/rec`, `${folder}/rec`, '--html', `${folder}/diff.html`);
    const diff_page = await open(`file://${folder}/diff.html`);
    assert.match(await diff_page.innerText('main'), /No site changed/);
    await close(diff_page);

    run('report', `${folder}/rec`, '--redact', '--html', `${folder}/redacted.html`);
    const redacted = await open(`file://${folder}/redacted.html#tab=sites&site=0`);
    const everything = await redacted.evaluate(async () => document.body.innerText);
    for (const secret of ['make_temporaries', 'sites.cpp', 'onclick', folder, '2000 0']) assert.ok(!everything.includes(secret), `${secret} is in ${everything}`);
    // Data that no view shows must not have them, either.
    const packed = readFileSync(`${folder}/redacted.html`, 'utf8').match(/id="recording">([^<]*)</)[1];
    const inside = inflateSync(Buffer.from(packed, 'base64')).toString();
    for (const secret of ['make_temporaries', 'produce', 'sites.cpp', 'onclick', folder, programs, '"2000"', 'std::realloc(made']) assert.ok(!inside.includes(secret), `${secret} is in the redacted page`);
    assert.match(everything, /function \d+/);
    await close(redacted);

    spawnSync(tarn, ['record', '--locks', '-o', `${folder}/locks`, '--', `${programs}/tool_locks`, '200'], {timeout: HANG_MS});  // which ends with 5
    run('report', `${folder}/locks`, '--html', `${folder}/locks.html`);
    const locks = await open(`file://${folder}/locks.html`);
    assert.match(await locks.innerText('.card.missing >> nth=0'), /Heap\s+not recorded/);
    for (const name of tabs) {
      await locks.getByRole('tab', {name, exact: true}).click();
      assert.ok((await locks.innerText('main')).length > 10, name);
    }
    await locks.getByRole('tab', {name: 'Locks'}).click();
    assert.match((await rows(locks)).join(), /by_turns/);
    await locks.goto(`file://${folder}/locks.html#tab=flame&metric=taken&q=take_turns`);
    await locks.waitForSelector('g.frame[aria-label^="take_turns"]');
    await close(locks);

    truncateSync(`${folder}/rec`, statSync(`${folder}/rec`).size - 40);
    run('report', `${folder}/rec`, '--html', `${folder}/cut-off.html`);
    const damaged = await open(`file://${folder}/cut-off.html`);
    assert.match(await damaged.innerText('[role=alert]'), /damaged/);
    await close(damaged);

    for (const [words, status, why] of [[['--html', `${folder}/no/such/folder`], 3, /No such file/], [['--redact'], 2, /--redact needs --html/], [['--html', `${folder}/x`, '--json'], 2, /exclude/]]) {
      const refused = spawnSync(tarn, ['report', `${folder}/locks`, ...words], {env: environment, encoding: 'utf8'});
      assert.equal(refused.status, status);
      assert.match(refused.stderr, why);
      assert.equal(refused.stderr.trim().split('\n').length, 1);
    }
  },

  async 'ten thousand sites: only what is in view is in the document'() {
    const page = await open(`${write_page(template, large(10000, 8), `${folder}/large.html`)}#tab=sites`);
    assert.ok((await rows(page)).length < 100);
    assert.equal(await page.getAttribute('table', 'aria-rowcount'), '10001');
    await page.click('tr.row .opens');  // the columns that stay share all of the table
    const [table, last] = await page.evaluate(() => ['table', 'th:not(.minor):nth-last-child(n)'].map((selector) => Math.max(...[...document.querySelectorAll(selector)].map((element) => element.getBoundingClientRect().right))));
    assert.ok(Math.abs(table - last) < 3, `${table} ${last}`);
    await page.focus('tr.row .opens');
    await page.keyboard.press('End');
    await until(page, () => document.activeElement.dataset.row === '9999');
    await page.getByRole('tab', {name: 'Flame graph'}).click();
    const frames = (await page.$$('g.frame')).length;
    assert.ok(frames > 20 && frames < 6000, frames);
    await close(page);
  },

  async 'the policy holds: no script but the page\'s own'() {
    const page = await open(example_page);
    page.faults = [];
    await page.evaluate(() => {
      const script = document.createElement('script');
      try { script.append('document.title = "broken"'); document.body.append(script); } catch { /* trusted types */ }
      try { document.body.innerHTML = '<img src=http://127.0.0.1/>'; } catch { /* as well */ }
      return fetch('http://127.0.0.1:9/').catch(() => 0);
    });
    assert.notEqual(await page.title(), 'broken');
    assert.ok(page.faults.some((fault) => /Content Security Policy|TrustedHTML|TrustedScript/.test(fault)), page.faults);
    assert.equal((await page.$$('body img')).length, 0);
    await page.context().close();
  },
};

assert.ok(statSync(template).size < 400_000, 'each page that is passed around carries it');
await run_tests(tests);
