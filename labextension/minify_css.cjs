/**
 * A loader of the bundler that puts a style sheet and those that it imports into one, takes the comments and the spaces
 * out of it, and makes of it a module that adds it to the page.
 *
 * It takes the place of the two loaders of JupyterLab's builder, whose code would be in each bundle with a style sheet.
 * `pitch` runs before them, and what it returns is the module: so they do not run.
 */

const { buildSync } = require('esbuild');

module.exports = () => undefined;

module.exports.pitch = function makeModule() {
  const { metafile, outputFiles } = buildSync({
    entryPoints: [this.resourcePath],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    charset: 'utf8',
    target: 'es2022',
    absWorkingDir: this.rootContext
  });
  for (const file of Object.keys(metafile.inputs)) {
    this.addDependency(require('node:path').resolve(this.rootContext, file));
  }
  const css = JSON.stringify(outputFiles[0].text.trimEnd());
  return `const style = document.createElement('style'); style.textContent = ${css}; document.head.append(style);`;
};
