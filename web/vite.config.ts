// Builds one of two pages, by the mode: index.html, of `tarn report`, or lab.html. Each is a single file with a policy that allows only the script and the style in this file.
import {createHash} from 'node:crypto';
import {defineConfig, type Plugin} from 'vite';

const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

function one_file(name: string): Plugin {
  return {
    name: 'one-file',
    enforce: 'post',
    generateBundle(_, bundle) {
      const page = bundle[name];
      if (page?.type !== 'asset') throw new Error(`no ${name}`);
      let script = '';
      let style = '';
      for (const [part_name, part] of Object.entries(bundle)) {
        if (part === page) continue;
        if (part.type === 'chunk') script += part.code.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
        else if (part_name.endsWith('.css')) style += part.source;
        else throw new Error(`${part_name} is not to be in the page`);
        delete bundle[part_name];
      }
      const policy = ["default-src 'none'", `script-src ${hash(script)}`, `style-src ${hash(style)}`, "base-uri 'none'",
                      "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"].join('; ');
      page.source = String(page.source)
        .replace(/<script type="module".*?<\/script>/s, '')
        .replace(/<link rel="stylesheet"[^>]*>/, '')
        .replace('<!--policy-->', () => `<meta http-equiv="Content-Security-Policy" content="${policy}">`)
        .replace('</head>', () => `<style>${style}</style></head>`)
        .replace('</body>', () => `<script type="module">${script}</script></body>`);
    },
  };
}

export default defineConfig(({mode}) => ({
  base: './',
  esbuild: {jsx: 'automatic', jsxImportSource: 'preact'},
  build: {
    outDir: 'page',
    emptyOutDir: false,
    rollupOptions: {input: mode === 'lab' ? 'lab.html' : 'index.html'},
    target: 'es2022',
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  plugins: [one_file(mode === 'lab' ? 'lab.html' : 'index.html')],
}));
