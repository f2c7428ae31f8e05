/**
 * A flame graph: a bar for each function, as wide as its share of the time, above those that it calls. A press on a bar
 * widens it to the whole width. To screen readers and keys it is a tree.
 */

import type { Profile } from '../../protocol/messages';
import { child, setText } from '../dom';
import { percent } from '../format';
import { brief } from '../timeline/axis';
import type { Translator } from '../translator';
import { bars, hueOf, pathOf, type Bar } from './layout';

/** Narrower bars, in pixels, are left out. */
const LEAST_PIXELS = 2;
/** Width in pixels from which on a bar has text. */
const TEXT_PIXELS = 24;

export class FlameGraph {
  constructor(parent: HTMLElement, trans: Translator) {
    this._trans = trans;
    this._element = child(parent, 'div', 'cellmill-flame');
    this._element.setAttribute('role', 'tree');
    this._element.setAttribute('aria-label', trans.__('Flame graph of what tasks executed'));
    this._element.addEventListener('click', event => this._press(event));
    this._element.addEventListener('keydown', event => this._key(event));
    this._element.addEventListener('focusin', event => this._rove(event.target as HTMLElement));
    this._resized = new ResizeObserver(() => this._redraw());
    this._resized.observe(this._element);
  }

  /** Whether one function fills the width. */
  get zoomed(): boolean {
    return this._focus !== '';
  }

  /** `changed` is called after each change of what fills the width. */
  onZoom(changed: () => void): void {
    this._zoomed = changed;
  }

  draw(profile: Profile): void {
    this._profile = profile;
    this._redraw();
  }

  /** Show everything again. */
  showAll(): void {
    this._zoom('');
  }

  dispose(): void {
    this._resized.disconnect();
  }

  private _redraw(): void {
    const profile = this._profile;
    const width = this._element.clientWidth;
    if (profile === null || width === 0) {
      return;
    }
    const focus = this._focus === '' ? -1 : this._find(profile, this._focus);
    if (focus < 0) {
      this._focus = ''; // it has gone with an earlier profile
    }
    const placed = bars(profile, focus, LEAST_PIXELS / width);
    const focused = this._element.contains(document.activeElement);
    while (this._element.children.length > placed.length) {
      this._element.lastElementChild?.remove();
    }
    let depth = 0;
    placed.forEach((bar, index) => {
      const element = (this._element.children[index] as HTMLElement | undefined) ?? this._addBar();
      this._drawBar(element, bar, profile, width);
      depth = Math.max(depth, bar.depth + 1);
    });
    this._element.style.setProperty('--cellmill-flame-rows', String(depth));
    this._rove(this._current());
    if (focused) {
      this._current()?.focus(); // bars change their elements
    }
  }

  private _addBar(): HTMLElement {
    const element = child(this._element, 'div', 'cellmill-flame-bar');
    element.setAttribute('role', 'treeitem');
    element.tabIndex = -1;
    child(element, 'span', 'cellmill-flame-name').setAttribute('aria-hidden', 'true');
    return element;
  }

  private _drawBar(element: HTMLElement, bar: Bar, profile: Profile, width: number): void {
    const { name = '', place = '' } = profile.labels[profile.label[bar.node] ?? -1] ?? {};
    const path = pathOf(profile, bar.node);
    const words = this._words(profile, bar.node, name, place);
    element.dataset.path = path;
    element.dataset.name = name;
    element.dataset.total = String(profile.total[bar.node] ?? 0);
    element.title = words.join('\n');
    element.setAttribute('aria-label', words.join('; '));
    element.setAttribute('aria-level', String(bar.depth + 1));
    element.setAttribute('aria-selected', String(path === this._focus));
    element.style.left = `${100 * bar.left}%`;
    element.style.width = `${100 * bar.width}%`;
    element.style.setProperty('--cellmill-flame-row', String(bar.depth));
    element.style.setProperty('--cellmill-flame-hue', `${hueOf(name)}deg`);
    const text = element.firstElementChild;
    if (text !== null) {
      setText(text, bar.width * width < TEXT_PIXELS ? '' : (name.split('.').pop() ?? name));
    }
  }

  private _words(profile: Profile, node: number, name: string, place: string): string[] {
    const trans = this._trans;
    const total = profile.total[node] ?? 0;
    const own = profile.own[node] ?? 0;
    const line = profile.line[node] ?? 0;
    const words = [
      place === '' ? name : `${name}, ${place}`,
      trans.__('%1 of all, %2', percent(total, profile.seconds), brief(total))
    ];
    if (own > 0 && own < total) {
      words.push(trans.__('of its own %1, %2', percent(own, profile.seconds), brief(own)));
    }
    if (line > 0 && own > 0) {
      words.push(trans.__('most of that at line %1', line));
    }
    return words;
  }

  private _find(profile: Profile, path: string): number {
    const depth = path.split('\n').length;
    return profile.parent.findIndex((_, node) => {
      const own = pathOf(profile, node);
      return own.length === path.length && own === path && own.split('\n').length === depth;
    });
  }

  private _zoom(path: string): void {
    this._focus = path;
    this._redraw();
    this._zoomed?.();
  }

  private _press(event: Event): void {
    const bar = (event.target as Element | null)?.closest<HTMLElement>('.cellmill-flame-bar');
    const path = bar?.dataset.path;
    if (path !== undefined) {
      this._rove(bar ?? null);
      this._zoom(path === this._focus ? '' : path);
    }
  }

  private _key(event: KeyboardEvent): void {
    const here = (event.target as Element | null)?.closest<HTMLElement>('.cellmill-flame-bar');
    if (here === null || here === undefined) {
      return;
    }
    const all = Array.from(this._element.children) as HTMLElement[];
    const level = (element: HTMLElement): number => Number(element.getAttribute('aria-level'));
    const at = all.indexOf(here);
    const same = all.filter(one => level(one) === level(here));
    const place = same.indexOf(here);
    const steps: Record<string, () => HTMLElement | undefined> = {
      ArrowUp: () =>
        all
          .slice(0, at)
          .reverse()
          .find(one => level(one) < level(here)),
      ArrowDown: () => {
        const next = all[at + 1];
        return next !== undefined && level(next) > level(here) ? next : undefined;
      },
      ArrowLeft: () => same[place - 1],
      ArrowRight: () => same[place + 1],
      Home: () => all[0]
    };
    const step = steps[event.key];
    if (step !== undefined) {
      this._rove(step() ?? here);
      this._current()?.focus();
    } else if (event.key === 'Enter' || event.key === ' ') {
      this._zoom(here.dataset.path ?? '');
    } else if (event.key === 'Escape' && this.zoomed) {
      this.showAll();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** The bar that the keyboard reaches. */
  private _current(): HTMLElement | null {
    const bars = Array.from(this._element.children) as HTMLElement[];
    return bars.find(one => one.dataset.path === this._marked) ?? bars[0] ?? null;
  }

  private _rove(to: HTMLElement | null): void {
    this._marked = to?.dataset.path ?? '';
    for (const bar of this._element.children) {
      (bar as HTMLElement).tabIndex = bar === to ? 0 : -1;
    }
  }

  private readonly _trans: Translator;
  private readonly _element: HTMLElement;
  private readonly _resized: ResizeObserver;
  private _profile: Profile | null = null;
  /** path of the function that fills the width; empty: everything is shown */
  private _focus = '';
  /** path of the bar that has, or gets, the keyboard's focus */
  private _marked = '';
  private _zoomed: (() => void) | undefined;
}
