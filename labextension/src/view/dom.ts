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

/** Show a remark, or nothing where there is none. */
export function setNote(element: HTMLElement, text: string): void {
  element.hidden = text === '';
  setText(element, text);
}

/** Set the options of a choice, as values and texts; those that stay are kept, so that an open list does too. */
export function setOptions(
  select: HTMLSelectElement,
  wanted: readonly (readonly [string, string])[],
  chosen: string
): void {
  while (select.options.length > wanted.length) {
    select.options.remove(select.options.length - 1);
  }
  wanted.forEach(([value, text], index) => {
    const option = select.options[index] ?? select.appendChild(document.createElement('option'));
    setText(option, text); // before the value: without one, the text is the value
    if (option.value !== value) {
      option.value = value;
    }
  });
  if (select.value !== chosen) {
    select.value = chosen;
  }
}
