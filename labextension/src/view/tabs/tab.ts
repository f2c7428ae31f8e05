/** What the dashboard asks of each of its tabs. */

import type { KernelState } from '../../model/kernelModel';
import type { Command } from '../../protocol/messages';
import type { Translator } from '../translator';

/** What a tab is made with. */
export interface TabOptions {
  /** its own element, empty; the tab fills it and nothing else */
  readonly parent: HTMLElement;
  readonly trans: Translator;
  readonly send: (command: Command) => void;
  /** run a line below the cell in front; absent where there is no notebook to run it in */
  readonly runLine?: ((line: string) => void) | undefined;
}

/** One picture among several: drawn at most ten times a second, and only while it shows. */
export interface Tab {
  /** Draw a state of a kernel that has tasks; state.sections holds what the kernel said. */
  draw(state: KernelState): void;
  /** Show what another tab names in the detail of a `cellmill-task` event. */
  open?(named: unknown): void;
  dispose(): void;
}

/** How a tab is listed and made. */
export interface TabKind {
  readonly id: string;
  /** its name, for people, translated */
  readonly label: (trans: Translator) => string;
  /** kinds of the frames which the kernel is to send while it shows */
  readonly sections: readonly string[];
  readonly make: (options: TabOptions) => Tab;
}
