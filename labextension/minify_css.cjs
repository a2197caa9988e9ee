/**
 * A loader of the bundler: it joins a style sheet with those that it imports, and removes the comments and spaces. The
 * bundler calls the function with itself as `this`, and puts the returned text in place of the style sheet.
 */

const { buildSync } = require('esbuild');

module.exports = function minify() {
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
  // The bundler then runs this loader again when an imported style sheet has changed.
  for (const file of Object.keys(metafile.inputs)) {
    this.addDependency(require('node:path').resolve(this.rootContext, file));
  }
  return outputFiles[0].text;
};
