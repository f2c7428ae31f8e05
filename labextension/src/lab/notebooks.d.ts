/** Notebooks are imported as the JSON that they are. */
declare module '*.ipynb' {
  const notebook: import('./examples').Notebook;
  export default notebook;
}
