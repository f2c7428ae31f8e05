/** The interface of the dashboard's tabs. */

import type { KernelState } from '../../model/kernelModel';
import type { Command } from '../../protocol/messages';
import type { CellWay } from '../cellWay';
import type { Translator } from '../translator';

/** The arguments of a tab's constructor. */
export interface TabOptions {
  /** the tab's own element, empty; the tab changes no other */
  readonly parent: HTMLElement;
  readonly trans: Translator;
  readonly send: (command: Command) => void;
  /** run a line in a new cell; absent where there is no notebook */
  readonly runLine?: ((line: string) => void) | undefined;
  /** the way to the cells of runs; absent where there is no notebook */
  readonly cells?: CellWay | undefined;
}

/** A tab; it is drawn at most ten times a second, and only while it is selected. */
export interface Tab {
  /** Draw the state of a kernel that has tasks; `state.sections` has what the tab subscribed to. */
  draw(state: KernelState): void;
  /** Show the task in the detail of another tab's `cellmill-task` event. */
  open?(named: unknown): void;
  dispose(): void;
}

/** How a tab is listed and made. */
export interface TabKind {
  readonly id: string;
  /** its translated name */
  readonly label: (trans: Translator) => string;
  /** kinds of the frames that the kernel sends while the tab is selected */
  readonly sections: readonly string[];
  readonly make: (options: TabOptions) => Tab;
}
