// Names in TypeScript and JavaScript keep to the list of tests/house/names.py: names_test.mjs BUILD SOURCES.
// They are read by the page's own TypeScript. A small file that breaks the rule shows first that it would be seen.
import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, relative} from 'node:path';

const [build, sources] = process.argv.slice(2);
const typescript = join(build, 'node_modules/typescript/dist');
if (!existsSync(typescript)) {
  console.log('skipped: the build could not fetch its npm packages');
  process.exit(77);
}
const {API} = await import(join(typescript, 'api/sync/api.js'));
const {SyntaxKind} = await import(join(typescript, 'ast/index.js'));

const refused = new Set(execFileSync('python3', ['-B', '-c', 'import names; print(*names.REFUSED)'], {cwd: join(sources, 'tests/house'), encoding: 'utf8'}).trim().split(/\s+/));
const binds = new Set([
  'VariableDeclaration', 'Parameter', 'BindingElement', 'FunctionDeclaration', 'FunctionExpression', 'ClassDeclaration', 'InterfaceDeclaration',
  'TypeAliasDeclaration', 'TypeParameter', 'EnumDeclaration', 'EnumMember', 'PropertySignature', 'PropertyDeclaration', 'MethodSignature',
  'MethodDeclaration', 'GetAccessor', 'SetAccessor', 'PropertyAssignment', 'ShorthandPropertyAssignment', 'ImportSpecifier', 'ImportClause', 'NamespaceImport',
].map((name) => SyntaxKind[name]));

// Each refused name that the files bind, as "file:line: name".
function refused_names(folder, files) {
  const settings = join(folder, 'tsconfig.json');
  writeFileSync(settings, JSON.stringify({compilerOptions: {allowJs: true, noLib: true, noResolve: true, types: [], jsx: 'preserve', noEmit: true}, files}));
  const compiler = new API({cwd: folder});
  try {
    const {program} = compiler.updateSnapshot({openProjects: [settings]}).getProject(settings);
    return files.flatMap((path) => {
      const file = program.getSourceFile(path);
      const lines = [];
      const visit = (node) => {
        const name = binds.has(node.kind) && node.name;
        if (name && refused.has(name.text?.replace(/_+$/, ''))) {
          const line = file.text.slice(0, name.end).split('\n').length;
          lines.push(`${relative(sources, path)}:${line}: has the name "${name.text}": name what it is or does`);
        }
        node.forEachChild(visit);
      };
      visit(file);
      return lines;
    });
  } finally {
    compiler.close();
  }
}

const folder = mkdtempSync(join(tmpdir(), 'names-'));
try {
  const broken = join(folder, 'broken.tsx');
  writeFileSync(broken, [
    'export interface Site { at?: number }', 'const of = 1, {count: by} = {count: 2};', 'export function all(each: number): number { return each; }',
    'class Row { same = 1; }', 'export const row = {known: 1};', 'export const view = <p>{[1].map((it) => it)}</p>;', 'export const fine = [1].at(0);',
  ].join('\n'));
  const seen = refused_names(folder, [broken]).map((line) => line.match(/:(\d+): .*"(\w+)"/).slice(1).join(' ')).sort();
  const expected = ['1 at', '2 by', '2 of', '3 all', '3 each', '4 same', '5 known', '6 it'];
  if (seen.join() !== expected.join()) throw new Error(`the rule sees ${seen}, not ${expected}`);
  const files = ['web', 'tests/web', 'bench', 'docs'].flatMap((name) => readdirSync(join(sources, name), {recursive: true}).map((path) => join(name, path)))
    .filter((path) => /\.(ts|tsx|mjs|js)$/.test(path) && !path.includes('node_modules'));
  if (files.length < 20) throw new Error(`only ${files.length} files`);
  const names = refused_names(folder, files.map((name) => join(sources, name)));
  for (const name of names) console.log(name);
  process.exitCode = names.length ? 1 : 0;
} finally {
  rmSync(folder, {recursive: true});
}
