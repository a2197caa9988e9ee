/**
 * Configures the bundler of the panel where it differs from JupyterLab's builder.
 *
 * Two builds of one commit must be the same, byte by byte, in whatever folder they are made. By default, the id of the
 * entry module is a hash of the path of the folder. So the modules get natural ids: they are numbered in the order in
 * which they are imported.
 *
 * JupyterLab's builder has two loaders for style sheets, whose code would be in each bundle. `minify_css.cjs` takes their
 * place (`enforce: 'post'`: it comes first when the loaders are asked). The JavaScript is minified in three passes rather
 * than one, because a pass may shorten what the pass before it has left.
 *
 * Modules that several parts of the bundle need get a file of their own if they have 5,000 bytes or more. By default they
 * would be in each of these parts unless they have 20,000: together, that was 19,000 bytes more.
 */

const { SwcJsMinimizerRspackPlugin } = require('@rspack/core');

const minimizer = new SwcJsMinimizerRspackPlugin({
  minimizerOptions: { compress: { passes: 3 }, mangle: true }
});

module.exports = {
  optimization: { moduleIds: 'natural', minimizer: [minimizer], splitChunks: { minSize: 5000 } },
  module: { rules: [{ test: /\.css$/, enforce: 'post', use: require.resolve('./minify_css.cjs') }] }
};
