/** What the builder does not know by itself: a notebook is JSON. */
module.exports = {
  module: { rules: [{ test: /\.ipynb$/, type: 'json' }] }
};
