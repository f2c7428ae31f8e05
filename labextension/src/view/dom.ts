/** Helpers for making and changing elements. */

/** Append a new element to `parent`. */
export function child(parent: HTMLElement, tag: string, className: string): HTMLElement {
  const element = document.createElement(tag);
  element.className = className;
  parent.append(element);
  return element;
}

/** Append a new button, which the keyboard reaches too. */
export function button(
  parent: HTMLElement,
  className: string,
  press: () => void
): HTMLButtonElement {
  const element = document.createElement('button');
  element.type = 'button';
  element.className = className;
  element.addEventListener('click', press);
  parent.append(element);
  return element;
}

/** Set an element's text if it differs. */
export function setText(element: Element, text: string): void {
  const node = element.firstChild;
  if (node instanceof Text && node === element.lastChild) {
    if (node.data !== text) {
      node.data = text; // keeps the layout box, which a new node would need anew
    }
  } else if (element.textContent !== text) {
    element.textContent = text;
  }
}

/** Set a button's tooltip and its name for screen readers. */
export function setName(element: HTMLButtonElement, name: string): void {
  if (element.title !== name) {
    element.title = name;
    element.setAttribute('aria-label', name);
  }
}
