/** The few things that views do with elements. */

/** A new element at the end of `parent`. */
export function child(parent: HTMLElement, tag: string, className: string): HTMLElement {
  const element = document.createElement(tag);
  element.className = className;
  parent.append(element);
  return element;
}

/** A new button, reached and pressed with the keyboard too. */
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

/** Set an element's text where it differs. */
export function setText(element: Element, text: string): void {
  const node = element.firstChild;
  if (node instanceof Text && node === element.lastChild) {
    if (node.data !== text) {
      node.data = text; // in its box; a new node would have to be given one
    }
  } else if (element.textContent !== text) {
    element.textContent = text;
  }
}

/** Name a button for those who point at it and for those who hear it. */
export function setName(element: HTMLButtonElement, name: string): void {
  if (element.title !== name) {
    element.title = name;
    element.setAttribute('aria-label', name);
  }
}
