/** Tells canvases, which do not follow the style sheet, when its colours may have changed. */

/** Milliseconds within which a new theme's style sheet is loaded. */
const LATE = 500;

/** Call `changed` after each change of theme, an attribute of the body; returns a function that ends it. */
export function onThemeChange(changed: () => void): () => void {
  let timer = 0;
  const observer = new MutationObserver(() => {
    changed();
    window.clearTimeout(timer);
    timer = window.setTimeout(changed, LATE); // the style sheet may be loaded after the attribute is set
  });
  for (const element of [document.documentElement, document.body]) {
    observer.observe(element, {
      attributes: true,
      attributeFilter: ['class', 'data-theme', 'data-jp-theme-name', 'data-jp-theme-light']
    });
  }
  return () => {
    window.clearTimeout(timer);
    observer.disconnect();
  };
}
