// The page's TypeScript has no error: types_test.mjs BUILD. vite only strips the types.
import {spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';

const build = process.argv[2];
const compiler = `${build}/node_modules/typescript/bin/tsc`;
if (!existsSync(compiler)) {
  console.log('skipped: the build could not fetch its npm packages');
  process.exit(77);
}
process.exit(spawnSync(process.execPath, [compiler, '--noEmit', '-p', build], {stdio: 'inherit'}).status ?? 1);
