/** Canvases do not follow the style sheet by themselves: they are told when its colours may have changed. */

/** Milliseconds within which a new theme's colours are there. */
const LATE = 500;

/** Call back after each change of theme; returns what ends it. Pages say their theme by attributes of their body. */
export function onThemeChange(changed: () => void): () => void {
  let timer = 0;
  const observer = new MutationObserver(() => {
    changed();
    window.clearTimeout(timer);
    timer = window.setTimeout(changed, LATE); // its style sheet may come after its name
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
